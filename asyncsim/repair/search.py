"""Proves candidates: which single changes make a schedule clean, and what can be left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asyncsim.check import check
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.op import Op
from asyncsim.ir.rewrite import replaced
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate import validate
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.repair.edits import Edit, edits
from asyncsim.rules import Finding, Rule, Severity

if TYPE_CHECKING:
    from asyncsim.machine import Machine

WANTED = 3
MAX_TRIED = 60
MAX_OPS = 3_000_000  # dynamic ops of all candidates together
MAX_STATES = 20_000  # of the search behind a candidate: what is not decided soon is not proposed

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A change that is proven. ``clean``: nothing is left; else the other findings stand.

    ``cycles`` of the changed schedule, and how many more than before (None where the broken one
    has no total).
    """

    edit: Edit
    clean: bool
    cycles: float | None = None
    cost: float | None = None


def repairs(
    schedule: Schedule,
    result: CheckResult,
    finding: Finding,
    machine: Machine | None = None,
    *,
    wanted: int = WANTED,
    max_tried: int = MAX_TRIED,
    progress: Progress = lambda now: None,
) -> list[Repair]:
    """Up to ``wanted`` single changes that repair a finding, the fastest of them first.

    Each is proven by ``check``: the finding is gone and no other has come. Predicted where
    ``machine`` is given. Candidates that are no schedule do not count toward ``max_tried``.
    """
    known = _faults(result)
    tried = dynamic = 0
    found: list[Repair] = []
    before = _cycles(schedule, result, machine)
    for edit in edits(schedule, finding):
        if len(found) >= wanted or tried >= max_tried or dynamic > MAX_OPS:
            break
        progress(f"trying {edit.what}")
        after = _checked(edit.schedule)
        if after is None:
            continue
        tried, dynamic = tried + 1, dynamic + after.stats.get("ops", 0)
        if after.verdict is Verdict.INCOMPLETE:
            continue
        left = _faults(after)
        if finding.rule in {rule for rule, _ in left} or not left < known:
            continue
        cycles = _cycles(edit.schedule, after, machine)
        cost = None if cycles is None or before is None else cycles - before
        clean = after.verdict is Verdict.CLEAN
        found.append(Repair(edit=edit, clean=clean, cycles=cycles, cost=cost))
    return sorted(found, key=lambda r: (not r.clean, r.cycles or 0.0))


def omissions(schedule: Schedule) -> list[Op]:
    """The ops that ``removable`` tries to leave out."""
    return [op for op in schedule.ops() if isinstance(op, _OMITTED)]


def removable(
    schedule: Schedule,
    result: CheckResult,
    machine: Machine | None = None,
    *,
    progress: Progress = lambda now: None,
) -> Iterator[Repair]:
    """The waits, fences and barriers that a clean schedule can lose, one at a time.

    Proven like the schedule itself: at its own trip counts.
    """
    known = _faults(result)
    before = _cycles(schedule, result, machine)
    for op in omissions(schedule):
        progress(f"trying without {type(op).__name__} ({op.loc})")
        without = replaced(schedule, op, None)
        after = _checked(without)
        if after is None or after.verdict is not Verdict.CLEAN or not _faults(after) <= known:
            continue
        cycles = _cycles(without, after, machine)
        cost = None if cycles is None or before is None else cycles - before
        edit = Edit(what=_without(op), loc=op.loc, schedule=without)
        yield Repair(edit=edit, clean=True, cycles=cycles, cost=cost)


_OMITTED = (
    ops.MbarrierWaitOp
    | ops.WaitGroup
    | ops.CommitGroup
    | ops.FenceMbarrierInit
    | ops.FenceProxyAsync
    | ops.BarSync
    | ops.BarWarpSync
    | ops.BarrierClusterArrive
    | ops.WgmmaFence
    | ops.Tcgen05Fence
    | ops.Tcgen05Wait
    | ops.Tcgen05Commit
)


def _without(op: Op) -> str:
    target = f" on {op.mbarrier.name}" if isinstance(op, ops.MbarrierWaitOp) else ""
    return f"without {type(op).__name__}{target}"


def _checked(schedule: Schedule) -> CheckResult | None:
    """The verdict on a rewritten schedule; None where it is none."""
    try:
        validate(schedule)
        return check(schedule, max_states=MAX_STATES)
    except ScheduleError:
        return None


def _faults(result: CheckResult) -> set[tuple[Rule, Severity]]:
    return {(f.rule, f.severity) for f in result.findings}


def _cycles(schedule: Schedule, result: CheckResult, machine: Machine | None) -> float | None:
    """Predicted cycles; None without a machine, and for a run that does not end."""
    if machine is None:
        return None
    from asyncsim.sim import Deadlock, simulate
    from asyncsim.sync import SyncFault

    try:
        return simulate(schedule, machine, certified=result.certified).cycles
    except (Deadlock, SyncFault, ScheduleError):
        return None
