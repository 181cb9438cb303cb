"""What launches showed, as tables: ``python -m asyncsim.hw.proof_table`` prints them.

From the stored results of ``asyncsim.hw.survive`` (``hw/data/proof/*.json``): which clean schedules
survived random delays, and how each broken twin shows. They stand in docs/hardware.md.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncsim.catalog import builtin_scenarios
from asyncsim.hw.small import twin_problems, why_not_launched
from asyncsim.rules import Rule
from asyncsim.scenario import Scenario, Twin

FOLDER = Path(__file__).parent / "data" / "proof"
Document = Mapping[str, Any]

_KEPT = (
    "shared memory seems to be kept until the store has read it: it is not even lost to a next CTA "
    "that writes it at once"
)
WHY_HIDDEN = {
    Rule.PROXY_WAR: "a refill lands 350 cycles after the release or later; the reads left the "
    "warp before the release did",
    Rule.MISSING_INIT_FENCE: "the bytes of a copy count 350 cycles after its issue or later; the "
    "init, a store to shared memory, is done by then",
    Rule.WAIT_GROUP_TOO_LOOSE: "what is read too early lands during the step of compute before, "
    "which takes longer than a copy",
    Rule.MISSING_PROXY_FENCE: "the stores have reached shared memory when the copy reads it; with "
    "conflicting stores right before the copy an H200 reads stale data "
    "(tests/hw/provoking_scenarios.py)",
    Rule.FOREIGN_STATE: "generated code starts a state at 0, and the hardware takes 0 for the "
    "state of phase 0, the one that is meant",
    Rule.NAMED_BARRIER_OVERRUN: "where all arrive and none waits, the barrier holds nobody up, and "
    "in which order products are issued does not show in the data",
    Rule.GLOBAL_WRITE_OVERLAP: "the CTAs that store one tile store equal values",
    Rule.WRITE_BEFORE_RELEASE: "CTAs of a cluster, and warps of a warpgroup, stay in step: a "
    "refill lands after the last of them has read",
    Rule.READ_BEFORE_ARRIVAL: "the CTAs of a cluster run side by side, and a peer has stored "
    "before a remote load gets there",
    Rule.SCOPE_TOO_NARROW: "the stores seem to be in shared memory before the arrive is counted",
    Rule.SMEM_REUSED_BEFORE_STORE_READ: "a store has read its bytes before the next load, which "
    "takes longer, lands on them",
    Rule.OPERAND_IN_FLIGHT: "a refill takes longer than the product that was issued before it",
    Rule.PEER_NOT_STARTED: "the CTAs of a cluster are launched together, and a peer has set up its "
    "barriers before the first multicast copy lands",
    Rule.PEER_EXITED: "shared memory of a CTA that has ended seems to be kept while its cluster "
    "runs",
    Rule.WAIT_BY_NON_ISSUER: "the strip has been read when the other warpgroup, which has a "
    "product to wait for, writes it",
    Rule.OUTSTANDING_AT_EXIT: _KEPT,
    Rule.UNCOMMITTED_COPY: _KEPT,
}
"""Why silicon hides a bug: explanations, not measurements."""


def load(folder: Path = FOLDER) -> list[Document]:
    """The stored results, by file name."""
    return [json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.json"))]


def _launched() -> list[Scenario]:
    """The scenarios that the H200 of the stored results runs."""
    return [s for s in builtin_scenarios() if "sm_90a" in s.archs]


def survivors(documents: Sequence[Document]) -> str:
    """A row for each scenario: configurations, launches, failures, over all stored results."""
    rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for document in documents:
        for row in document["survived"]:
            rows[row["scenario"]].append(row)
    lines = ["| scenario | configurations | launches | failed |", "| --- | --- | --- | --- |"]
    for scenario in _launched():
        own = rows[scenario.name]
        kinds = {json.dumps(row["params"], sort_keys=True) for row in own}
        launches = sum(row["launches"] for row in own)
        failed = sum(len(row["failures"]) for row in own)
        lines.append(f"| `{scenario.name}` | {len(kinds)} | {launches:,} | {failed} |")
    return "\n".join(lines) + "\n"


def twins(documents: Sequence[Document]) -> str:
    """A row for every twin of every scenario: how it shows, or why not."""
    stored: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for document in documents:
        for row in document.get("twins", ()):
            stored[row["scenario"], row["twin"]].append(row)
    lines = ["| twin | rule | on the GPU | when, or why not |", "| --- | --- | --- | --- |"]
    for scenario in _launched():
        for twin in scenario.twins:
            form, how = _cells(scenario, twin, stored[scenario.name, twin.name])
            name = f"`{scenario.name}` `{twin.name}`"
            lines.append(f"| {name} | `{twin.rule.name}` | {form} | {how} |")
    return "\n".join(lines) + "\n"


def _cells(scenario: Scenario, twin: Twin, rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The first row that shows something speaks for the twin, else the last one."""
    if not rows:
        return ("not run yet", "") if twin.launch else ("not launched", why_not_launched(twin))
    shown = [r for r in rows if r["form"] not in ("hidden", "not launched")]
    row = shown[0] if shown else rows[-1]
    if row["form"] == "not launched":
        return "not launched", row["what"]
    if row["form"] == "hidden":
        return f"nothing in {row['launches']:,} launches", _why(twin, row["advisories"])
    when = _when(row["delay"])
    first = next((params for params, _ in twin_problems(scenario, twin)), {})
    more = {n: v for n, v in row["params"].items() if first.get(n) != v}
    where = " with " + ", ".join(f"{n}={v}" for n, v in more.items()) if more else ""
    return row["form"], when + where


def _when(delay: str) -> str:
    if not delay:
        return "at once"
    what, by, amount = delay.partition(" delayed by ")
    return f"`{what}` delayed by {amount}" if by else delay


def _why(twin: Twin, advisories: Iterable[str]) -> str:
    if names := ", ".join(advisories):
        return f"ptxas repairs it, and says so ({names})"
    return WHY_HIDDEN.get(twin.rule, "no explanation")


if __name__ == "__main__":
    found = load()
    print(survivors(found), twins(found), sep="\n")
