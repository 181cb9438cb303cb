"""Rewriting a schedule around the two parts of an election."""

from __future__ import annotations

from asyncsim import ScheduleBuilder
from asyncsim.ir.op import OpBase, Scope
from asyncsim.ir.rewrite import moved, replaced
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, Stmt


def two_parts() -> Schedule:
    k = ScheduleBuilder("parts")
    full = k.mbarriers("full", count=32)
    with k.elect():
        k.mbarrier.init_all(full)
        k.mbarrier.arrive(full[0])
    with k.others():
        k.mbarrier.arrive(full[0])
        k.bulk.commit_group()
    k.bar.warp_sync()
    return k.finish()


def shown(body: tuple[Stmt, ...]) -> list[object]:
    """Op ids, and for an election those of its parts."""
    return [
        (shown(s.body), shown(s.others)) if isinstance(s, Elect) else s.id
        for s in body
        if isinstance(s, Elect | OpBase)
    ]


def test_a_part_that_becomes_empty_leaves_the_other() -> None:
    s = two_parts()
    assert shown(s.body) == [([0, 1], [2, 3]), 4]
    elected = [op for op in s.ops() if op.scope is Scope.ELECTED]
    others = [op for op in s.ops() if op.scope is Scope.OTHERS]
    for op in elected:
        s = replaced(s, op, None)
    assert shown(s.body) == [([], [2, 3]), 4]
    for op in others:
        s = replaced(s, op, None)
    assert shown(s.body) == [4]


def test_an_op_moves_within_its_part_and_out_of_it() -> None:
    s = two_parts()
    commit, sync = list(s.ops())[3:]
    up = moved(s, commit, up=True)
    assert up is not None and shown(up.body) == [([0, 1], [3, 2]), 4]
    down = moved(s, commit, up=False)
    assert down is not None and shown(down.body) == [([0, 1], [2]), 4, ([], [3])]
    before = moved(s, sync, up=True)
    assert before is not None and shown(before.body) == [4, ([0, 1], [2, 3])]
