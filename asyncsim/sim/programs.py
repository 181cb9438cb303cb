"""Two kernels that overlap: the dependent one starts when the first has let it, and waits for it.

The kernels do not share engines or memory bandwidth in the model: what they do at the same time,
the prologue of one and the tail of the other, is short.
"""

from __future__ import annotations

from dataclasses import replace

from asyncsim.ir import op as ops
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import Machine
from asyncsim.predict.result import Prediction, Stall
from asyncsim.sim.begin import Begin
from asyncsim.sim.machine_state import Model
from asyncsim.sim.path import LAUNCH, Cause, after
from asyncsim.sim.placement import fits_beside
from asyncsim.sim.report import prediction, utilisation
from asyncsim.sim.simulate import Options, run


def simulate_program(program: Program, machine: Machine, options: Options) -> Prediction:
    """From the first CTA of the first kernel to the last of the dependent one. Raises as
    ``simulate`` does."""
    first = run(program.primary, machine, replace(options, jump=False))
    second = run(
        program.dependent,
        machine,
        replace(
            options,
            begin=_begin(program, machine, first),
            warm=options.warm or _reads(program.dependent) <= set(program.shared),
        ),
    )
    second.numbers.also(first.numbers)
    result = prediction(second)
    mine = utilisation(first, max(1, second.end))
    engines = {
        name: min(1.0, mine.get(name, 0.0) + result.engines.get(name, 0.0))
        for name in (*result.engines, *(n for n in mine if n not in result.engines))
    }
    stalls = [
        replace(s, role=f"{of.name}, {s.role}")
        for of, found in (
            (program.primary, prediction(first).stalls),
            (program.dependent, result.stalls),
        )
        for s in found
    ]
    return replace(
        result,
        engines=engines,
        l2_read_bytes=first.memory.read_bytes + result.l2_read_bytes,
        stalls=_longest_first(stalls),
        activity=None,
    )


def _longest_first(stalls: list[Stall]) -> tuple[Stall, ...]:
    return tuple(sorted(stalls, key=lambda s: (-s.cycles, s.role, s.op_id)))


def _begin(program: Program, machine: Machine, first: Model) -> Begin:
    """The dependent kernel starts when every CTA has let it, or has ended, and there is room."""
    n, end = first.numbers, first.end_cause
    assert end is not None
    ended: tuple[int, Cause] = (first.end, end)
    lets = [first.triggers.get(cta, ended) for cta in first.placement.queue]
    let, cause = max(lets, key=lambda at: at[0]) if fits_beside(program, machine) else ended
    at = let + n.ticks("launch.dependent")
    passes = first.end + n.ticks("launch.pass")
    return Begin(at, after(cause, at, LAUNCH), (passes, after(end, passes, LAUNCH)))


def _reads(schedule: Schedule) -> set[str]:
    """The tensors that a kernel loads from."""
    loads = (op for op in schedule.ops() if isinstance(op, ops.LoadOp | ops.CpAsync | ops.LdGlobal))
    return {op.src.tensor for op in loads}
