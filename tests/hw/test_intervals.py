"""Intervals of timelines: laid along the op stream, joined with measured ones, what stamps take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.errors import UsageError
from asyncsim.hw.compare_intervals import (
    ComparedInterval,
    MeasuredIntervals,
    compare_intervals,
    errors,
    load_intervals,
)
from asyncsim.hw.configuration import Configuration
from asyncsim.hw.intervals import Interval, intervals, is_wait
from asyncsim.hw.stamp_cost import stamp_benchmarks, stamp_cost, stamps_of
from asyncsim.ir import op as ops
from asyncsim.ir.stamped import StampCost
from asyncsim.machine import load_machine
from asyncsim.sim import simulate
from asyncsim.trace import Span, SpanKind, Trace

RING = find_scenario("tma_ring").build({"ctas": 1, "tiles": 8})
NONE = StampCost(mbarrier=0, barrier=0, other=0)
H200 = load_machine("h200")


def ids(kind: type, role: str) -> int:
    (found,) = [op.id for op in RING.ops() if isinstance(op, kind) and _role(op.id) == role]
    return found


def _role(op_id: int) -> str:
    return "producer" if op_id > max(_of(ops.MbarrierArrive)) else "consumer"


def _of(kind: type) -> list[int]:
    return [op.id for op in RING.ops() if isinstance(op, kind)]


WAIT_EMPTY = ids(ops.MbarrierWait, "producer")
EXPECT = ids(ops.MbarrierArriveExpectTx, "producer")
LOAD = ids(ops.TmaLoad, "producer")


def producer(times: list[tuple[int, float, float]]) -> Trace:
    """Spans of the producer: op, start, end."""
    spans = [
        Span(
            sm=0,
            cta=0,
            track="producer/0",
            name="",
            start=start,
            end=end,
            kind=SpanKind.OP,
            op_id=op,
        )
        for op, start, end in times
    ]
    return Trace(source="measured", schedule="tma_ring", spans=spans)


def rounds(n: int, step: float) -> list[tuple[int, float, float]]:
    out: list[tuple[int, float, float]] = []
    for i in range(n):
        t = i * step
        out += [(WAIT_EMPTY, t, t + 10), (EXPECT, t + 10, t + 15), (LOAD, t + 15, t + 40)]
    return out


def found_by_key(trace: Trace) -> dict[tuple[int, int, bool], Interval]:
    return {(i.first, i.last, i.step): i for i in intervals(trace, RING) if i.role == "producer"}


def test_a_step_and_its_parts() -> None:
    found = found_by_key(producer(rounds(8, 100)))
    step = found[WAIT_EMPTY, WAIT_EMPTY, True]
    assert (step.n, step.mean, step.median, step.p10, step.p90) == (7, 100, 100, 100, 100)
    parts = [found[WAIT_EMPTY, EXPECT, False], found[EXPECT, LOAD, False]]
    assert [(p.n, p.mean) for p in parts] == [(8, 5), (8, 25)]
    wait = found[LOAD, WAIT_EMPTY, False]
    assert (wait.n, wait.mean) == (7, 70)
    assert [is_wait(RING, i) for i in (step, parts[0], wait)] == [False, False, True]


def test_means_and_medians_differ_where_rounds_do() -> None:
    spans = rounds(8, 100)
    late = [(op, a + 700, b + 700) if i >= 21 else (op, a, b) for i, (op, a, b) in enumerate(spans)]
    step = found_by_key(producer(late))[WAIT_EMPTY, WAIT_EMPTY, True]
    assert (step.mean, step.median) == (200, 100)


def test_a_stall_belongs_to_its_op() -> None:
    spans = producer(rounds(8, 100)).spans
    first = spans[3]
    assert first.op_id == WAIT_EMPTY
    spans[3] = replace(first, end=first.start + 4)
    spans.insert(4, replace(first, start=first.start + 4, kind=SpanKind.STALL))
    whole = producer(rounds(8, 100))
    assert intervals(Trace(source="", schedule="", spans=spans), RING) == intervals(whole, RING)


def test_an_op_without_spans_takes_no_time() -> None:
    without = [s for s in rounds(8, 100) if s[0] != EXPECT]
    found = found_by_key(producer(without))
    assert found[WAIT_EMPTY, EXPECT, False].mean == 0
    assert found[EXPECT, LOAD, False].mean == 30


def test_a_timeline_that_was_cut_ends_where_it_was() -> None:
    found = found_by_key(producer(rounds(6, 100)[:-1]))
    assert found[WAIT_EMPTY, WAIT_EMPTY, True].n == 5
    assert found[EXPECT, LOAD, False].n == 5


def test_simulated_steps_add_up() -> None:
    """The parts of the producer's step are its step; a computation ends no part."""
    run = simulate(RING, H200, certified=True, l2="warm", keep_trace=True)
    assert run.trace is not None
    every = intervals(run.trace, RING)
    mine = [i for i in every if i.role == "producer"]
    (step,) = [i.median for i in mine if i.step]
    assert sum(i.median for i in mine if not i.step) == pytest.approx(step)
    computing = set(_of(ops.Compute))
    assert not computing & {end for i in every for end in (i.first, i.last)}


