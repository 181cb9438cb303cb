"""Arithmetic beside a busy tensor core."""

from __future__ import annotations

import pytest

from asyncsim.ir import op as ops
from asyncsim.ir.decl import Work
from asyncsim.machine import load_machine, ticks
from asyncsim.scenario import Scenario
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.fp8_gemm import fp8_gemm
from asyncsim.sim import simulate
from asyncsim.sim.beside import WHOLE, Late, beside, runs, slower
from asyncsim.sim.do_compute import work_ticks
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.servers import Pipe
from asyncsim.sim.simulate import Options, run

H200 = load_machine("h200")
WGMMA = H200.wgmma


def told(*phases: Work, spacing: int = 0):  # type: ignore[no-untyped-def]
    n = Numbers(H200)
    alone = [max(c, *pipes) for c, _, pipes in (work_ticks(n, w) for w in phases)]
    return beside(n, phases, alone, 1, spacing), alone


def test_alu_work_takes_twice_as_long_and_ffma_of_a_warp_alone() -> None:
    assert WGMMA is not None
    slow, alone = told(Work(alu=64))
    assert slow.own == 64 * ticks(WGMMA.beside_alu_cycles)
    assert slow.own > 2 * alone[0]
    assert (slow.lost_ss, slow.lost_rs) == (0, 64 * ticks(WGMMA.beside_lost_alu_cycles))
    fast, alone = told(Work(ffma=64))
    assert fast.own == ticks(64 * WGMMA.beside_ffma_warp_cycles) > 2 * alone[0]
    assert fast.pipes[0] == alone[0]  # another warp fills what it leaves
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
    slow, _ = told(Work(alu=64))
    assert slow.part(1000, 1000 - slow.own // 2, WHOLE) == WHOLE // 2
    assert slow.part(1000, 999, WHOLE) == WHOLE // 8
    assert slow.part(1000, 999, 7) == 7


def test_sub_partitions_lose_side_by_side() -> None:
    tensor, late = Pipe("tensor core"), Late()
    tensor.serve(0, 100, (0, "launch", 0, None))
    for lost in ([5, 0, 0, 0], [0, 5, 5, 5]):  # a warp, and then three on the others
        late.lose(tensor, 90, lost)
        assert tensor.free == 105
    late.lose(tensor, 90, [5, 0, 0, 0])  # another warp on the first
    assert (tensor.free, late.until(tensor)) == (110, [110, 105, 105, 105])
    tensor.serve(0, 10, (0, "launch", 0, None))
    assert late.until(tensor) == [120] * 4


@pytest.mark.parametrize(
    ("scenario", "params"),
    [
        (flash_attention, {"seq": 512, "heads": 2}),
        (flash_attention, {"seq": 512, "heads": 2, "pingpong": 0}),
        (fp8_gemm, {"m": 512, "n": 512, "k": 1024}),
    ],
)
def test_warps_that_run_as_one_take_what_they_take_apart(
    scenario: Scenario, params: dict[str, int]
) -> None:
    schedule = scenario.build(params)
    together, apart = (
        run(schedule, H200, Options(certified=True, merge=merge)) for merge in (True, False)
    )
    assert len(together.classes) < len(apart.classes)
    assert together.end == apart.end
    assert together.sms[0].tensor.busy == apart.sms[0].tensor.busy


def test_running_ahead_and_strict_order_agree() -> None:
    schedule = flash_attention.build({"seq": 512, "heads": 2})
    ahead = simulate(schedule, H200, certified=True).cycles
    strict = simulate(schedule, H200, certified=False).cycles
    assert abs(ahead - strict) / strict < 0.01
