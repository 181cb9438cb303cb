"""A snapshot holds the state: each field of what an execution is made of is accounted for.

A new field fails here until somebody has decided: it is compared (snapshot.py), or it only names
findings, or it never changes, or only schedules without jumps have it.
"""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.check import barrier, model, named, shared, tensor
from asyncsim.check.execution import Execution
from asyncsim.check.policy import Eager
from asyncsim.check.snapshot import can_jump
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.stream.program import Program
from asyncsim.sync import GroupQueue, MbarrierState, NamedBarrierState
from tests.check.tcgen05_schedules import gemm, multicast_ring, pair

COMPARED = {
    model.Agent: "blocked current done pos token who",
    model.Chain: "acquired clock heard heard_far initialised own peeks queues sent sent_far states "
    "written",
    model.Warp: "kin settled",
    model.Touch: "access end seq step who",
    model.Flight: "commit kind retired source_read touches",
    barrier.Barrier: "base counted counted_epochs far gather idle_epochs inval_epoch landings "
    "last_arrivals last_landing observed released released_far state tx_bytes uncounted_expects "
    "waiters waits",
    MbarrierState: "count generation initialised life next_count pending skipped tx",
    named.NamedBarrier: "epochs exits gather last_epochs state synced waiters",
    NamedBarrierState: "arrived exited generation threads warps",
    shared.Cell: "flying reads region writes",
    tensor.Group: "clock commits flights waited",
    tensor.Warpgroup: "broken groups open sequence waiters",
    tensor.WarpRegisters: "commits fence pending position retired touched used",
    GroupQueue: "committed open",
}

# what messages and witnesses are made from: after a finding the walk is made again
NAMING = {
    model.Agent: "since",
    model.Chain: "idle_waits issued phase_waits waits",
    model.Flight: "chains commits step",
    barrier.Barrier: "completed_by expected init landed",
    named.NamedBarrier: "arrivals last seen",
    shared.Cell: "before first",
    tensor.WarpRegisters: "waits",
    GroupQueue: "retired",
}

# plus edges, which end at a jump, and what other schedules have
WITHOUT_JUMPS = {
    barrier.Barrier: "history last_tracked",
    model.Touch: "instead landed",
    model.Flight: "tracked",
}

CONSTANT = {
    model.Agent: "warp",
    model.Chain: "component lanes shift_control shift_memory units warp who",
    model.Warp: "_base _chains _events _kept elected index others place stands_for",
    model.Touch: "flight",
    barrier.Barrier: "at comp key",
    named.NamedBarrier: "comp id",
    NamedBarrierState: "whole",
    shared.Cell: "filled near",
    tensor.Warpgroup: "comp warps",
}

PARTS = {
    "_handlers _meetings _relaxed _thinned _watches bounds even fences jumper layout policy",
    "schedule steps warps",
    "agents barriers flying globals named ready registers report shared tensor",
    "_seq recent",
    "changes_maps cluster early maps peers primary tcgen05 tracked",
}


@pytest.mark.parametrize("kind", COMPARED, ids=lambda kind: kind.__name__)
def test_every_field_is_accounted_for(kind: type) -> None:
    tables = (COMPARED, NAMING, WITHOUT_JUMPS, CONSTANT)
    told = [name for table in tables for name in table.get(kind, "").split()]
    assert sorted(told) == sorted(kind.__slots__)  # type: ignore[attr-defined]


def test_every_part_of_an_execution_is_accounted_for() -> None:
    schedule = tma_ring.build({"tiles": 1})
    program = Program(schedule)
    places = [program.place((0, 0, 0), w) for w in range(schedule.warps)]
    execution = Execution(schedule, places, [iter(())] * schedule.warps, Eager())
    assert sorted(vars(execution)) == sorted(name for part in PARTS for name in part.split())


def test_schedules_whose_state_is_not_held_do_not_jump() -> None:
    """By any op: tcgen05."""
    for schedule in (tma_ring.build({}), tma_copy.build({})):
        assert can_jump(schedule)
    for schedule in (gemm(), pair(), multicast_ring(multicast=True)):
        assert not can_jump(schedule)


def with_op(act) -> Schedule:  # type: ignore[no-untyped-def]
    k = ScheduleBuilder("one")
    bars = k.mbarriers("bars", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    act(k, bars)
    return k.finish()


@pytest.mark.parametrize(
    "act",
    [
        lambda k, bars: k.cp_async.mbarrier_arrive(bars[0]),
        lambda k, bars: k.griddepcontrol.wait(),
    ],
)
def test_one_such_op_is_enough(act) -> None:  # type: ignore[no-untyped-def]
    schedule = with_op(act)
    assert not can_jump(schedule)
    kinds = ops.CpAsyncMbarrierArrive | ops.GriddepcontrolWait
    assert any(isinstance(op, kinds) for op in schedule.ops())