def test_what_stamps_take_is_added_where_they_are() -> None:
    def cycles(stamps: StampCost | None) -> float:
        one = find_scenario("dispatch").build({"ctas": 1, "rows": 64})
        return simulate(one, H200, certified=True, l2="warm", stamps=stamps).cycles

    assert cycles(NONE) == cycles(None)
    assert cycles(StampCost(mbarrier=30, barrier=0, other=0)) > cycles(None)
    cost = StampCost(mbarrier=3, barrier=2, other=1)
    by_kind = {type(op): cost.of(op) for op in RING.ops()}
    assert by_kind[ops.MbarrierWait] == by_kind[ops.MbarrierArrive] == 3
    assert by_kind[ops.BarSync] == 2 and by_kind[ops.TmaLoad] == by_kind[ops.Compute] == 1
    assert by_kind[ops.FenceProxyAsync] == 0, "not stamped"


def test_the_cost_of_a_stamp_is_that_of_the_benchmarks() -> None:
    """Which are no scenario, and have the stamps that are counted."""
    from asyncsim.ir.stamped import leaves_stamp
    from asyncsim.stream import Program

    kinds = {"mbarrier": 36, "bar.sync": 18, "commit_group": 27}
    longer = {}
    for name, schedule in stamp_benchmarks().items():
        stream = Program(schedule).stream((0, 0, 0), 0)
        stamped = sum(leaves_stamp(d.op) for d, _ in stream)
        assert 0 < stamped - stamps_of(name) < 8, "but for the beginning and the end"
        cycles = kinds[name.partition(",")[0]] + (1 if "4 warps" in name else -1)
        longer[name] = float(cycles * stamps_of(name))
    assert stamp_cost(longer) == StampCost(mbarrier=36, barrier=18, other=27)


def measured(cycles: float) -> MeasuredIntervals:
    c = Configuration(scenario="tma_ring", params={"ctas": 1, "tiles": 8}, l2="warm")
    known = intervals(producer(rounds(8, cycles)), RING)
    return MeasuredIntervals(
        configuration=c, board="b", cycles=1.0, stamped=2.0, stamps=NONE, intervals=known
    )


def test_errors_are_those_of_steps_or_in_percent_of_them() -> None:
    (m, *_), run = [measured(400)], simulate(RING, H200, certified=True, l2="warm", keep_trace=True)
    assert run.trace is not None
    other = {i.key: i for i in intervals(run.trace, RING)}
    found: dict[bool, list[ComparedInterval]] = {True: [], False: []}
    for c in compare_intervals([m], H200):
        found[c.step].append(c)
        assert c.predicted == other[c.measured.key] and c.of_step == 400
        assert c.error_pct == pytest.approx(100 * (c.predicted.mean - c.measured.mean) / 400)
    assert len(found[True]) == 1 and len(found[False]) == 3
    assert found[True][0].what == "step at mbarrier wait empty"
    assert {c.what for c in found[False] if c.wait} == {
        "TMA queue, source_map .. mbarrier wait empty"
    }
    sizes = [abs(c.error_pct) for c in found[False]]
    assert errors(found[False]).mean == pytest.approx(sum(sizes) / 3)
    assert errors([]).n == 0


def test_stored_intervals() -> None:
    """At least ten kernels of six scenarios, on both sides of one CTA, waits among them."""
    stored = load_intervals()
    assert len(stored) >= 10 and len({m.configuration.scenario for m in stored}) >= 6
    for m in stored:
        c = m.configuration
        schedule = find_scenario(c.scenario).build(c.params)
        known = {op.id for op in schedule.ops()}
        assert {end for i in m.intervals for end in (i.first, i.last)} <= known
        assert any(i.step for i in m.intervals) and any(is_wait(schedule, i) for i in m.intervals)
        assert m.stamped > 0.95 * m.cycles


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"costs": [], "rows": [{}]}')
    with pytest.raises(UsageError, match=r"^x\.json: .*; measure the intervals again$"):
        load_intervals(tmp_path)
