"""What ``explain`` prints about a rule: text for 80 columns, and the JSON of the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import indent
from typing import Any

from asyncsim.cli.findings_text import finding_text
from asyncsim.cli.json_form import finding_json
from asyncsim.cli.output import wrap
from asyncsim.cli.rule_example import Shown
from asyncsim.rule_notes import NOTES, PREAMBLE, PTX_ISA, RuleNote, ptx_sections
from asyncsim.rules import Finding, Rule, Severity

RESERVED = "Nothing reports it yet: the name is kept for hardware features to come."


def severity_of(rule: Rule) -> Severity:
    """As ``check`` reports it without ``--strict``."""
    note = NOTES.get(rule)
    return note.severity if note else Severity.ERROR


def rules_text() -> str:
    """All rules, one line each."""
    width = max(len(rule.name) for rule in Rule)
    return "\n".join(f"{rule.name:<{width}}  {rule.value}{_mark(rule)}" for rule in Rule)


def explanation_text(rule: Rule, finding: Finding | None, twins: Sequence[Shown]) -> str:
    """Meaning, example, what check says of it, fix, sections of the PTX ISA, twins."""
    head = f"{rule.name} ({severity_of(rule).value}): "
    parts = [wrap(rule.value, first=head, indent="    ")]
    note = NOTES.get(rule)
    if note is None:
        parts.append(RESERVED)
    else:
        parts.append(_example(note))
        if finding is not None:
            said = finding_text(replace(finding, witness=(), detail=()))
            parts.append("what check says of it:\n" + said)
        parts.append(wrap(note.fix, first="fix: ", indent="  "))
    sections = ptx_sections(rule)
    if sections:
        parts.append("rests on:\n" + "\n".join(_section(s.number, s.title) for s in sections))
    if twins:
        lines = [f"  {t.command}\n{wrap(t.twin.summary, first='      ')}" for t in twins]
        parts.append("twins that show it:\n" + "\n".join(lines))
    return "\n\n".join(parts)


def explanation_json(rule: Rule, finding: Finding | None, twins: Sequence[Shown]) -> dict[str, Any]:
    """``setup`` and ``example`` are the lines of one schedule; ``finding`` as in ``check``."""
    note = NOTES.get(rule)
    return {
        **rule_json(rule),
        "setup": PREAMBLE if note and not note.alone else "",
        "example": note.example if note else None,
        "finding": finding_json(finding) if finding else None,
        "fix": note.fix if note else None,
        "ptx_isa": PTX_ISA,
        "sections": [{"number": s.number, "title": s.title} for s in ptx_sections(rule)],
        "twins": [
            {
                "scenario": t.scenario,
                "twin": t.twin.name,
                "summary": t.twin.summary,
                "command": t.command,
            }
            for t in twins
        ],
    }


def rule_json(rule: Rule) -> dict[str, Any]:
    """A line of the list."""
    return {
        "rule": rule.name,
        "severity": severity_of(rule).value,
        "meaning": rule.value,
        "reported": rule in NOTES,
    }


def _mark(rule: Rule) -> str:
    if rule not in NOTES:
        return " (reserved)"
    return " (warning)" if severity_of(rule) is Severity.WARNING else ""


def _example(note: RuleNote) -> str:
    where = "" if note.alone else ", after the set-up that --example prints with it"
    return f"the smallest example{where}:\n" + indent(note.example.rstrip(), "  ")


def _section(number: str, title: str) -> str:
    return wrap(title, first=f"  {PTX_ISA}, {number} " if number else "  ", indent="      ")
