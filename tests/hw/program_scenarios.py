"""Kernels that overlap by programmatic dependent launch, whose data can be checked."""

from __future__ import annotations

from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, Program, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule


def _spin(x: Any, turns: int, one: int, **_: Any) -> None:
    x += turns * one


SPIN = ComputeDef(
    name="spin",
    operands=(
        ComputeOperand(name="x", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="turns", kind="int"),
        ComputeOperand(name="one", kind="int"),
    ),
    work=lambda turns, one: Work(alu=turns, chain_alu=turns),
    # one is an argument: the assembler folds additions of a constant
    cuda="for (int i = 0; i < turns; ++i) "
    'asm volatile("add.u32 %0, %0, %1;" : "+r"(x[0]) : "r"(one));',
    numpy=_spin,
)


def first(ctas: int, turns: int, after: int, *, early: bool) -> Schedule:
    """Adds ``turns`` to its row, lets the next kernel start, adds ``after`` more, and stores."""
    k = ScheduleBuilder("first")
    k.grid(ctas)
    k.block(4)
    a = k.global_tensor("a", (ctas, 128), "u32")
    b = k.global_tensor("b", (ctas, 128), "u32", output=True)
    x = k.fragment("x", registers=1, dtype="u32")
    place = ((k.block_idx, k.thread_in_role), (1, 1))
    k.mem.ld_global(x.all, a.box(*place))
    one = k.arg("one", 1)
    k.mem.compute(SPIN, x.all, k.arg("turns", turns), one)
    if early:
        k.griddepcontrol.launch_dependents()
    k.mem.compute(SPIN, x.all, k.arg("after", after), one)
    k.mem.st_global(b.box(*place), x.all)
    return k.finish()


def second(ctas: int, turns: int) -> Schedule:
    """A prologue of its own on its weights, then what the first kernel has written, by TMA."""
    k = ScheduleBuilder("second")
    k.grid(ctas)
    k.block(4)
    b = k.global_tensor("b", (ctas, 128), "u32")
    weights = k.global_tensor("weights", (1, 128), "u32")
    c = k.global_tensor("c", (ctas, 128), "u32", output=True)
    b_map = k.tensor_map("b_map", b, box=(1, 128))
    tile, full = k.smem_tile("tile", (1, 128), "u32")[0], k.mbarriers("full", count=1)
    x, w = (k.fragment(name, registers=1, dtype="u32") for name in ("x", "w"))
    mine = k.thread_in_role
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.mem.ld_global(w.all, weights.box((0, mine), (1, 1)))
    k.mem.compute(SPIN, w.all, k.arg("turns", turns), k.arg("one", 1))
    k.bar.sync()
    with k.elect_thread():
        k.griddepcontrol.wait()
        k.mbarrier.arrive_expect_tx(full[0], 512)
        k.tma.load(tile, b_map, (ctas - 1 - k.block_idx, 0), full[0])
    k.mbarrier.wait(full[0], 0)
    k.mem.ld_shared(x.all, tile.box((0, mine), (1, 1)))
    k.mem.compute(ADD, x.all, w.all)
    k.mem.st_global(c.box((k.block_idx, mine), (1, 1)), x.all)
    return k.finish()


def _add(total: Any, part: Any, **_: Any) -> None:
    total[...] = total + part


ADD = ComputeDef(
    name="add",
    operands=(
        ComputeOperand(name="total", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="part", kind="fragment"),
    ),
    work=lambda: Work(alu=1, chain_alu=1),
    cuda="total[0] = total[0] + part[0];",
    numpy=_add,
)


def pair(
    *, ctas: int = 132, turns: int = 2000, after: int = 2000, prologue: int = 1500, early: int = 1
) -> Program:
    """``early`` 0: the first kernel does not say when the second one may start."""
    return Program(first(ctas, turns, after, early=bool(early)), second(ctas, prologue))
