"""wgmma of the reference execution: the groups of a warpgroup, and the registers of its warps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.model import Agent, Flight, Step
from asyncsim.check.report import Fault
from asyncsim.check.shared import SharedMemory
from asyncsim.ir import op as ops
from asyncsim.memory.region import RegisterRegion
from asyncsim.rules import Rule


class Group:
    """A committed group: what its four warps did before committing, and how many have."""

    __slots__ = ("clock", "commits", "flights", "waited")

    def __init__(self, flights: list[Flight]) -> None:
        self.clock = 0
        self.commits: dict[int, int] = {}  # warp: position of its commit
        self.flights = flights
        self.waited = 0
        for flight in flights:
            flight.commits = self.commits


class Warpgroup:
    """Four warps that execute the same wgmma instructions; the first to reach one records it."""

    __slots__ = ("broken", "comp", "groups", "open", "sequence", "waiters", "warps")

    def __init__(self, comp: int, warps: int) -> None:
        self.comp = comp
        self.warps = warps
        self.broken = False  # its warps have parted
        self.sequence: dict[int, tuple[int, int]] = {}  # index: op id, warps still to come
        self.open: list[Flight] = []
        self.groups: dict[int, Group] = {}  # those that some warp has not waited for
        self.waiters: list[Agent] = []


class WarpRegisters:
    """One warp's view of wgmma: its position in the sequence, its groups, its registers."""

    __slots__ = ("commits", "fence", "pending", "position", "retired", "touched", "used", "waits")

    def __init__(self) -> None:
        self.position = 0
        self.commits = self.retired = 0
        self.fence = -1  # stream position of the last wgmma.fence
        self.pending: dict[str, list[tuple[int, int, Step]]] = {}  # fragment: mask, group, wgmma
        self.touched: dict[str, dict[int, Step]] = {}  # masks, since the last wgmma.fence
        self.used: dict[str, tuple[tuple[int, int], Step]] = {}  # shape of the last wgmma
        self.waits: list[Step] = []  # with N > 0, since the group was committed


def of_warpgroup(op: ops.OpBase) -> bool:
    """Whether a warpgroup executes the op as one."""
    wgmma = isinstance(op, ops.WgmmaFence | ops.WgmmaMmaAsync)
    return wgmma or getattr(op, "kind", None) is ops.GroupKind.WGMMA


