"""simulate: run a schedule on a machine and say how long it takes and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from asyncsim.ir import op as ops
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stamped import StampCost
from asyncsim.ir.unheard import refuse_unheard
from asyncsim.machine import Machine
from asyncsim.predict.result import Prediction
from asyncsim.sim.begin import AT_ONCE, Begin
from asyncsim.sim.engine import Clock, ReversedTies, SimPyClock
from asyncsim.sim.machine_state import Model, SmState
from asyncsim.sim.path import LAUNCH, after
from asyncsim.sim.period import Periods, reference
from asyncsim.sim.placement import SAMPLE, Placement, place
from asyncsim.sim.plan import Plan, plan
from asyncsim.sim.report import prediction
from asyncsim.sim.tracing import Recorder


class Deadlock(Exception):
    """The run stopped with live roles: its time means nothing. ``blocked`` says who waits where."""

    def __init__(self, blocked: tuple[str, ...]) -> None:
        self.blocked = blocked
        super().__init__("roles wait for each other for ever: " + "; ".join(blocked[:8]))


REPEATED_EVENTS = 5_000  # a run of at most so many events is repeated to see what ties decide

First = tuple[SmState, int, int]
"""An SM, a slot of it, and the CTA that starts there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run: ``certified`` licenses running ahead; ``sample``: SMs to simulate; ``merge``:
    simulate warps that are alike as one; ``clock``: makes the engine; ``order``: of insertion;
    ``begin``: when the kernel does; ``stamps``: what noting the clock takes, in a stamped build."""

    certified: bool
    exact: bool = False
    warm: bool = False
    keep_trace: bool = False
    clock_mhz: float | None = None
    sample: int = SAMPLE
    merge: bool = True
    clock: Callable[[], Clock] = SimPyClock
    begin: Begin = AT_ONCE
    jump: bool = True
    stamps: StampCost | None = None
    order: Callable[[list[First]], list[First]] = list


def simulate(
    schedule: Schedule | Program,
    machine: Machine,
    *,
    certified: bool,
    exact: bool = False,
    l2: str = "cold",
    keep_trace: bool = False,
    clock_mhz: float | None = None,
    ties: bool = True,
    stamps: StampCost | None = None,
) -> Prediction:
    """Predict the run of a schedule, or of both kernels of a program.

    certified: the checker's licence to run ahead in local time; without it effects happen in strict
    time order. exact: every SM instead of a sample. l2: "cold" or "warm" start. clock_mhz: SM
    clock; by default the machine's boost clock, or its tensor clock if the schedule uses it.
    ties: run a short launch again to see how much the order of ties decides. stamps: of the
    build that notes the clock after its ops.
    Raises Deadlock when roles never end, SyncFault when the hardware's behaviour is undefined.
    """
    kernels = schedule.kernels if isinstance(schedule, Program) else (schedule,)
    for kernel in kernels:
        refuse_unheard(kernel, "simulate")
    if l2 not in ("cold", "warm"):
        raise ValueError(f"l2 = {l2!r}; use 'cold' or 'warm'")
    options = Options(
        certified=certified,
        exact=exact,
        warm=l2 == "warm",
        keep_trace=keep_trace,
        clock_mhz=clock_mhz,
        stamps=stamps,
    )
    if isinstance(schedule, Program):
        from asyncsim.sim.programs import simulate_program

        return simulate_program(schedule, machine, options)
    model = run(schedule, machine, options)
    spread = _spread(model, options) if ties else 0.0
    return replace(prediction(model), spread_pct=spread)


def _spread(model: Model, options: Options) -> float:
    """Half the difference, in percent, when ties go the other way; 0 for long runs."""
    clock = model.clock
    if not isinstance(clock, SimPyClock) or clock.posted > REPEATED_EVENTS or not model.end:
        return 0.0
    other = replace(options, clock=ReversedTies, keep_trace=False)
    end = run(model.schedule, model.numbers.machine, other, model.plan).end
    return 50 * abs(end - model.end) / model.end


def run(
    schedule: Schedule, machine: Machine, options: Options, planned: Plan | None = None
) -> Model:
    """Run the model to its end; ``planned``: by an earlier run of the same launch. Raises Deadlock
    and SyncFault."""
    if planned is None:
        placement = place(schedule, machine, exact=options.exact, sample=options.sample)
        planned = plan(
            schedule,
            machine,
            placement,
            warm=options.warm,
            merge=options.merge,
            stamps=options.stamps,
        )
    tensor = any(isinstance(op, ops.WgmmaMmaAsync | ops.Tcgen05Mma) for op in schedule.ops())
    given = options.clock_mhz
    usual = machine.clock.tensor_burst_mhz if tensor else machine.clock.boost_mhz
    model = Model(
        planned,
        options.clock(),
        strict=not options.certified,
        clock_mhz=usual if given is None else Fraction(given),
        begin=options.begin,
    )
    if tensor and given is None:
        model.numbers.note("clock.tensor_burst")
    _start(model, planned.placement, options)
    _run(model, options)
    if model.open or model.unplaced:
        raise Deadlock(blocked(model))
    return model


def _run(model: Model, options: Options) -> None:
    """To the end; every SM is simulated without jumps."""
    clock, key = model.clock, None
    if options.jump and not options.exact and options.begin is AT_ONCE:
        key = reference(model)
    if key is None or type(clock) is not SimPyClock:
        clock.run()
    else:
        clock.run_watched(key, Periods(model, clock).look)


def _start(model: Model, placement: Placement, options: Options) -> None:
    """Place the first CTAs; the rest of the launch waits for a slot."""
    keys = 1 + placement.ctas_per_sm * len(model.classes)
    pairs = zip(model.classes, model.in_warpgroup, strict=True)
    groups = {(c.role, c.first // 4) for c, grouped in pairs if grouped}
    left = set(placement.queue)
    first: list[First] = []
    for i, place_ in enumerate(placement.sms):
        sm = SmState(model, place_.index, i * keys)
        sm.warpgroups = max(1, len(groups) * placement.ctas_per_sm)
        own = [n for n in placement.queue if n % placement.active_sms == sm.index]
        mine = own[: placement.ctas_per_sm]
        left.difference_update(mine)
        first += [(sm, slot, number) for slot, number in enumerate(mine)]
        model.sms.append(sm)
    model.unplaced.extend(sorted(left))
    if options.keep_trace:
        model.sms[0].rec = Recorder(model)
    for sm, slot, number in options.order(first):
        model.clock.post(model.launcher.first(number), sm.key, _first_cta, (sm, slot, number))


def _first_cta(args: First) -> None:
    sm, slot, number = args
    start = sm.model.launcher.first(number)
    sm.launch(number, slot, start, after(sm.model.begin.cause, start, LAUNCH))


def blocked(model: Model) -> tuple[str, ...]:
    """Who waits where when nothing can go on."""
    lines: list[str] = []
    for cta in model.open.values():
        for a in cta.agents:
            step = a.blocked
            if a.done or step is None:
                continue
            at = f" ({step.op.loc})" if step.op.loc else ""
            lines.append(f"{a.warps.role} of CTA {cta.number} at {type(step.op).__name__}{at}")
    return tuple(lines)


__all__ = ["Deadlock", "Options", "run", "simulate"]
