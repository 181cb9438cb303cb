"""The verdict and its findings as text for 80 columns."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from itertools import groupby

from asyncsim.cli.output import WIDTH, shorten, wrap
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rules import Finding, Place, Severity

MEANING = {
    Verdict.CLEAN: "no interleaving breaks a rule",
    Verdict.FINDINGS: "a rule is broken",
    Verdict.INCOMPLETE: "not decided",
}

SHOWN_STEPS = 12  # of a witness, those that lead to the failure; all are in the other formats


def verdict_line(result: CheckResult, *, strict: bool) -> str:
    """``clean: no interleaving breaks a rule (1 warning)``."""
    verdict = result.under(strict=strict)
    errors = sum(f.severity is Severity.ERROR for f in result.findings)
    warnings = len(result.findings) - errors
    counts = [_count(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    said = f"{verdict.value}: {MEANING[verdict]}"
    if counts:
        said += f" ({', '.join(counts)}{', --strict' if strict else ''})"
    return said


def findings_text(result: CheckResult, below: Mapping[int, str] | None = None) -> str:
    """All findings, errors first; for an undecided schedule, which condition is open.

    ``below``: more text under a finding, by its index.
    """
    order = range(len(result.findings))
    ordered = sorted(order, key=lambda i: result.findings[i].severity is Severity.WARNING)
    more = below or {}
    parts = [
        "\n".join([finding_text(result.findings[i]), *([more[i]] if i in more else [])])
        for i in ordered
    ]
    if result.note:
        parts.append(wrap(result.note, first="open: "))
    return "\n\n".join(parts)


def finding_text(f: Finding) -> str:
    """One finding: what, where with source lines, the missing edge, the witness, the repair."""
    out = [wrap(f.message, first=f"{f.severity.value} {f.rule.name}: ", indent="    ")]
    for _, same_line in groupby(f.where, key=lambda place: str(place.loc)):
        out += _places(list(same_line))
    if f.missing:
        out.append(wrap(f.missing, first="  missing: "))
    if f.detail:
        out += [wrap(line, first="  ", indent="      ") for line in f.detail]
    if f.witness:
        many, left = len(f.witness), max(0, len(f.witness) - SHOWN_STEPS)
        shown = f" of {many} steps, the last {SHOWN_STEPS}" if left else ""
        out.append(f"  witness{shown}:")
        numbered = enumerate(map(str, f.witness[left:]), start=left + 1)
        out += [wrap(step, first=f"    {i:>{len(str(many))}}. ") for i, step in numbered]
    if f.repair:
        out.append(wrap(f.repair, first="  repair: "))
    return "\n".join(out)


def _places(places: list[Place]) -> list[str]:
    """Places on one line of the source: what each executes, then the line."""
    out = []
    for place in places:
        said = f"{place.what} ({place.who})" if place.who else place.what
        out.append(wrap(said, first=f"  {place.loc or 'at'}: ", indent="      "))
    loc = places[0].loc
    source = linecache.getline(loc.file, loc.line).strip() if loc else ""
    if loc and source:
        number = f"{loc.line:>5} | "
        out += [number + shorten(source, WIDTH - len(number)), " " * len(number) + "^"]
    return out


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
