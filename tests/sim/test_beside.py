"""Arithmetic beside a busy tensor core."""

from __future__ import annotations

from asyncsim.ir import op as ops
from asyncsim.ir.decl import Work
from asyncsim.machine import load_machine, ticks
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.sim import simulate
from asyncsim.sim.beside import WHOLE, beside, runs, slower
from asyncsim.sim.do_compute import work_ticks
from asyncsim.sim.numbers import Numbers

H200 = load_machine("h200")
WGMMA = H200.wgmma


def told(*phases: Work, spacing: int = 0):  # type: ignore[no-untyped-def]
    n = Numbers(H200)
    alone = [max(c, *pipes) for c, _, pipes in (work_ticks(n, w) for w in phases)]
    return beside(n, phases, alone, 1, spacing), alone


def test_alu_work_takes_twice_as_long_and_ffma_does_not() -> None:
    assert WGMMA is not None
    slow, alone = told(Work(alu=64))
    assert slow.own == 64 * ticks(WGMMA.beside_alu_cycles)
    assert slow.own > 2 * alone[0]
    assert (slow.lost_ss, slow.lost_rs) == (0, 64 * ticks(WGMMA.beside_lost_alu_cycles))
    fast, alone = told(Work(ffma=64))
    assert fast.own == alone[0]
    assert fast.lost_ss == fast.lost_rs == int(alone[0] * WGMMA.beside_lost_ffma_cycles)


def test_ffma_among_slower_instructions_holds_nothing_up() -> None:
    conversions = slower(Numbers(H200), Work(cvt=8))
    near, alone = told(Work(ffma=64), spacing=conversions)
    assert WGMMA is not None
    assert near.lost_ss == int((alone[0] - conversions) * WGMMA.beside_lost_ffma_cycles)
    assert told(Work(ffma=64), spacing=alone[0])[0].lost_ss == 0
    assert told(Work(ffma=64, mufu=32))[0].lost_ss == 0


def test_phases_add_up() -> None:
    both, alone = told(Work(alu=64), Work(mufu=64))
    assert both.own == told(Work(alu=64))[0].own + told(Work(mufu=64))[0].own
    assert sum(alone) > max(alone)


def test_computations_in_one_run() -> None:
    schedule = flash_attention.build({"seq": 512, "heads": 1})
    near = runs(schedule)
    named = {op.id: op.defn.name for op in schedule.ops() if isinstance(op, ops.Compute)}
    pairs = {(named[i], *(o.defn.name for o in others)) for i, others in near.items()}
    assert ("fade_sums", "round_weights") in pairs
    assert ("online_softmax",) in pairs


def test_a_part_ends_where_the_tensor_core_has_nothing_more() -> None:
    class Tensor:
        free = 1000

    class Sm:
        tensor = Tensor()

    slow, _ = told(Work(alu=64))
    assert slow.part(Sm(), 1000 - slow.own // 2, WHOLE) == WHOLE // 2  # type: ignore[arg-type]
    assert slow.part(Sm(), 999, WHOLE) == WHOLE // 8  # type: ignore[arg-type]
    assert slow.part(Sm(), 999, 7) == 7  # type: ignore[arg-type]


def test_running_ahead_and_strict_order_agree() -> None:
    schedule = flash_attention.build({"seq": 512, "heads": 2})
    ahead = simulate(schedule, H200, certified=True).cycles
    strict = simulate(schedule, H200, certified=False).cycles
    assert abs(ahead - strict) / strict < 0.01
