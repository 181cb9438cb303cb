"""Does a finding show under the predicted timing, and if not, how many cycles are missing?

The two accesses of a finding should happen one after the other. The trace says when they do, in
every iteration: if one of them comes too early the bug is *manifest*; else it is *latent*, with the
smallest distance as its slack. A latent bug is a bug: other clocks, other GPUs, other loads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asyncsim.predict.result import Prediction
from asyncsim.rules import Finding, Rule
from asyncsim.trace.model import Span, SpanKind, Trace

_HANGS = frozenset(
    {
        Rule.DEADLOCK,
        Rule.ARRIVAL_SHORTFALL,
        Rule.ARRIVAL_OVERFLOW,
        Rule.TX_BYTES_MISMATCH,
        Rule.RECEIVER_NOT_ARMED,
        Rule.LAPPED_WAITER,
        Rule.VACUOUS_WAIT,
        Rule.EARLY_COMPLETION,
    }
)
_ORDERED = frozenset(
    {
        Rule.READ_BEFORE_ARRIVAL,
        Rule.WRITE_BEFORE_RELEASE,
        Rule.WRITE_WRITE_RACE,
        Rule.WAIT_GROUP_TOO_LOOSE,
        Rule.UNCOMMITTED_COPY,
        Rule.WAIT_BY_NON_ISSUER,
        Rule.MISSING_BLOCK_BARRIER,
        Rule.SMEM_REUSED_BEFORE_STORE_READ,
        Rule.VACUOUS_WAIT,
    }
)
"""Rules on two accesses whose order the timing decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """``slack``: cycles from the end of the first access to the second, the smallest; negative
    where the finding is manifest. None where ``why`` says what shows whatever the timing.
    ``at``: the second access of that pair."""

    manifest: bool
    why: str = ""
    slack: float | None = None
    at: Span | None = None

    def __str__(self) -> str:
        if self.slack is None:
            return f"manifest: {self.why}"
        where = ""
        if self.at is not None:
            step = f" [{', '.join(map(str, self.at.indices))}]" if self.at.indices else ""
            where = f", at {self.at.track}{step}, cycle {self.at.start:,.0f}"
        if self.manifest:
            return f"manifest: {-self.slack:,.0f} cycles too early in the predicted run{where}"
        return f"latent: {self.slack:,.0f} cycles of slack in the predicted run{where}"


def showing(finding: Finding, prediction: Prediction | None) -> Showing | None:
    """How a finding shows in a predicted run; None where its timing decides nothing.

    ``prediction`` must have kept its trace; None stands for a run that does not end. A trace does
    not say when the tensor core has read its operands, so nothing is said of races with it.
    """
    if prediction is None:
        hangs = finding.rule in _HANGS
        return Showing(manifest=True, why="the predicted run does not end") if hangs else None
    if finding.rule is Rule.WRONG_TILE:
        return Showing(manifest=True, why="wrong data in every run")
    trace = prediction.trace
    if trace is None or len(finding.where) != 2 or finding.rule not in _ORDERED:
        return None
    first, second = finding.where
    if first.what.startswith("wgmma"):
        return None
    if len(first.indices) != len(second.indices) or first.op_id == second.op_id:
        return None
    shift = tuple(b - a for a, b in zip(first.indices, second.indices, strict=True))
    nearest: tuple[float, Span] | None = None
    ends = _latest(trace, first.op_id, len(shift))
    for span in _spans(trace, second.op_id, len(shift)):
        before = tuple(i - d for i, d in zip(span.indices, shift, strict=True))
        end = ends.get((span.sm, span.cta, before))
        if end is None:
            continue
        slack = _takes_effect(span) - end
        if nearest is None or slack < nearest[0]:
            nearest = slack, span
    if nearest is None:
        return None
    slack, at = nearest
    return Showing(manifest=slack < 0, slack=slack, at=at)


def _takes_effect(span: Span) -> float:
    """A copy changes its destination when it lands, an op of a warp when it begins."""
    return span.end if span.kind is SpanKind.FLIGHT else span.start


def _latest(trace: Trace, op_id: int, depth: int) -> dict[tuple[int, int, tuple[int, ...]], float]:
    """When the last warp has done with an op, by SM, CTA and iteration."""
    found: dict[tuple[int, int, tuple[int, ...]], float] = {}
    for span in _spans(trace, op_id, depth):
        key = span.sm, span.cta, span.indices
        found[key] = max(found.get(key, span.end), span.end)
    return found


def _spans(trace: Trace, op_id: int, depth: int) -> Iterable[Span]:
    """Executions of an op at its ``depth`` of loops: the flights of a copy, else what warps do.

    Register work that is finished behind later ops has a span of its own; the accesses to memory
    are in the last one of an iteration.
    """
    spans = [s for s in trace.spans if s.op_id == op_id and len(s.indices) == depth]
    flights = [s for s in spans if s.kind is SpanKind.FLIGHT]
    if flights:
        return flights
    last: dict[object, Span] = {}
    for span in spans:
        key = span.sm, span.cta, span.track, span.indices
        if span.kind is SpanKind.OP and (key not in last or span.start > last[key].start):
            last[key] = span
    return last.values()
