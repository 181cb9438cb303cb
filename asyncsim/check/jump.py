"""The jump: rounds of a loop that only repeat what has been executed are passed over.

When the state recurs (recurrence.py) and the streams go on as before (stream/period.py), so does
the execution: the same ops in the same order, the same comparisons with the same outcomes, and no
finding that is not entered already. The streams are moved on, and the data in memory with them; all
other numbers stay: what follows is executed as if the loop had fewer rounds.

That is an argument for what has no finding. An execution that enters one after a jump is discarded,
and made again in full (cta.py).
"""

from __future__ import annotations

from dataclasses import replace

from asyncsim.check.execution import Execution
from asyncsim.check.grid import may_lie_outside
from asyncsim.check.model import Agent, Step, Warp, Who
from asyncsim.check.recurrence import Recurrence, Vector, recurrence
from asyncsim.check.report import End, Unproven
from asyncsim.check.snapshot import Snapshot, undivided
from asyncsim.errors import ScheduleError
from asyncsim.ir.op import Scope
from asyncsim.stream.dyn import Access, BarrierKey, Tag
from asyncsim.stream.growth import Stretch
from asyncsim.stream.linear import NotLinear
from asyncsim.stream.period import Period, Periods, own_views
from asyncsim.stream.program import Event

BLOCK = 64  # turns that are watched, before as many and more are not
ONCE = 16  # turns after which a barrier in its second phase is taken to be used no more
AFTER = 8  # turns after a jump that are left alone: mostly the loop ends
ALIKE = 12  # snapshots kept that look alike at a glance


