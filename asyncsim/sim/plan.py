"""What is decided before a launch runs: numbers, streams, and how ops become steps.

Nothing in it depends on the order of events, so runs of one launch share it.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stamped import StampCost
from asyncsim.machine import Machine
from asyncsim.sim.code import Code
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.partitions import partition_counts
from asyncsim.sim.placement import Placement
from asyncsim.sim.sharing import Sharing
from asyncsim.sim.steps import StepBinder
from asyncsim.sim.turns import left_alone
from asyncsim.sim.warps import WarpClass, uses_warpgroup, warp_classes
from asyncsim.stream import Program


@dataclass(frozen=True, slots=True)
class Plan:
    """``classes``: of warps that run as one agent; ``in_warpgroup``: those that issue wgmma;
    ``barriers``: (first index, stages) of every array; ``binders``: by class."""

    schedule: Schedule
    placement: Placement
    numbers: Numbers
    program: Program
    classes: tuple[WarpClass, ...]
    in_warpgroup: tuple[bool, ...]
    barriers: dict[str, tuple[int, int]]
    binders: tuple[StepBinder, ...]
    sharing: Sharing


def plan(
    schedule: Schedule,
    machine: Machine,
    placement: Placement,
    *,
    warm: bool,
    merge: bool,
    stamps: StampCost | None = None,
) -> Plan:
    """``warm``: what the launch before has touched is in L2; ``merge``: see ``warp_classes``;
    ``stamps``: of a stamped build."""
    n = Numbers(machine)
    classes = warp_classes(schedule, merge=merge)
    barriers = _barrier_indices(schedule)
    code, exited = Code(schedule), left_alone(schedule)
    contended = _compute_shared(schedule, classes, placement.ctas_per_sm)
    products = any(isinstance(op, ops.WgmmaMmaAsync) for op in schedule.ops())
    again = n.rate("l2.gpc") / n.rate("l2.shared_gpc")
    return Plan(
        schedule,
        placement,
        n,
        Program(schedule),
        classes,
        tuple(uses_warpgroup(schedule, c) for c in classes),
        barriers,
        tuple(
            StepBinder(schedule, c, n, barriers, code, contended, exited, products, stamps)
            for c in classes
        ),
        Sharing(schedule, placement, machine.l2.capacity_bytes, again, warm=warm),
    )


def _barrier_indices(schedule: Schedule) -> dict[str, tuple[int, int]]:
    indices: dict[str, tuple[int, int]] = {}
    base = 0
    for barrier in schedule.of_kind(Mbarrier):
        indices[barrier.name] = base, barrier.stages
        base += barrier.stages
    return indices


def _compute_shared(schedule: Schedule, classes: tuple[WarpClass, ...], ctas_per_sm: int) -> bool:
    """Whether warps of an SM may compute on one sub-partition at the same time."""
    busy = [0, 0, 0, 0]
    for c in classes:
        role = schedule.role_of(c.first)
        body = role.body if role else schedule.body
        if any(isinstance(s, ops.Compute) for s in statements(body)):
            busy = [x + y for x, y in zip(busy, partition_counts(c.warps), strict=True)]
    return max(busy) * ctas_per_sm > 1
