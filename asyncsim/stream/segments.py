"""Stretches of a stream without a loop in them, which are yielded whole.

The values that the ops of a stretch depend on, branches taken among them, are its key: equal keys
yield the same tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from asyncsim.ir.expr import Expr, Var, walk
from asyncsim.ir.stmt import Elect, For, Specialize, Stmt, When

KEPT = 1024  # tuples of a stretch

Key = tuple[int, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """An op: its index, and where the values it depends on are in the key."""

    op: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """What is executed by whether a slot of the key is true."""

    slot: int
    body: tuple[Node, ...]
    orelse: tuple[Node, ...]


Node = Place | Branch


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A stretch; ``ops``: the indices of those in it."""

    nodes: tuple[Node, ...]
    ops: tuple[int, ...]


class Joined(dict[Key, tuple[T, ...]], Generic[T]):
    """What a stretch yields by its key. ``makers``: of all ops of the stream, by index; ``keeps``:
    whether keys recur, so that it is worth keeping."""

    __slots__ = ("_flat", "_keeps", "_makers", "_nodes")

    def __init__(
        self, segment: Segment, makers: dict[int, Callable[[Key], T]], *, keeps: bool
    ) -> None:
        super().__init__()
        self._nodes, self._makers, self._keeps = segment.nodes, makers, keeps
        places = [node for node in segment.nodes if isinstance(node, Place)]
        self._flat = [(makers[node.op], node.slots) for node in places]
        if len(places) < len(segment.nodes):  # there are branches
            self._flat.clear()

    def __missing__(self, key: Key) -> tuple[T, ...]:
        flat = self._flat
        if flat:
            made = tuple([maker(tuple([key[i] for i in slots])) for maker, slots in flat])
        else:
            made = tuple(self._made(self._nodes, key))
        if self._keeps:
            if len(self) >= KEPT:
                self.clear()
            self[key] = made
        return made

    def _made(self, nodes: tuple[Node, ...], key: Key) -> Iterator[T]:
        for node in nodes:
            if isinstance(node, Place):
                yield self._makers[node.op](tuple([key[i] for i in node.slots]))
            else:
                yield from self._made(node.body if key[node.slot] else node.orelse, key)


def is_straight(s: Stmt, role: str) -> bool:
    """Whether there is no loop in it, as ``role`` executes it."""
    match s:
        case For():
            return False
        case When(body=body, orelse=other) | Elect(body=body, others=other):
            return all(is_straight(inner, role) for inner in (*body, *other))
        case Specialize(roles=roles):
            return all(
                is_straight(inner, role) for r in roles if r.name == role for inner in r.body
            )
        case _:
            return True


@dataclass(slots=True)
class Slots:
    """The key of a stretch while its text is written. ``versions``: how often a var has been set;
    ``known``: the slot of an expression, by its text and what its vars are then."""

    count: int = 0
    versions: dict[str, int] = field(default_factory=dict)
    known: dict[object, int] = field(default_factory=dict)

    def find(self, text: str, exprs: Iterable[Expr]) -> tuple[int, bool]:
        """The slot of a value, and whether it is a new one."""
        names = {n.name for e in exprs for n in walk(e) if isinstance(n, Var)}
        key = text, *sorted((n, self.versions.get(n, 0)) for n in names)
        if key in self.known:
            return self.known[key], False
        slot = self.known[key] = self.count
        self.count += 1
        return slot, True

    def set(self, var: str) -> None:
        self.versions[var] = self.versions.get(var, 0) + 1
