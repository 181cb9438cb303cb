"""Where the lanes of a warp may part: inside one election, each part on its own.

An election begins with elect.sync, at which all lanes of the warp meet, and compilers let them meet
again at its end. So a lane that waits inside an election holds the lanes that are through with it;
no memory order comes from that.
"""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.check.model import Agent, Warp
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Specialize, Stmt, When
from asyncsim.stream.program import Event

Election = tuple[int, tuple[int, ...]]
"""The id of its first op, and the indices of the loops around it."""


class Elections:
    """The elections of a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._found: dict[
            int, tuple[int, int]
        ] = {}  # op id: first op of its election, loops around
        for elect, depth in _elections(schedule.body, 0):
            ids = [op.id for op in statements((elect,)) if isinstance(op, OpBase)]
            self._found.update((id, (ids[0], depth)) for id in ids)

    def of(self, event: Event | None) -> Election | None:
        """The election that an op is executed in; None outside."""
        if event is None:
            return None
        found = self._found.get(event[0].op.id)
        return None if found is None else (found[0], event[1][: found[1]])


class Meetings:
    """Lanes that are past an election, or an op, that others of their warp are at: they are held.

    ``elections`` None: nobody is held.
    """

    def __init__(self, elections: Elections | None) -> None:
        self._elections = elections
        self.held: list[Agent] = []

    def holds(self, agent: Agent, twin: Agent) -> bool:
        """Whether an agent must wait for the other lanes of its warp; then it is kept."""
        if self._elections is None or twin.done or twin.pos >= agent.pos:
            return False
        inside = self._elections.of(agent.current)
        if inside is not None and inside == self._elections.of(agent.warp.event(twin.pos)):
            return False
        self.held.append(agent)
        return True

    def freed(self, warp: Warp) -> list[Agent]:
        """Lanes of the warp have gone on: those that were held may look again."""
        freed = [a for a in self.held if a.warp is warp]
        self.held = [a for a in self.held if a.warp is not warp]
        return freed

    def end(self) -> list[Agent]:
        """From here on nobody is held; those who were."""
        freed, self.held, self._elections = self.held, [], None
        return freed


def _elections(body: tuple[Stmt, ...], depth: int) -> Iterator[tuple[Elect, int]]:
    """Every election, and how many loops are around it."""
    for s in body:
        match s:
            case Elect():
                yield s, depth
            case For(body=inner):
                yield from _elections(inner, depth + 1)
            case When(body=inner, orelse=other):
                yield from _elections(inner + other, depth)
            case Specialize(roles=roles):
                for role in roles:
                    yield from _elections(role.body, depth)
            case _:
                pass
