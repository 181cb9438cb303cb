"""From a schedule to the lazy op stream of each warp.

The statements a warp runs become the text of a Python generator (loops stay loops), compiled
once per role and run per warp: about as fast as a hand-written stream, and memory does not grow
with the trip count. Expressions that lanes share are evaluated in that text; what differs from
lane to lane is evaluated by the resolver (resolve.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice
from typing import Any, NoReturn, TypeVar

from asyncsim.errors import ScheduleError, SourceLoc
from asyncsim.ir.expr import Arg, Builtin, BuiltinRef, Expr, Var, python_source
from asyncsim.ir.op import OpBase, Scope
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.stream.assignment import Assignment, Given, dealt
from asyncsim.stream.binders import Binder, Joining, Reads
from asyncsim.stream.compiled import module
from asyncsim.stream.dyn import ARITHMETIC, Dyn, arithmetic_fault
from asyncsim.stream.operands import shared_operands
from asyncsim.stream.resolve import Resolver
from asyncsim.stream.segments import Branch, Node, Place, Segment, Slots, is_straight
from asyncsim.stream.tables import SharedTables
from asyncsim.stream.together import Together

Event = tuple[Dyn, tuple[int, ...]]
"""A dynamic op and the values of the loops around it, outermost first."""

MAX_ROUNDS = 1_000_000

T = TypeVar("T")


class StreamLimit(ScheduleError):
    """A stream went on past the stated number of ops or of rounds, or a var past 32 bits."""


class _Rounds:
    """The rounds that the loops of one stream have begun; rounds without an op are no events."""

    __slots__ = ("begun",)

    def __init__(self) -> None:
        self.begun = 0

    def __call__(self, trip_count: int) -> range:
        self.begun += max(trip_count, 0)
        if self.begun > MAX_ROUNDS:
            raise StreamLimit(
                f"a warp executes {self.begun} rounds of loops; at most {MAX_ROUNDS} are followed",
                fix="lower the trip counts",
            )
        return range(trip_count)


def _left(var: Set, value: int) -> NoReturn:
    at = f" at {var.loc}" if isinstance(var.loc, SourceLoc) else ""
    raise StreamLimit(
        f"{var.var}{at} becomes {value:,}, and an integer of the kernel has 32 bits",
        fix="keep it smaller",
    )


_GLOBALS: dict[str, object] = {
    "__builtins__": {},
    "Rounds": _Rounds,
    "left": _left,
    "min": min,
    "max": max,
}


@dataclass(frozen=True, slots=True)
class WarpPlace:
    """A warp of the launch: CTA coordinates, warp of the block, its role and place in it.

    ``rank``: of the CTA in its cluster.
    """

    block: tuple[int, int, int]
    warp: int
    role: str
    warp_in_role: int
    rank: int = 0


class Program:
    """The op streams of a schedule.

    ``stream(block, warp)`` is an iterator of (Dyn, loop indices) in program order. Tiles that are
    handed out while the kernel runs are dealt in turn.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.roles = schedule.roles()
        self._args = dict(schedule.args)
        self._shared = SharedTables()
        self._makers: dict[object, Callable[..., Iterator[Any]]] = {}

    @cached_property
    def assignment(self) -> Assignment:
        """The tiles of each cluster."""
        return dealt(self.schedule)

    def place(self, block: tuple[int, int, int], warp: int) -> WarpPlace:
        rank = self.schedule.rank(block)
        for role in self.roles:
            if role.first_warp <= warp < role.first_warp + role.warps:
                return WarpPlace(block, warp, role.name, warp - role.first_warp, rank)
        return WarpPlace(block, warp, "block", warp, rank)

    def stream(
        self, block: tuple[int, int, int], warp: int, others: Iterable[int] = ()
    ) -> Iterator[Event]:
        """What this warp executes, and with it ``others`` that execute the same (together.py).
        Raises ScheduleError on a division by zero and the like."""
        own, *more = (
            Resolver(self.schedule, w, self._shared, self.schedule.rank(block))
            for w in (warp, *others)
        )
        return self.bound(Together(own, more) if more else own, block, warp)

    def bound(
        self,
        binder: Binder[T],
        block: tuple[int, int, int],
        warp: int,
        given: Given | None = None,
        *,
        reads: Reads = shared_operands,
    ) -> Iterator[tuple[T, tuple[int, ...]]]:
        """The same stream with the operands resolved by another ``binder`` (evaluate has one), and
        the tiles that are handed out ``given`` by another one. ``reads``: what it wants of them."""
        return self._bound(binder, block, warp, given, reads, joins=False)

    def joined(
        self, binder: Joining[T], block: tuple[int, int, int], warp: int, given: Given | None = None
    ) -> Iterator[tuple[T, ...]]:
        """The same without loop indices, and all at once what no loop stands between."""
        return self._bound(binder, block, warp, given, binder.reads, joins=True)

    def _bound(
        self,
        binder: Binder[Any] | Joining[Any],
        block: tuple[int, int, int],
        warp: int,
        given: Given | None,
        reads: Reads,
        *,
        joins: bool,
    ) -> Iterator[Any]:
        place = self.place(block, warp)
        key = place.role, reads, joins
        if key not in self._makers:
            self._makers[key] = self._maker(_Compiler(self.schedule, *key))
        tiles = given or (lambda loop: self.assignment[self.schedule.cluster_number(block)])
        return self._makers[key](binder, *block, place.rank, warp, place.warp_in_role, tiles)

    def _maker(self, compiler: _Compiler) -> Callable[..., Iterator[Any]]:
        source, constants = compiler.compile()
        namespace = dict(_GLOBALS)
        namespace.update({f"a_{n}": v for n, v in self._args.items()})
        namespace["ops"], namespace["sets"] = constants, compiler.sets
        namespace["segments"] = compiler.segments
        exec(module(source, f"<stream of {self.schedule.name}.{compiler.role}>"), namespace)
        return namespace["stream"]  # type: ignore[return-value]


