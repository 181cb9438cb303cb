"""Streams that yield at once what no loop stands between: the same ops with the same values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.catalog import builtin_scenarios
from asyncsim.ir.expr import Expr
from asyncsim.ir.op import OpBase
from asyncsim.ir.program import Program as TwoKernels
from asyncsim.ir.schedule import Schedule
from asyncsim.stream import Program
from asyncsim.stream.operands import shared_operands
from asyncsim.stream.segments import KEPT, Joined, Key, Segment

Told = tuple[int, str, Key]


class Binder:
    """Tells of an op which it is, for which lanes, and the values of its operands."""

    def __init__(self, *, keeps: bool = True) -> None:
        self.keeps = keeps
        self.kept: dict[Segment, Joined[Told]] = {}

    def bind(self, op: OpBase, warp_in_role: int) -> Callable[[Key], Told]:
        return lambda values: (op.id, op.scope.value, values)

    def reads(self, op: OpBase) -> tuple[Expr, ...]:
        return shared_operands(op)

    def joined(
        self, segment: Segment, ops: Sequence[OpBase], makers: Sequence[Callable[[Key], Told]]
    ) -> Mapping[Key, tuple[Told, ...]]:
        assert len(ops) == len(segment.ops) == len(makers)
        by_index = dict(zip(segment.ops, makers, strict=True))
        return self.kept.setdefault(segment, Joined(segment, by_index, keeps=self.keeps))


def assert_same(schedule: Schedule, ops: int = 3000) -> None:
    program = Program(schedule)
    last = tuple(n - 1 for n in schedule.grid)
    for block in {(0, 0, 0), last}:
        for warp in range(schedule.warps):
            plain = [told for told, _ in islice(program.bound(Binder(), block, warp), ops)]
            for binder in (Binder(), Binder(keeps=False)):
                joined = chain.from_iterable(program.joined(binder, block, warp))
                assert list(islice(joined, ops)) == plain


@pytest.mark.parametrize("name", [s.name for s in builtin_scenarios()])
def test_every_scenario(name: str) -> None:
    (scenario,) = (s for s in builtin_scenarios() if s.name == name)
    built = scenario.build({})
    for schedule in built.kernels if isinstance(built, TwoKernels) else (built,):
        assert_same(schedule)


def branches() -> Schedule:
    k = ScheduleBuilder("branches", archs=("sm_90a",))
    k.block(2)
    full = k.mbarriers("full", count=1, stages=4)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    stage = k.var("stage", 0)
    with k.loop(40) as i:
        with k.when(i % 3 == 0):
            stage.set((stage + 1) % 4)
            with k.when(stage % 2 == 0):
                k.mbarrier.expect_tx(full[stage], 16 * (i + 1))
            with k.when(stage % 2 == 1):
                stage.set(stage ^ 2)
        k.mbarrier.expect_tx(full[stage], 16)
        with k.elect_thread():
            k.mbarrier.expect_tx(full[(stage + 1) % 4], 32)
        stage.set((stage + i) % 4)
        k.mbarrier.expect_tx(full[(stage + 1) % 4], 48)
    return k.finish()


def test_vars_that_change_between_ops_and_in_branches() -> None:
    assert_same(branches())


def test_equal_values_are_the_same_tuple_and_few_are_kept() -> None:
    program, binder = Program(branches()), Binder()
    first, again = (list(program.joined(binder, (0, 0, 0), 1)) for _ in range(2))
    assert first == again
    assert [id(told) for told in first] == [id(told) for told in again]

    k = ScheduleBuilder("long", archs=("sm_90a",))
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    with k.loop(KEPT + 5) as i:
        k.mbarrier.expect_tx(full[0], 16 * i)
    binder = Binder()
    assert len(list(Program(k.finish()).joined(binder, (0, 0, 0), 0))) == 1 + KEPT + 5
    assert [len(joined) for joined in binder.kept.values()] == [1, 5]