class Jumper:
    """Watches an execution. ``leader``: the agent at whose rounds the state is looked at;
    ``outermost``: jumps are made in outermost loops alone.

    ``jumps``: how many were made; ``entered``: what was entered in the report before the first. Of
    the last one: ``stretches`` of the warps and ``moves`` of the data in a whole period. ``held``:
    ops whose global accesses are looked at.
    """

    def __init__(self, execution: Execution, periods: Periods, *, outermost: bool = False) -> None:
        self._x, self.periods, self._outermost = execution, periods, outermost
        self.leader: Agent | None = None
        self.jumps = self.entered = 0
        self.stretches: dict[int, Stretch] = {}
        self.moves: dict[str, Vector] = {}
        self.rounds: set[int] = set()
        self._indices: tuple[int, ...] = ()
        self._turns = self._failures = self._wait = self._depth = 0
        self._passed = [0] * len(execution.warps)
        self._seen: dict[object, list[Snapshot]] = {}
        self.held = {
            op.id
            for op in execution.schedule.ops()
            for view in own_views(op)
            if view.tensor in execution.steps.copies.written or not may_lie_outside(op)
        }

    def fetched(self, agent: Agent, event: Event | None) -> None:
        """The leader has its next event: a jump may take its place."""
        turn = () if event is None else event[1][: 1 if self._outermost else None]
        if event is None or turn == self._indices:
            self.leader = agent if turn else None
            return
        self.leader, self._indices = agent, turn
        self._turns += 1
        block = self._turns // BLOCK
        report = self._x.report
        if block & (block - 1) or report.breaches or report.parted or not undivided(self._x):
            return
        further_out = len(turn) < self._depth  # its loop has ended: what is around it may repeat
        if (self._turns >= self._wait or further_out) and self._settled():
            self._look(self._glance(event))

    def proven(self) -> bool:
        """At the end: whether it came, and nothing has been entered since the first jump."""
        report = self._x.report
        return not self.jumps or (report.end is End.FINISHED and self.entered == report.changes)

    def _settled(self) -> bool:
        """Whether the first phases are over: what is known of them has yet to get around."""
        return self._turns > ONCE or all(
            b.state.generation != 1 for b in self._x.barriers.by_key.values()
        )

    def _glance(self, event: Event) -> object:
        """What two states that recur have in common, at no cost."""
        x = self._x
        agents = tuple((a.blocked, a.current and a.current[0].op.id) for a in x.agents)
        barriers = tuple((b.state.pending, b.state.tx) for b in x.barriers.by_key.values())
        return event[0].op.id, len(event[1]), event[0].barrier, agents, barriers

    def _look(self, glance: object) -> None:
        seen = self._seen.setdefault(glance, [])
        new = Snapshot(self._x, self._passed)
        for old in reversed(seen):
            found = recurrence(old, new, self._x.layout)
            if found is None or not found.apart(self._x.layout, set(), range(0)):
                continue  # what stays will be left behind in a few turns
            if self._jump(old, found):
                self._turns, self._failures, self._wait = 0, 0, AFTER
                self._depth = len(self._indices)
            else:
                self._failures += 1
                self._wait = self._turns + (1 << self._failures)
            break
        seen.append(new)
        del seen[:-ALIKE]

    # -- the argument ----------------------------------------------------------------------------

    def _jump(self, old: Snapshot, found: Recurrence) -> bool:
        try:
            windows = self._windows(old, found)
        except NotLinear:
            return False
        if self._outermost and not all(p.outer for p in windows.values()):
            return False
        more = min((p.more for p in windows.values()), default=0)
        if more < 1 or not self._holds(found, windows):
            return False
        if not self.jumps:
            self.entered = self._x.report.changes
        self.jumps += 1
        halves = _halves(found)
        data = {t: v for p in windows.values() for t, v in p.moves.items()} | found.moves
        moves = {t: tuple(halves * d for d in v) for t, v in data.items()}
        self.stretches = {
            w.index: Stretch(
                old.events[w.index],
                halves * found.events[w.index],
                old.events[w.index] + (1 + more) * found.events[w.index],
            )
            for w in self._x.warps
        }
        self.moves = moves
        self.rounds = {p.rounds for p in windows.values()}
        if all(p.outer for p in windows.values()):
            self._seen.clear()  # no loop is around it: what was before cannot recur
        for index, period in windows.items():
            self._pass(self._x.warps[index], period, more)
        self._move(found, more)
        return True

    def _windows(self, old: Snapshot, found: Recurrence) -> dict[int, Period]:
        """What each warp executes in a window. Raises NotLinear."""
        halves = _halves(found)
        windows: dict[int, Period] = {}
        for warp in self._x.warps:
            events = found.events[warp.index]
            if events:
                begin = old.events[warp.index]
                windows[warp.index] = self.periods.window(warp.place, begin, events, halves)
        return windows

    def _holds(self, found: Recurrence, windows: dict[int, Period]) -> bool:
        """Whether the streams move as the state does."""
        still = {t: v for t, v in found.moves.items() if any(v)}
        moves: dict[str, Vector] = {}
        phases = dict(zip(self._x.barriers.by_key, found.phases, strict=True))
        for index, period in windows.items():
            rank = self._x.warps[index].place.rank
            for tensor, by in period.moves.items():
                if moves.setdefault(tensor, by) != by or found.moves.get(tensor, by) != by:
                    return False
            for (name, stage), flips in period.flips.items():
                if phases[BarrierKey(rank, name, stage)] % 2 != flips:
                    return False
        if still.keys() - moves.keys():
            return False
        used = {
            2 * w + other
            for w, period in windows.items()
            for other in (0, 1)
            if not other or period.scopes != {Scope.ELECTED}
        }
        named = [b.comp for b in self._x.named.by_id.values()]
        close = range(min(named), max(named) + 1) if named else range(0)
        return found.apart(self._x.layout, used, close)

    # -- the jump --------------------------------------------------------------------------------

    def _pass(self, warp: Warp, period: Period, windows: int) -> None:
        """The warp's stream goes on ``windows`` windows later."""
        x, events = self._x, period.length * windows
        agent = next(a for a in x.agents if a.warp is warp)
        last = events - period.length
        try:
            for i, event in enumerate(warp.pass_over(agent.pos, events)):
                if event[0].op.id not in self.held:
                    continue
                for dyn in (event[0], *event[0].also):
                    step = Step(warp, Who.BOTH, agent.pos, (dyn, event[1]))
                    x.steps.copies.pass_over(step, bounds=i >= last)  # inside at both ends: inside
            if agent.current is not None:
                before, agent.current = agent.current, warp.event(agent.pos)
                if agent.current is None or agent.current[0].op is not before[0].op:
                    raise Unproven
        except ScheduleError:
            raise Unproven from None
        self._passed[warp.index] += events
        x.report.steps += events * warp.stands_for
        x.report.passed += events * warp.stands_for

    def _move(self, found: Recurrence, windows: int) -> None:
        """Phases by their parity, and the data in memory."""
        barriers = self._x.barriers.by_key.values()
        for b, phases in zip(barriers, found.phases, strict=True):
            b.state.skipped += windows * phases
            b.history.clear()  # no plus edges across a jump
        moves = {t: tuple(windows * d for d in v) for t, v in found.moves.items() if any(v)}
        moved: dict[int, Access] = {}
        for cell in self._x.shared.cells():
            for touch in (*cell.writes, *cell.flying):
                access = touch.access
                if id(access) not in moved:
                    moved[id(access)] = _moved(access, moves)
                touch.access = moved[id(access)]


def _halves(found: Recurrence) -> int:
    """2 where parities come back only after two windows."""
    return 2 if any(n & 1 for n in found.phases) else 1


def _moved(access: Access, moves: dict[str, Vector]) -> Access:
    """An access that brings, or means, the data further on."""

    def further(tag: Tag) -> Tag:
        by = moves.get(tag[0])
        return tag if by is None else (tag[0], tuple(map(sum, zip(tag[1], by, strict=True))))

    tag = None if access.tag is None else further(access.tag)
    return replace(access, tag=tag, parts=tuple((r, further(t)) for r, t in access.parts))
