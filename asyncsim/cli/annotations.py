"""Findings as workflow commands: a line each, which GitHub shows at the line of the source."""

from __future__ import annotations

from asyncsim.cli.sarif import relative_path
from asyncsim.predict.result import CheckResult
from asyncsim.rules import Finding


def annotations_text(result: CheckResult) -> str:
    """``::error file=...,line=...,title=RULE::message`` for each finding; a note if undecided."""
    lines = [_annotation(f) for f in result.findings]
    if result.note:
        lines.append(f"::warning title=incomplete::{_data(f'not decided: {result.note}')}")
    return "\n".join(lines)


def _annotation(f: Finding) -> str:
    at = [p.loc for p in f.where if p.loc][-1:]
    place = [f"file={_property(relative_path(at[0]))}", f"line={at[0].line}"] if at else []
    missing = f"\nmissing: {f.missing}" if f.missing else ""
    repair = f"\nrepair: {f.repair}" if f.repair else ""
    head = ",".join([*place, f"title={f.rule.name}"])
    return f"::{f.severity.value} {head}::{_data(f.message + missing + repair)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
