"""Warps that do the same: two of them stand for all.

Warps of a role whose streams are the same, op for op, may be exchanged in the graph of an execution
if what one of them counts in, and sees, all of them do. Then whatever is asked of one of them, or
of two, has the answer that it has for the first, or for the first two: only these are executed. The
arrivals of the others are counted with those of the first, as if they came right after it; so the
barriers of the execution are exact, and it is one of the whole CTA (docs/soundness.md, lemma 10).

That is an argument for what has no finding: if anything is entered, all warps are executed
(cta.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from asyncsim.check.model import Warp
from asyncsim.check.report import Unproven
from asyncsim.check.tensor import of_warpgroup
from asyncsim.ir import op as ops
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.stream.operands import operand_exprs
from asyncsim.stream.period import Periods
from asyncsim.stream.program import Program
from asyncsim.stream.tables import same_in_all_warps

LEAST = 4  # warps that do the same: of fewer, too few are left out

_TOGETHER = (
    *(ops.MbarrierArrive, ops.MbarrierWait, ops.BarSync, ops.BarArrive, ops.BarWarpSync),
    *(ops.FenceMbarrierInit, ops.FenceProxyAsync, ops.LdShared, ops.StShared, ops.Compute),
    *(ops.LdGlobal, ops.StGlobal, ops.LdMatrix, ops.StMatrix, ops.MmaSync),
)
"""What they may execute: of these, counts at barriers are all that adds up."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """Warps that do the same: ``first`` stands for the ``others`` too, ``second`` for itself."""

    first: int
    second: int
    others: tuple[int, ...]

    def enter(self, warps: Iterable[Warp]) -> None:
        """Tell the two."""
        kin = Kin()
        for warp in warps:
            if warp.place.warp in (self.first, self.second):
                warp.kin = kin
            if warp.place.warp == self.first:
                warp.stands_for += len(self.others)


class Kin:
    """Two warps that stand for all. ``ahead``: what one of them has counted in, or seen, by the op
    and its observer, until the other has executed the op."""

    __slots__ = ("ahead",)

    def __init__(self) -> None:
        self.ahead: dict[tuple[int, int], int] = {}

    def met(self, pos: int, who: int, phase: int) -> None:
        """An op meets a phase of a barrier, as a clock. Raises Unproven if the other warp's op has
        met another one."""
        known = self.ahead.pop((pos, who), None)
        if known is None:
            self.ahead[pos, who] = phase
        elif known != phase:
            raise Unproven


def crowds(program: Program, periods: Periods) -> list[Crowd]:
    """The warps of a CTA that do the same, of a schedule whose rounds may be passed over."""
    schedule = program.schedule
    if schedule.cluster_ctas > 1:
        return []  # arrivals of several CTAs are counted one by one
    if any(isinstance(op, ops.SetMaxNReg) or of_warpgroup(op) for op in schedule.ops()):
        return []  # warps of certain indices are a warpgroup
    alike: dict[object, list[int]] = {}
    for w in range(schedule.warps):
        place = program.place((0, 0, 0), w)
        if place.warp and place.warp_in_role:  # the first one executes more
            alike.setdefault(periods.kind(place), []).append(w)
    return [
        Crowd(warps[0], warps[1], tuple(warps[2:]))
        for warps in alike.values()
        if len(warps) >= LEAST and _together(schedule, program.place((0, 0, 0), warps[0]).role)
    ]


def _together(schedule: Schedule, role: str) -> bool:
    """Whether the warps of a role that are not its first only do what may be done for others."""
    for op in _executed(schedule.body, role):
        if not isinstance(op, _TOGETHER):
            return False
        if isinstance(op, ops.MbarrierArrive) and (op.drop or op.no_complete):
            return False
        by_thread = not same_in_all_warps(operand_exprs(op))
        if by_thread and not isinstance(op, ops.LdGlobal | ops.StGlobal):
            return False
    return True


def _executed(body: tuple[Stmt, ...], role: str) -> Iterator[OpBase]:
    """The ops of a warp of a role that is the first neither of it nor of the block."""
    for s in body:
        match s:
            case For(body=inner):
                yield from _executed(inner, role)
            case When(body=inner, orelse=other):
                yield from _executed(inner + other, role)
            case Elect(body=inner, of_role=of_role, others=others):
                yield from _executed(others if of_role else inner + others, role)
            case Specialize(roles=roles):
                for r in roles:
                    yield from _executed(r.body if r.name == role else (), role)
            case Set():
                pass
            case _:
                yield s
