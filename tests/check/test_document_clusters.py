"""Schedules of the documents over several CTAs and on Blackwell (D14, D15, D16): what they move,
what overlaps, who issues. D4, D9 and D10 are in test_clusters, D17 in test_clc (and
bw_persistent_clc)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from asyncsim import check
from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import load_machine
from asyncsim.predict.result import Verdict
from asyncsim.scenarios.bw_gemm import bw_gemm
from asyncsim.scenarios.bw_gemm_2cta import bw_gemm_2cta
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.multicast_gemm import multicast_gemm
from asyncsim.sim import simulate
from asyncsim.stream import Dyn, Program
from asyncsim.trace import Span, SpanKind, Trace


def executed(schedule: Schedule) -> Iterator[tuple[int, Dyn]]:
    """Everything that is executed, with the CTA; schedules of one row of CTAs."""
    program = Program(schedule)
    for cta in range(schedule.ctas):
        for warp in range(schedule.warps):
            yield from ((cta, dyn) for dyn, _ in program.stream((cta, 0, 0), warp))


def asked_of_l2(schedule: Schedule) -> int:
    """Bytes of the loads of all CTAs; a multicast asks once for all that it reaches."""
    return sum(dyn.value for _, dyn in executed(schedule) if isinstance(dyn.op, ops.TmaLoad))


@pytest.mark.parametrize(("shared_by", "falls_by"), [(2, 0.25), (4, 0.375)])
def test_d14_sharing_a_saves_reads(shared_by: int, falls_by: float) -> None:
    """A and B weigh the same; the CTAs of a cluster stand in a row and share A."""
    sizes = {"m": 128, "n": 512, "k": 256, "block_n": 128, "ctas": 4}
    alone = asked_of_l2(cooperative_gemm.build(sizes))
    schedule = multicast_gemm.build({**sizes, "cluster_m": 1, "cluster_n": shared_by})
    assert check(schedule).verdict is Verdict.CLEAN
    assert asked_of_l2(schedule) == (1 - falls_by) * alone
    received = sum(
        dyn.value * max(1, len(dyn.ints))
        for _, dyn in executed(schedule)
        if isinstance(dyn.op, ops.TmaLoad)
    )
    assert received == alone, "each CTA still gets all of its operands"


def trace_of(schedule: Schedule) -> Trace:
    trace = simulate(schedule, load_machine("b200"), certified=True, keep_trace=True).trace
    assert trace is not None
    return trace


def spans_of(trace: Trace, name: str, tile: int, kind: SpanKind = SpanKind.OP) -> list[Span]:
    return [s for s in trace.spans if (s.kind, s.indices[:1]) == (kind, (tile,)) and name in s.name]


@pytest.mark.parametrize("slots", [1, 2])
def test_d15_a_tile_is_multiplied_while_others_are_loaded_and_stored(slots: int) -> None:
    schedule = bw_gemm.build({"m": 128, "n": 1024, "k": 512, "ctas": 1, "slots": slots})
    assert check(schedule).verdict is Verdict.CLEAN
    trace = trace_of(schedule)
    for tile in (1, 2):
        product = spans_of(trace, "Tcgen05Mma", tile)
        begin, end = product[0].start, product[-1].end
        loads = spans_of(trace, "a_map", tile + 1, SpanKind.FLIGHT)
        stores = spans_of(trace, "c_map", tile - 1, SpanKind.FLIGHT)
        assert min(s.start for s in loads) < end
        assert max(s.end for s in stores) > begin
        emptied = max(s.end for s in spans_of(trace, "Tcgen05Wait", tile - 1))
        assert (begin < emptied) is (slots == 2), "with one slot, the sums wait for the epilogue"


ORDERS = [Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=1)]


def test_d16_a_pair_multiplies_256_by_256() -> None:
    """Each CTA brings half of B; rank 0 issues for both, and its commits reach both."""
    schedule = bw_gemm_2cta.build({"m": 256, "n": 512, "k": 192, "ctas": 2, "f32": 1})
    assert check(schedule).verdict is Verdict.CLEAN
    issued = [
        (cta, dyn)
        for cta, dyn in executed(schedule)
        if isinstance(dyn.op, ops.Tcgen05Mma | ops.Tcgen05Commit)
    ]
    assert {cta for cta, _ in issued} == {0}
    assert {(dyn.op.m, dyn.op.n) for _, dyn in issued if isinstance(dyn.op, ops.Tcgen05Mma)} == {
        (256, 256)
    }
    assert {dyn.ints for _, dyn in issued if isinstance(dyn.op, ops.Tcgen05Commit)} == {(0, 1)}
    inputs = make_inputs(schedule)
    want = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T
    for order in ORDERS:
        assert np.array_equal(evaluate(schedule, inputs, order=order)["c"], want)