class _Compiler:
    """Writes the generator of one role. ``reads``: the operands of an op that are wanted;
    ``joins``: ops with no loop between them are yielded at once, without indices."""

    def __init__(self, schedule: Schedule, role: str, reads: Reads, joins: bool) -> None:
        self._schedule, self.role = schedule, role
        self._reads, self._joins = reads, joins
        self._lines: list[str] = []
        self.sets: list[Set] = []
        self.segments: list[Segment] = []
        self._ops: list[tuple[OpBase, OpBase]] = []  # as warp 0 executes it, and the other warps
        self._places: list[str] = []  # which warp index each op counts its threads from
        self._loops: list[str] = []
        self._in_role = role == "block"
        self._whole = False  # only warp 0 has an elected lane, and the others run the open block

    def compile(self) -> tuple[str, list[tuple[OpBase, OpBase]]]:
        head = "def stream(resolver, bx, by, bz, rank, warp, warp_in_role, given):"
        self._block(self._schedule.body, 1)
        prelude = [
            f"    r{i} = resolver.bind(ops[{i}][{w} > 0], {w})" for i, w in enumerate(self._places)
        ]
        for j, segment in enumerate(self.segments):
            ops = "".join(f"ops[{i}][0], " for i in segment.ops)
            makers = "".join(f"r{i}, " for i in segment.ops)
            prelude.append(f"    s{j} = resolver.joined(segments[{j}], ({ops}), ({makers}))")
        tail = ["    return", "    yield"]
        return "\n".join([head, "    rounds = Rounds()", *prelude, *self._lines, *tail]), self._ops

    def _put(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)

    def _block(self, body: tuple[Stmt, ...], depth: int) -> None:
        before = len(self._lines)
        if self._joins:
            for straight, group in groupby(body, lambda s: is_straight(s, self.role)):
                if straight:
                    self._segment(tuple(group), depth)
                else:
                    for s in group:
                        self._statement(s, depth)
        else:
            for s in body:
                self._statement(s, depth)
        if len(self._lines) == before:
            self._put(depth, "pass")

    def _segment(self, body: tuple[Stmt, ...], depth: int) -> None:
        """A stretch without a loop, yielded whole: its ops by the values that they depend on."""
        slots, first = Slots(), len(self._ops)
        nodes = self._nodes(body, depth, slots)
        ops = tuple(range(first, len(self._ops)))
        if ops:
            key = "".join(f"k{i}, " for i in range(slots.count)) or "()"
            self._put(depth, f"yield s{len(self.segments)}[{key}]")
            self.segments.append(Segment(nodes, ops))

    def _nodes(self, body: tuple[Stmt, ...], depth: int, slots: Slots) -> tuple[Node, ...]:
        nodes: list[Node] = []
        for s in body:
            match s:
                case When() if not any(isinstance(inner, OpBase) for inner in statements((s,))):
                    self._choose(s, depth, slots)
                case When(condition=test, body=inner, orelse=other):
                    branches = (inner, other)
                    nodes.append(self._branch(self._expr(test), (test,), branches, depth, slots))
                case Elect(body=inner, of_role=of_role, others=others):
                    if of_role:
                        leads = f"{self._warp_name()} == 0"
                        nodes.append(self._branch(leads, (), (inner, ()), depth, slots))
                    else:
                        nodes += self._nodes(inner, depth, slots)
                    self._whole = of_role
                    nodes += self._nodes(others, depth, slots)
                    self._whole = False
                case Specialize(roles=roles):
                    for role in roles:
                        if role.name == self.role:
                            self._in_role = True
                            nodes += self._nodes(role.body, depth, slots)
                            self._in_role = False
                case Set(var=var):
                    self._statement(s, depth)
                    slots.set(var)
                case _:
                    assert isinstance(s, OpBase)
                    wanted = [self._slot(self._expr(e), (e,), depth, slots) for e in self._reads(s)]
                    nodes.append(Place(self._enter(s), tuple(wanted)))
        return tuple(nodes)

    def _choose(self, s: When, depth: int, slots: Slots) -> None:
        """A branch that only sets variables: the key has their values where they are used."""
        for word, body in ((f"if {self._expr(s.condition)}:", s.body), ("else:", s.orelse)):
            self._put(depth, word)
            self._nodes(body, depth + 1, slots)
            self._put(depth + 1, "pass")

    def _slot(self, text: str, exprs: tuple[Expr, ...], depth: int, slots: Slots) -> int:
        slot, new = slots.find(text, exprs)
        if new:
            self._put(depth, f"k{slot} = {text}")
        return slot

    def _branch(
        self,
        test: str,
        exprs: tuple[Expr, ...],
        branches: tuple[tuple[Stmt, ...], tuple[Stmt, ...]],
        depth: int,
        slots: Slots,
    ) -> Branch:
        """What a branch does not take has 0 in the key."""
        slot = self._slot(f"not not {test}", exprs, depth, slots)
        before, first = len(self._lines), slots.count
        taken: list[tuple[Node, ...]] = []
        for word, body in zip((f"if k{slot}:", "else:"), branches, strict=True):
            self._put(depth, word)
            known = dict(slots.known)
            taken.append(self._nodes(body, depth + 1, slots))
            self._put(depth + 1, "pass")
            slots.known = known
        zero = "".join(f"k{i} = " for i in range(first, slots.count))
        if zero:
            self._lines.insert(before, "    " * depth + zero + "0")
        return Branch(slot, *taken)

    def _statement(self, s: Stmt, depth: int) -> None:
        match s:
            case For(var=var, trip_count=count, body=body):
                turns = f"rounds({self._expr(count)})"
                if s.assigned:
                    turns = f"given({self._schedule.assigned.index(s)})"
                self._put(depth, f"for v_{var} in {turns}:")
                self._loops.append(f"v_{var}")
                self._block(body, depth + 1)
                self._loops.pop()
            case When(condition=test, body=body, orelse=orelse):
                self._put(depth, f"if {self._expr(test)}:")
                self._block(body, depth + 1)
                if orelse:
                    self._put(depth, "else:")
                    self._block(orelse, depth + 1)
            case Set(var=var, value=value):
                self._put(depth, f"v_{var} = {self._expr(value)}")
                self._put(depth, f"if not {-1 << 31} <= v_{var} < {1 << 31}:")
                self._put(depth + 1, f"left(sets[{len(self.sets)}], v_{var})")
                self.sets.append(s)
            case Elect(body=body, of_role=of_role, others=others):
                if of_role:
                    self._put(depth, f"if {self._warp_name()} == 0:")
                    self._block(body, depth + 1)
                else:
                    self._block(body, depth)
                if others:
                    self._whole = of_role
                    self._block(others, depth)
                    self._whole = False
            case Specialize(roles=roles):
                for role in roles:
                    if role.name == self.role:
                        self._in_role = True
                        self._block(role.body, depth)
                        self._in_role = False
            case _:
                assert isinstance(s, OpBase)
                values = "".join(f"{self._expr(e)}, " for e in self._reads(s))
                indices = "".join(f"{v}, " for v in self._loops)
                self._put(depth, f"yield r{self._enter(s)}(({values})), ({indices})")

    def _enter(self, op: OpBase) -> int:
        """The index of an op of the stream, which is a new one."""
        self._ops.append((op, replace(op, scope=Scope.ALL_LANES) if self._whole else op))
        self._places.append(self._warp_name())
        return len(self._ops) - 1

    def _warp_name(self) -> str:
        return "warp_in_role" if self._in_role else "warp"

    def _expr(self, expr: Expr) -> str:
        return python_source(expr, self._leaf)

    def _leaf(self, node: Expr) -> str:
        match node:
            case Var(name):
                return f"v_{name}"
            case Arg(name):
                return f"a_{name}"
            case BuiltinRef(Builtin.BLOCK_IDX_X):
                return "bx"
            case BuiltinRef(Builtin.BLOCK_IDX_Y):
                return "by"
            case BuiltinRef(Builtin.BLOCK_IDX_Z):
                return "bz"
            case BuiltinRef(Builtin.CTA_RANK):
                return "rank"
            case BuiltinRef(Builtin.WARP_IN_ROLE):
                return self._warp_name()
            case _:
                raise AssertionError(f"{node} differs from lane to lane")


def run_checked(events: Iterator[T], limit: int) -> Iterator[T]:
    """The events, with arithmetic faults turned into ScheduleError and a bound on their number."""
    try:
        yield from islice(events, limit)
        for _ in events:
            raise StreamLimit(f"a warp executes more than {limit} ops", fix="lower the trip counts")
    except ARITHMETIC as error:
        raise arithmetic_fault(error) from None