class TensorCores:
    """The warpgroups of one CTA."""

    def __init__(
        self,
        layout: ClockLayout,
        shared: SharedMemory,
        fault: Callable[[Fault], None],
        wake: Callable[[list[Agent]], None],
    ) -> None:
        self._layout, self._shared, self._fault, self._wake = layout, shared, fault, wake
        self._control_mask = layout.masks[Section.CONTROL]
        self.groups: dict[int, Warpgroup] = {}
        self.registers: dict[int, WarpRegisters] = {}

    def add(self, group: Warpgroup, warps: Iterable[int]) -> None:
        """A warpgroup of these warps."""
        for w in warps:
            self.groups[w], self.registers[w] = group, WarpRegisters()

    def reach(self, group: Warpgroup, step: Step) -> bool:
        """A warp reaches its next collective op; True for the first of the four."""
        mine = self.registers[step.warp.index]
        i, mine.position = mine.position, mine.position + 1
        known = group.sequence.get(i)
        if known is None:
            group.sequence[i] = step.dyn.op.id, group.warps - 1
            return True
        if known[1] == 1:
            del group.sequence[i]
        else:
            group.sequence[i] = known[0], known[1] - 1
        if known[0] != step.dyn.op.id and not group.broken:
            group.broken = True
            message = (
                f"warp {step.warp.index} executes another wgmma instruction than the first warp "
                "of its warpgroup"
            )
            self._fault(Fault(rule=Rule.ROLES_DISAGREE, message=message, step=step))
        return False

    def mma(
        self, step: Step, op: ops.WgmmaMmaAsync, region: RegisterRegion, *, write: bool
    ) -> None:
        """The accumulator (written) or the A registers of a wgmma: fenced, and in flight from here
        on. Several wgmma may read the same A; only an accumulator minds a change of shape."""
        mine = self.registers[step.warp.index]
        shape, name = (op.n, op.k), region.name
        self._fenced(mine, step, region, shape)
        mine.pending.setdefault(name, []).append((region.mask, mine.commits, step))
        if write:
            mine.used[name] = shape, step

    def _fenced(
        self, mine: WarpRegisters, step: Step, used: RegisterRegion, shape: tuple[int, int]
    ) -> None:
        name = used.name
        if mine.fence < 0:
            message, other = "first wgmma without a wgmma.fence before it", None
        elif hit := [t for mask, t in mine.touched.get(name, {}).items() if mask & used.mask]:
            message, other = f"{name} is touched and then used by wgmma without a fence", hit[-1]
        elif (last := mine.used.get(name)) and last[0] != shape and last[1].pos > mine.fence:
            message, other = f"{name} is used by wgmma of two shapes without a fence", last[1]
        else:
            return
        mine.fence = step.pos  # one missing fence is one finding
        mine.touched.clear()
        self._fault(
            Fault(rule=Rule.MISSING_WGMMA_FENCE, message=message, step=step, other=other, name=name)
        )

    def fence(self, step: Step) -> None:
        mine = self.registers[step.warp.index]
        mine.fence = step.pos
        mine.touched.clear()

    def commit(self, group: Warpgroup, step: Step, clock: int) -> None:
        mine = self.registers[step.warp.index]
        j, mine.commits = mine.commits, mine.commits + 1
        if j not in group.groups:
            group.groups[j] = Group(group.open)
            end = (j + 1) << self._layout.shift(Section.MEMORY, group.comp)
            for flight in group.open:
                flight.commit = step
                for touch in flight.touches:
                    self._shared.settle(touch, end)
            group.open = []
        record = group.groups[j]
        record.clock = self._layout.join(record.clock, clock & self._control_mask)
        record.commits[step.warp.index] = step.pos
        if len(record.commits) == group.warps:
            waiters, group.waiters = group.waiters, []
            self._wake(waiters)

    def wait(self, group: Warpgroup, step: Step, n: int, agent: Agent) -> int | None:
        """wgmma.wait_group: the clock it makes known, None while a warp has not issued yet."""
        mine = self.registers[step.warp.index]
        covered = mine.commits - n
        if covered <= mine.retired:
            mine.waits.append(step)
            del mine.waits[:-8]
            return 0
        last = group.groups[covered - 1]
        if len(last.commits) < group.warps:
            group.waiters.append(agent)
            return None
        for j in range(mine.retired, covered):
            for flight in group.groups[j].flights:
                flight.retired = flight.retired or step
            group.groups[j].waited += 1
            if group.groups[j].waited == group.warps:
                del group.groups[j]
        mine.retired = covered
        mine.waits.append(step)
        del mine.waits[:-8]
        for name, uses in list(mine.pending.items()):
            mine.pending[name] = [use for use in uses if use[1] >= covered]
        field = covered << self._layout.shift(Section.CONTROL, group.comp)
        return self._layout.join(last.clock, field | (field << self._layout.width))

    def touch_registers(self, step: Step, region: RegisterRegion) -> None:
        """Another instruction touches registers: no wgmma in flight may use them."""
        mine = self.registers.get(step.warp.index)
        if mine is None:
            return
        touched = mine.touched.setdefault(region.name, {})
        touched.pop(region.mask, None)  # the latest comes last
        touched[region.mask] = step
        for mask, index, use in mine.pending.get(region.name, ()):
            if mask & region.mask:
                self._in_flight(mine, step, region.name, index, use)
                return

    def _in_flight(self, mine: WarpRegisters, step: Step, name: str, index: int, use: Step) -> None:
        if index >= mine.commits:
            rule, message = Rule.FRAGMENT_IN_FLIGHT, f"{name} belongs to a wgmma not yet committed"
            other = use
        elif loose := [w for w in mine.waits if w.pos > use.pos]:
            rule, other = Rule.WAIT_GROUP_TOO_LOOSE, loose[-1]
            message = f"wait_group({other.dyn.value}) leaves the wgmma on {name} pending"
        else:
            rule, other = Rule.FRAGMENT_IN_FLIGHT, use
            message = f"{name} is touched while a wgmma on it is in flight"
        self._fault(Fault(rule=rule, message=message, step=step, other=other, name=name))
