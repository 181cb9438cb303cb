"""Two kernels that overlap: what the dependent one may touch before griddepcontrol.wait.

A kernel that lets its dependents start early may still write, and read, whatever it ever does. So
an access of the dependent kernel that conflicts with one of the first must come after a wait, in
the order that holds in every execution. What touches what is enumerated for all CTAs of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from asyncsim.check.ctas import Block, Survey
from asyncsim.check.describe import op_text
from asyncsim.check.early import Where
from asyncsim.check.execution import Execution
from asyncsim.check.findings import finding_of_fault
from asyncsim.check.global_memory import Row, rows
from asyncsim.check.model import Step
from asyncsim.check.policy import Eager
from asyncsim.check.report import Fault
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox
from asyncsim.rules import Finding, Rule
from asyncsim.stream import program as streams
from asyncsim.stream.program import Event

EVENT_LIMIT = 200_000  # ops of all CTAs of one kernel that are looked at


@dataclass(slots=True)
class _Footprint:
    """What all CTAs of a kernel touch and write of some tensors; not all of it if ``too_long``."""

    touched: dict[Row, int] = field(default_factory=dict)
    written: dict[Row, int] = field(default_factory=dict)
    too_long: bool = False


def check_dependence(program: Program, kinds: Survey) -> tuple[list[Finding], str]:
    """PDL_ORDER findings, and what was not decided. ``kinds``: of the dependent kernel's CTAs."""
    first, second = program.primary, program.dependent
    tensors = frozenset(program.shared)
    early = {block: _early(second, block, tensors) for block in kinds.blocks}
    if not any(early.values()):
        return [], ""
    theirs = _footprint(first, program.shared)
    faults: dict[object, Fault] = {}
    for seen, (block, warp, event) in enumerate(_events(second)):
        if theirs.too_long or seen >= EVENT_LIMIT:
            one = next(step for steps in early.values() for step in steps.values())
            return [], (
                f"{op_text(one.dyn)} comes before griddepcontrol.wait; whether it meets what "
                f"{first.name} touches was not decided"
            )
        kind = kinds.kind(second.cluster_of(block)[0])
        index = second.rank(block) * second.warps + warp
        step = early[kind].get((index, event[0].op.id, event[1])) if kind is not None else None
        if step is not None:
            _compare(program, theirs, step, event, faults)
    return [finding_of_fault(f) for f in faults.values()], ""


def overlap(program: Program) -> bool:
    """Whether the dependent kernel may start before the first has ended."""
    launch = ops.GriddepcontrolLaunchDependents
    return any(isinstance(op, launch) for op in program.primary.ops())


def _compare(
    program: Program,
    theirs: _Footprint,
    step: Step,
    event: Event,
    faults: dict[object, Fault],
) -> None:
    """An early access of some CTA with what the first kernel touches."""
    for access in event[0].accesses:
        region = access.region
        if not isinstance(region, GlobalBox) or region.tensor not in program.shared:
            continue
        other = theirs.touched if access.write else theirs.written
        shape = program.shared[region.tensor].shape
        if not any(other.get(row, 0) & bits for row, bits in rows(access, shape)):
            continue
        does = "writes" if access.write else "reads"
        name, first = region.tensor, program.primary.name
        message = (
            f"{op_text(step.dyn)} {does} {name}, which {first} may still "
            f"{'touch' if access.write else 'write'}: no griddepcontrol.wait comes before it"
        )
        faults.setdefault(
            (step.dyn.op.id, name, access.write),
            Fault(
                rule=Rule.PDL_ORDER,
                message=message,
                step=step,
                name=name,
                missing="griddepcontrol.wait before the access, and a barrier if another thread "
                "executes it",
                repair="add k.griddepcontrol.wait() before the first access to what "
                f"{first} touches",
            ),
        )


def _early(schedule: Schedule, block: Block, tensors: frozenset[str]) -> dict[Where, Step]:
    """What one CTA, or its cluster, touches before a wait."""
    program = streams.Program(schedule)
    warps = list(product(schedule.cluster_of(block), range(schedule.warps)))
    execution = Execution(
        schedule,
        [program.place(b, w) for b, w in warps],
        [program.stream(b, w) for b, w in warps],
        Eager(),
        meets=True,
        shared_with_primary=tensors,
    )
    execution.run()
    assert execution.early is not None
    return execution.early.steps


def _events(schedule: Schedule) -> Iterator[tuple[Block, int, Event]]:
    """What each warp of each CTA executes."""
    program = streams.Program(schedule)
    for z, y, x in product(*(range(n) for n in reversed(schedule.grid))):
        for warp in range(schedule.warps):
            yield from (((x, y, z), warp, event) for event in program.stream((x, y, z), warp))


def _footprint(schedule: Schedule, tensors: Mapping[str, GlobalTensor]) -> _Footprint:
    found = _Footprint()
    for number, (_, _, (dyn, _)) in enumerate(_events(schedule)):
        if number >= EVENT_LIMIT:
            found.too_long = True
            break
        for access in dyn.accesses:
            region = access.region
            if not isinstance(region, GlobalBox) or region.tensor not in tensors:
                continue
            for row, bits in rows(access, tensors[region.tensor].shape):
                found.touched[row] = found.touched.get(row, 0) | bits
                if access.write:
                    found.written[row] = found.written.get(row, 0) | bits
    return found
