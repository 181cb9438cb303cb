"""predict: the verdict of check and the result of simulate, together.

Imports both lazily: the result types must not pull them in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from asyncsim.errors import ScheduleError, UsageError
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule, refuse_unfinished
from asyncsim.predict.assumed import assumed_share
from asyncsim.predict.power import MAX_WATTS, OPERANDS, sustained
from asyncsim.predict.result import CheckResult, Prediction, Verdict

if TYPE_CHECKING:
    from asyncsim.machine import Machine


def predict(
    schedule: Schedule | Program,
    machine: Machine | Path | str = "h200",
    *,
    exact: bool = False,
    l2: str = "cold",
    keep_trace: bool = False,
    ties: bool = True,
    operands: str = "random",
    power_limit_w: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[CheckResult, Prediction | None]:
    """Check a schedule, or two that overlap, then simulate: the verdict, and the prediction if the
    run ends.

    A schedule with findings is still predicted when its run ends; a deadlock has no total, so its
    prediction is None, and so is that of one with more rounds of loops than are followed.
    ``ties``: run a short launch again to see how much the order of ties decides; a sweep can do
    without. ``operands`` ("random" or "zeros") and ``power_limit_w`` (the machine's) are those of
    the sustained run. ``progress`` is told what begins. Raises UsageError when the schedule is not
    written for the machine, and ScheduleError for faults that only resolving the op streams shows,
    and for a clean schedule that simulate cannot follow.
    """
    from asyncsim.check import check
    from asyncsim.machine import load_machine
    from asyncsim.sim import Deadlock, simulate
    from asyncsim.stream import StreamLimit
    from asyncsim.sync import SyncFault

    if operands not in OPERANDS:
        raise UsageError(f"operands = {operands!r}; use {' or '.join(map(repr, OPERANDS))}")
    if power_limit_w is not None and not 0 < power_limit_w <= MAX_WATTS:
        raise UsageError(f"power_limit_w = {power_limit_w:g}; give the watts of a board, as 700")
    kernels = schedule.kernels if isinstance(schedule, Program) else (schedule,)
    for kernel in kernels:
        refuse_unfinished("predict", kernel)
    gpu = load_machine(machine) if isinstance(machine, str | Path) else machine
    for kernel in kernels:
        if gpu.architecture not in kernel.archs:
            raise UsageError(
                f"{kernel.name} is written for {', '.join(kernel.archs)}, machine {gpu.name} is "
                f"{gpu.architecture}; choose a machine of one of these architectures"
            )
    say = progress or (lambda now: None)
    say(f"checking {schedule.name}")
    result = check(schedule)
    say(f"simulating {schedule.name}")

    def run(
        gpu: Machine,
        *,
        keep_trace: bool = False,
        ties: bool = False,
        clock_mhz: float | None = None,
    ) -> Prediction:
        return simulate(
            schedule,
            gpu,
            certified=result.certified,
            exact=exact,
            l2=l2,
            keep_trace=keep_trace,
            ties=ties,
            clock_mhz=clock_mhz,
        )

    try:  # when a finding shows is in the trace
        prediction = run(gpu, keep_trace=keep_trace or bool(result.findings), ties=ties)
    except Deadlock as stopped:
        if result.verdict is Verdict.CLEAN:
            raise ScheduleError(
                "simulate runs the two parts of an election one after the other, and the first "
                f"waits: {stopped.blocked[0]}",
                fix="let it wait behind the election for what the other part does",
            ) from None
        return result, None
    except (SyncFault, StreamLimit):
        return result, None
    if result.certified:  # another timing ends, too
        share = assumed_share(prediction, gpu, lambda slow: run(slow).cycles)
        prediction = replace(prediction, assumed_share=share)
    settled = sustained(
        prediction,
        gpu,
        operands=operands,
        limit_w=power_limit_w,
        cycles_at=lambda mhz: run(gpu, clock_mhz=mhz),
    )
    return result, replace(prediction, sustained=settled)
