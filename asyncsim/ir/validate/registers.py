"""setmaxnreg: its immediate, and the register count at launch that it and wgmma start from."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule

STEP = 8
LEAST, MOST = 24, 256
MAX_THREAD = 255  # a launch gives a thread at most so many
SM_REGISTERS = 65_536
BESIDE_SUMS = 26  # registers that ptxas 13.0 wants beside the accumulators of a wgmma (C7602)


def _at_launch(s: Schedule) -> Iterator[ScheduleError]:
    uses = next((o for o in s.ops() if isinstance(o, ops.SetMaxNReg)), None)
    most = min(MAX_THREAD, SM_REGISTERS // (s.threads * s.ctas_per_sm)) // STEP * STEP
    if uses is not None and not s.maxnreg:
        yield ScheduleError(
            f"setmaxnreg.{uses.direction.value} {uses.count} has no effect: the launch gives no "
            "register count",
            fix=f"declare it: k.launch_bounds({s.ctas_per_sm}, maxnreg={most}) is the most for "
            f"{s.threads} threads",
            loc=uses.loc,
            rule=Rule.REGISTER_POOL,
        )
    elif s.maxnreg and (s.maxnreg % STEP or not LEAST <= s.maxnreg <= most):
        yield ScheduleError(
            f"maxnreg = {s.maxnreg} for {s.threads} threads and {s.ctas_per_sm} CTAs per SM",
            fix=f"use a multiple of {STEP} from {LEAST} to {most}: an SM has {SM_REGISTERS:,} "
            "registers",
        )


def _immediates(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if isinstance(op, ops.SetMaxNReg) and (op.count % STEP or not LEAST <= op.count <= MOST):
            yield ScheduleError(
                f"setmaxnreg.{op.direction.value} {op.count}",
                fix=f"the count is a multiple of {STEP} from {LEAST} to {MOST}",
                loc=op.loc,
                rule=Rule.REGISTER_POOL,
            )


def _accumulators(s: Schedule) -> Iterator[ScheduleError]:
    """All code is compiled for the registers of the launch, whatever setmaxnreg adds later."""
    for op in s.ops():
        if not (s.maxnreg and isinstance(op, ops.WgmmaMmaAsync)):
            continue
        needs = s.fragment(op.d.name).words + BESIDE_SUMS
        if needs > s.maxnreg:
            yield ScheduleError(
                f"wgmma m64n{op.n} with maxnreg = {s.maxnreg} does not compile",
                fix=f"it takes {needs} registers: give the launch more, or n less",
                loc=op.loc,
            )
            return


CHECKS = (_immediates, _at_launch, _accumulators)
