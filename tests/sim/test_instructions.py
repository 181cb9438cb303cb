"""Instructions that are no ops: how many, where, and what they cost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Binary, Builtin, BuiltinRef, Const, Expr, Var
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.mma_gemm import mma_gemm
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim.instructions import addresses, counted, instructions
from asyncsim.sim.simulate import Options, run
from tests.hw.matrix_scenarios import CLEAR
from tests.sim.schedules import H200, with_numbers

TURN, OTHER, WARP = Var("i"), Var("j"), BuiltinRef(Builtin.WARP_IN_ROLE)


def turn(body: Callable[[ScheduleBuilder, object], None], rounds: int = 8) -> Schedule:
    k = ScheduleBuilder("turn")
    k.block(1)
    with k.loop(k.arg("rounds", rounds)) as i:
        body(k, i)
        k.bar.warp_sync()
    return k.finish()


@pytest.mark.parametrize(
    ("expr", "want"),
    [
        (Binary("+", TURN, Const(1)), 1),
        (Binary("+", Binary("*", TURN, Const(2)), OTHER), 1),  # a multiply-add
        (Binary("//", WARP, Const(4)), 0),  # outside the loop
        (Binary("==", Binary("//", WARP, Const(4)), Const(1)), 1),  # predicates are few
        (Binary("&", Binary("<", TURN, OTHER), Binary("==", TURN, Const(0))), 3),
        (TURN, 0),
    ],
)
def test_operators(expr: Expr, want: int) -> None:
    known: set[Expr] = set()
    assert instructions(expr, known) == want
    assert instructions(expr, known) == 0


def test_a_condition_stands_before_the_next_op_of_all() -> None:
    def body(k: ScheduleBuilder, i: object) -> None:
        with k.when(i > 3):  # type: ignore[operator]
            k.fence.proxy_async("shared")
        with k.when(i > 3):  # type: ignore[operator]
            k.fence.proxy_async("shared")

    schedule = turn(body)
    sync = next(o for o in schedule.ops() if isinstance(o, ops.BarWarpSync))
    assert counted(schedule) == {sync.id: 1 + 1 + 1}  # compared once, tested twice


def test_it_is_paid_one_instruction_after_the_other() -> None:
    def body(k: ScheduleBuilder, i: object) -> None:
        with k.when(i < 0):  # type: ignore[operator]
            k.fence.proxy_async("shared")

    slow = with_numbers(H200, alu={"alu_latency_cycles": 104})
    times = []
    for machine in (H200, slow):
        ends = [run(turn(body, n), machine, Options(certified=True)).end / 64 for n in (8, 40)]
        times.append((ends[1] - ends[0]) / 32)
    assert times[1] - times[0] == pytest.approx(2 * 100, abs=0.1)


def test_one_advance_and_one_release_are_in_the_cost_of_a_turn() -> None:
    assert list(counted(ws_gemm.build({"lag": 0})).values()) == [2]  # whether it is late enough
    assert list(counted(ws_gemm.build({})).values()) == [7]  # the stage that is released
    found = counted(flash_attention.build({"pingpong": 0}))
    assert sorted(found.values()) == [5, 7]


def test_addresses_of_neighbours_are_shared() -> None:
    schedule = mma_gemm.build({})
    found = addresses(schedule)
    loads = [found[o.id] for o in schedule.ops() if isinstance(o, ops.LdMatrix)]
    assert loads[:8] == [3, 0, 0, 0, 3, 0, 0, 0]
    copies = [found[o.id] for o in schedule.ops() if isinstance(o, ops.CpAsync)]
    assert copies[:9] == [16, 1, 1, 1, 1, 1, 1, 1, 16]
    edges = mma_gemm.build({"m": 200})
    found = addresses(edges)
    assert 17 in [found[o.id] for o in edges.ops() if isinstance(o, ops.CpAsync)]


def test_products_lose_what_is_issued_among_them() -> None:
    def cycles(machine: object, loads: int, copies: int = 0) -> float:
        def program(n: int) -> Schedule:
            k = ScheduleBuilder("among")
            k.block(1)
            source = k.global_tensor("source", (32, 8), "bf16")
            tile = k.smem_tile("tile", (32, 8), "bf16")
            a, b, c = (
                k.matrices("a", 4, "bf16"),
                k.matrices("b", 2, "bf16"),
                k.matrices("c", 4, "bf16"),
            )
            acc = k.fragment("acc", registers=32)
            for frag in (a, b, c, acc):
                k.mem.compute(CLEAR, frag.all)
            for _ in range(n):
                for _ in range(loads):
                    k.ldmatrix(c.all, tile[0].box((k.lane, 0), (1, 8)))
                for _ in range(copies):
                    k.cp_async.copy(
                        tile[0].box((k.lane, 0), (1, 8)), source.box((k.lane, 0), (1, 8))
                    )
                for i in range(8):
                    k.mma.sync(acc.part(4 * i, 4), a.all, b.all)
            k.mem.compute(CLEAR, acc.all)
            return k.finish()

        few, many = (run(program(n), machine, Options(certified=True)).end / 64 for n in (4, 12))  # type: ignore[arg-type]
        return (many - few) / 8

    mma = {
        "f16_cycles": 8,
        "beside_alu_cycles": 1,
        "beside_ldmatrix_cycles": 2,
        "beside_cp_async_cycles": 5,
    }
    machine = with_numbers(H200, mma=mma)
    assert cycles(machine, 0) == pytest.approx(64)
    assert cycles(machine, 2) == pytest.approx(64 + 2 * 2 + 3)  # two loads, one address
    assert cycles(machine, 0, 1) == pytest.approx(64 + 5 + 16)  # a copy and its addresses
