"""SARIF 2.1.0 of one ``check``: a result for each finding, its witness as a code flow.

Code flows have a thread flow for each warp; ``executionOrder`` gives the interleaving. Files below
the working directory are named relative to it, as annotating services expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from asyncsim import __version__
from asyncsim.cli.subject import Subject
from asyncsim.errors import SourceLoc
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rule_notes import NOTES
from asyncsim.rules import Finding, Place, Rule, WitnessStep

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_log(subject: Subject, result: CheckResult, verdict: Verdict) -> dict[str, Any]:
    """The log of one run. An undecided schedule is a result of kind ``open``."""
    rules = sorted({f.rule for f in result.findings}, key=lambda rule: rule.name)
    results = [_result(f, subject, rules) for f in result.findings]
    if verdict is Verdict.INCOMPLETE:
        results.append(
            {"kind": "open", "level": "none", "message": {"text": f"not decided: {result.note}"}}
        )
    driver = {
        "name": "asyncsim",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "properties": {"schedule": subject.title, "verdict": verdict.value},
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def relative_path(loc: SourceLoc) -> str:
    """The file as seen from the working directory; a file elsewhere in full."""
    path = Path(loc.file).resolve()
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


def _rule(rule: Rule) -> dict[str, Any]:
    note = NOTES.get(rule)
    described: dict[str, Any] = {"id": rule.name, "shortDescription": {"text": rule.value}}
    if note:
        described["help"] = {"text": note.fix}
        described["defaultConfiguration"] = {"level": note.severity.value}
    return described


def _result(f: Finding, subject: Subject, rules: list[Rule]) -> dict[str, Any]:
    missing = f"; missing: {f.missing}" if f.missing else ""
    repair = f"; repair: {f.repair}" if f.repair else ""
    said: dict[str, Any] = {
        "ruleId": f.rule.name,
        "ruleIndex": rules.index(f.rule),
        "level": f.severity.value,
        "message": {"text": f.message + missing + repair},
        "partialFingerprints": {"asyncsim/v1": _fingerprint(f, subject)},
    }
    places = [p for p in f.where if p.loc]
    if places:  # the later access is where the schedule fails
        said["locations"] = [_location(places[-1])]
    if places[:-1]:
        said["relatedLocations"] = [
            {"id": i, **_location(p)} for i, p in enumerate(places[:-1], start=1)
        ]
    if f.witness:
        said["codeFlows"] = [
            {
                "message": {"text": "an execution that fails"},
                "threadFlows": list(_thread_flows(f.witness)),
            }
        ]
    return said


def _fingerprint(f: Finding, subject: Subject) -> str:
    """Stable when lines move: the rule and what is executed, not where."""
    return "|".join([subject.scenario.name, f.rule.name, *(p.what for p in f.where)])


def _location(place: Place) -> dict[str, Any]:
    who = f" ({place.who})" if place.who else ""
    location: dict[str, Any] = {"message": {"text": f"{place.what}{who}"}}
    if place.loc:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(place.loc)},
            "region": {"startLine": place.loc.line},
        }
    return location


def _uri(loc: SourceLoc) -> str:
    from urllib.parse import quote

    path = relative_path(loc)
    return Path(path).as_uri() if path.startswith("/") else quote(path)


def _thread_flows(witness: Iterable[WitnessStep]) -> Iterator[dict[str, Any]]:
    by_warp: dict[str, list[dict[str, Any]]] = {}
    for order, step in enumerate(witness, start=1):
        what = step.place.what + (f": {step.then}" if step.then else "")
        location = _location(step.place) | {
            "message": {"text": f"{order}. {step.place.who}: {what}"}
        }
        by_warp.setdefault(step.place.who.partition(",")[0], []).append(
            {"location": location, "executionOrder": order}
        )
    for warp, locations in by_warp.items():
        yield {"id": warp, "locations": locations}
