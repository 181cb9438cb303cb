"""Intervals of a timeline, measured or predicted: between the ops of a warp, and from step to step.

Both timelines are laid along the op stream of a warp, at the ops that a stamped build stamps, so
that an interval means the same in both: from the end of one stamped op to that of the next one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from asyncsim.hw.launch.inferred import warp_track
from asyncsim.hw.launch.timing import percentile
from asyncsim.ir import op as ops
from asyncsim.ir.op import Op
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stamped import leaves_stamp
from asyncsim.stream import Program
from asyncsim.trace import Span, SpanKind, Trace

FEW = 4  # executions by one warp that make a step
WAITS = (ops.MbarrierWait, ops.MbarrierWaitState, ops.WaitGroup, ops.BarSync)

Ends = list[tuple[int, float]]
"""Op ids and times of their ends, of one warp, in program order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Cycles from the end of op ``first`` to that of op ``last``, the next stamped one of the same
    warp, over ``n`` executions by the warps of a role. ``step``: ``last`` is the same op's next
    execution, whatever lies between."""

    role: str
    first: int
    last: int
    n: int
    median: float
    mean: float
    p10: float
    p90: float
    step: bool = False

    @property
    def key(self) -> tuple[str, int, int, bool]:
        return self.role, self.first, self.last, self.step


def intervals(trace: Trace, schedule: Schedule) -> tuple[Interval, ...]:
    """Of all CTAs of the trace: a step for each role that repeats one, then its intervals."""
    by_role: dict[str, list[Ends]] = {}
    for warp, found in _ends(trace, schedule):
        role = schedule.role_of(warp)
        by_role.setdefault(role.name if role else "block", []).append(found)
    return tuple(i for role, warps in by_role.items() for i in _of_role(role, warps))


def is_wait(schedule: Schedule, interval: Interval) -> bool:
    """Whether the interval ends with a wait."""
    op = next(op for op in schedule.ops() if op.id == interval.last)
    return not interval.step and isinstance(op, WAITS)


def _of_role(role: str, warps: Sequence[Ends]) -> Iterator[Interval]:
    counts = Counter(op for op, _ in max(warps, key=len, default=[]))
    step = max(counts, key=lambda op: counts[op], default=-1)  # the first of the most frequent
    if counts[step] >= FEW:
        times = [[t for op, t in found if op == step] for found in warps]
        yield _interval(role, step, step, [b - a for w in times for a, b in pairwise(w)], step=True)
    between: dict[tuple[int, int], list[float]] = {}
    for found in warps:
        for (a, start), (b, end) in pairwise(found):
            between.setdefault((a, b), []).append(end - start)
    for (a, b), cycles in sorted(between.items()):
        if len(cycles) >= FEW * len(warps):
            yield _interval(role, a, b, cycles)


def _interval(
    role: str, first: int, last: int, cycles: Sequence[float], *, step: bool = False
) -> Interval:
    values = list(cycles)
    return Interval(
        role=role,
        first=first,
        last=last,
        n=len(values),
        median=percentile(values, 50),
        mean=sum(values) / len(values),
        p10=percentile(values, 10),
        p90=percentile(values, 90),
        step=step,
    )


def is_point(op: Op) -> bool:
    """Whether intervals begin and end here. What computes does not count: neither clock waits for
    its results, and both may finish it behind ops that follow."""
    return leaves_stamp(op) and not isinstance(op, ops.Compute)


def _ends(trace: Trace, schedule: Schedule) -> Iterator[tuple[int, Ends]]:
    """By CTA and warp: a span for each execution of an op, or none if it takes no time."""
    points = {op.id for op in schedule.ops() if is_point(op)}
    tracks: dict[tuple[int, str], dict[int, deque[Span]]] = {}
    for s in trace.spans:
        own = s.kind in (SpanKind.OP, SpanKind.STALL) and not s.inferred
        if own and s.op_id in points and s.cta >= 0:
            spans = tracks.setdefault((s.cta, s.track), {}).setdefault(s.op_id, deque())
            if spans and s.kind is SpanKind.STALL and spans[-1].end == s.start:
                spans.pop()  # its issue, of which this is the stall
            spans.append(s)
    for cta in sorted({cta for cta, _ in tracks}):
        for warp in range(schedule.warps):
            found = tracks.get((cta, warp_track(schedule, warp)))
            if found:
                yield warp, _laid(schedule, cta, warp, found)


def _laid(schedule: Schedule, cta: int, warp: int, spans: dict[int, deque[Span]]) -> Ends:
    """In program order, up to the first op whose span is not in the trace any more."""
    x, y, _ = schedule.grid
    block = (cta % x, cta // x % y, cta // (x * y))
    found: Ends = []
    end = min(s[0].start for s in spans.values())
    for dyn, _ in Program(schedule).stream(block, warp):
        if not is_point(dyn.op):
            continue
        own = spans.get(dyn.op.id)
        if own is not None:
            if not own:
                break
            end = max(end, own.popleft().end)
        found.append((dyn.op.id, end))
    if any(spans.values()) and not any(not left for left in spans.values()):
        raise ValueError(f"the timeline of warp {warp} is not that of {schedule.name}")
    return found


def interval_row(i: Interval) -> dict[str, Any]:
    """As it is stored."""
    cycles = {name: round(getattr(i, name), 1) for name in ("median", "mean", "p10", "p90")}
    where = {"role": i.role, "first": i.first, "last": i.last, "step": i.step}
    return {**where, "n": i.n, **cycles}


def by_key(found: Iterable[Interval]) -> Mapping[tuple[str, int, int, bool], Interval]:
    """To be joined with those of the other timeline."""
    return {i.key: i for i in found}
