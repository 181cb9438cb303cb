"""Arithmetic beside a busy tensor core: accumulators of wgmma and operands of other warps share the
register files. How far is in docs/model-notes.md.

Instructions of half rate and below take longer. Of those that issue every cycle a warp alone issues
every other cycle, and where nothing slower spaces them out the tensor core waits a little; with A
in registers it waits for the others, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.ir.decl import Work
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.machine import TICKS_PER_CYCLE, ticks
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.partitions import SUB_PARTITIONS

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import SmState
    from asyncsim.sim.servers import Pipe

WHOLE = 1 << 12  # a computation is served in parts of this many
LEAST = WHOLE // 8
PIECE = 256 * TICKS_PER_CYCLE  # of a computation, for which a warp has the pipes of others


@dataclass(frozen=True, slots=True)
class Beside:
    """Ticks of a computation while wgmma run: of a warp alone, of each pipe of its sub-partition,
    and what the tensor core loses to a warp, by whether A is in registers."""

    own: int
    pipes: tuple[int, ...]
    lost_ss: int
    lost_rs: int

    def part(self, until: int, now: int, left: int) -> int:
        """How much of ``left`` runs before the tensor core is through with what it has."""
        window = (until - now) * WHOLE // max(1, self.own)
        return min(left, max(LEAST, window))

    def delay(self, sm: SmState, now: int, part: int, counts: Sequence[int]) -> None:
        """The tensor core is later by what it loses to this part of the computation."""
        lost = self.lost_rs if sm.operands_in_registers else self.lost_ss
        if lost:
            sm.late.lose(sm.tensor, now, [lost * warps * part // WHOLE for warps in counts])


class Late:
    """Until when the tensor core of each sub-partition is busy: computations hold up that of their
    own, and an instruction for all four waits for the last. They are level when one is served.
    ``count``: of those that are told apart."""

    __slots__ = ("_free", "_until")

    def __init__(self, count: int = SUB_PARTITIONS) -> None:
        self._until = [0] * count
        self._free = 0  # of the tensor core as a whole, when that was so

    def until(self, tensor: Pipe) -> list[int]:
        """By sub-partition."""
        return self._until if tensor.free == self._free else [tensor.free] * len(self._until)

    def lose(self, tensor: Pipe, now: int, lost: Sequence[int]) -> None:
        """Each sub-partition loses so many ticks from ``now`` on."""
        pairs = zip(self.until(tensor), lost, strict=True)
        self._until = [max(until, now) + ticks if ticks else until for until, ticks in pairs]
        tensor.hold(max(self._until))
        self._free = tensor.free


def beside(
    numbers: Numbers, phases: Sequence[Work], alone: Sequence[int], most: int, spacing: int
) -> Beside:
    """Of a computation in phases, whose cost alone is known; ``most`` warps of a sub-partition.

    spacing: ticks of slower instructions next to it, among which its FFMA may lie.
    """
    own, dense, lost_rs = 0, 0, 0
    pipes: tuple[int, ...] = (0,) * 5
    lost, lost_alu = numbers.exact("wgmma.beside_lost_ffma"), numbers.ticks("wgmma.beside_lost_alu")
    for work, cost in zip(phases, alone, strict=True):
        each = _pipes(numbers, work)
        pipes = tuple(map(sum, zip(pipes, each, strict=True)))
        own += max(cost, _chain(numbers, work), *(most * p for p in each))
        dense += max(0, each[0] - slower(numbers, work))
        lost_rs += (work.alu + work.cvt) * lost_alu
    lost_ss = int(max(0, dense - spacing) * lost)
    return Beside(own, pipes, lost_ss, lost_ss + lost_rs)


def _pipes(n: Numbers, work: Work) -> tuple[int, ...]:
    """Ticks of a warp by pipe: FFMA, ALU, special functions, shuffles, and all that is issued."""
    ffma = ticks(work.ffma * n.exact("alu.ffma")) if work.ffma else 0
    alu = (work.alu + work.cvt) * n.ticks("wgmma.beside_alu")
    mufu = work.mufu * n.ticks("wgmma.beside_mufu")
    shuffle = work.shuffle * n.ticks("wgmma.beside_shuffle")
    others = work.alu + work.cvt + work.mufu + work.shuffle
    return ffma, alu, mufu, shuffle, ffma + others * TICKS_PER_CYCLE


def _chain(n: Numbers, work: Work) -> int:
    """Ticks of a warp alone: its dependent chain, its special functions, or its FFMA."""
    chain = work.chain_ffma * n.exact("alu.ffma_latency")
    chain += work.chain_alu * n.exact("wgmma.beside_alu_latency")
    mufu = work.mufu * n.exact("wgmma.beside_mufu_warp")
    ffma = work.ffma * n.exact("wgmma.beside_ffma_warp")
    return ticks(max(chain, mufu, ffma))


def slower(numbers: Numbers, work: Work) -> int:
    """Ticks for which the slowest of a computation's slower pipes is busy."""
    return max(_pipes(numbers, work)[1:4])


def runs(schedule: Schedule) -> dict[int, tuple[ops.Compute, ...]]:
    """Of each computation, by op id, those that lie next to it with no other op between: compilers
    mix their instructions."""
    found: dict[int, tuple[ops.Compute, ...]] = {}
    run: list[ops.Compute] = []
    for s in (*statements(schedule.body), None):
        if isinstance(s, ops.Compute):
            run.append(s)
            continue
        for op in run:
            found[op.id] = tuple(o for o in run if o is not op)
        run = []
    return found
