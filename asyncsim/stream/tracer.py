"""The statements of one warp executed with numbers that may move (linear.py).

``Program`` compiles the same statements to a generator of plain numbers; this interpreter can be
stopped between two ops, its variables read, set in motion, and run on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from asyncsim.ir.expr import (
    Arg,
    Builtin,
    BuiltinRef,
    Expr,
    Var,
    is_lane_varying,
    leaves,
    python_source,
)
from asyncsim.ir.op import Compute, GlobalView, MbarrierTestWait, MbarrierWait, OpBase
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.stream.compiled import function
from asyncsim.stream.linear import Linear, NotLinear, Number, Windows, slope
from asyncsim.stream.operands import operand_exprs
from asyncsim.stream.program import WarpPlace

Env = dict[str, Number]
Compiled = Callable[[Env], Any]

_BUILTINS = {
    Builtin.BLOCK_IDX_X: "block_idx.x",
    Builtin.BLOCK_IDX_Y: "block_idx.y",
    Builtin.BLOCK_IDX_Z: "block_idx.z",
    Builtin.CTA_RANK: "rank",
    Builtin.LANE: "lane",
    Builtin.THREAD_IN_ROLE: "lane",
}


def global_views(op: OpBase) -> list[GlobalView]:
    """Every box of global memory among the operands, those that shared operands mean included."""
    parts = op.parts()
    views = [v if isinstance(v, GlobalView) else getattr(v, "expects", None) for v in parts]
    return [view for view in views if isinstance(view, GlobalView)]


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of one op as functions of the variables.

    ``boxes``: each global box, and its start; ``fixed``: all other operands;
    ``inside``: the variables in what differs from lane to lane; ``parity``: which of ``fixed`` is
    the parity of a wait, or -1.
    """

    boxes: tuple[tuple[GlobalView, Compiled], ...]
    fixed: Compiled
    inside: Compiled
    parity: int


@dataclass(slots=True)
class ExprTable:
    """Compiled expressions of a schedule, kept by its tracers: by identity, for the schedule keeps
    its expressions."""

    single: dict[tuple[int, bool], Compiled] = field(default_factory=dict)
    operands: dict[tuple[int, bool], Operands] = field(default_factory=dict)

    def value(self, expr: Expr, in_role: bool) -> Compiled:
        found = self.single.get((id(expr), in_role))
        if found is None:
            found = self.single[id(expr), in_role] = function(f"lambda e: {_source(expr, in_role)}")
        return found

    def of(self, op: OpBase, in_role: bool) -> Operands:
        found = self.operands.get((op.id, in_role))
        if found is None:
            found = self.operands[op.id, in_role] = _operands(op, in_role)
        return found


def _operands(op: OpBase, in_role: bool) -> Operands:
    views = global_views(op)
    starts = {id(e) for view in views for e in view.start}
    fixed = [e for e in operand_exprs(op) if id(e) not in starts]
    if isinstance(op, Compute):  # its integers are for evaluate
        plain = {id(o) for o in op.operands}
        fixed = [e for e in fixed if id(e) not in plain]
    parity = next(
        (
            i
            for i, e in enumerate(fixed)
            if isinstance(op, MbarrierWait | MbarrierTestWait) and e is op.parity
        ),
        -1,
    )
    lanes = [e for e in (*fixed, *(e for v in views for e in v.start)) if is_lane_varying(e)]
    inside = dict.fromkeys(n for e in lanes for n in leaves(e) if isinstance(n, Var))
    return Operands(
        tuple((view, _tuple(view.start, in_role)) for view in views),
        _tuple(fixed, in_role),
        _tuple(inside, in_role),
        parity,
    )


def _tuple(exprs: Any, in_role: bool) -> Compiled:
    return function(f"lambda e: ({''.join(f'{_source(e, in_role)}, ' for e in exprs)})")


def _source(expr: Expr, in_role: bool) -> str:
    def leaf(node: Expr) -> str:
        match node:
            case Var(name):
                return f"e[{'v_' + name!r}]"
            case Arg(name):
                return f"e[{'a_' + name!r}]"
            case BuiltinRef(Builtin.WARP_IN_ROLE):
                return "e['warp_in_role']" if in_role else "e['warp']"
            case BuiltinRef(builtin):
                return f"e[{_BUILTINS[builtin]!r}]"
            case _:
                raise AssertionError(node)

    return python_source(expr, leaf)


@dataclass(slots=True)
class Round:
    """A loop that has begun: its next index moves by ``slope`` a window."""

    loop: For
    in_role: bool
    count: Number
    at: int = 0
    slope: int = 0


class Tracer:
    """One warp's statements. ``env``: the values of its variables; ``rounds``: the open loops."""

    def __init__(self, schedule: Schedule, place: WarpPlace, table: ExprTable) -> None:
        self._schedule, self._place, self._table = schedule, place, table
        self.windows = Windows()
        self.kept: Callable[[str, Number], None] | None = None  # is told what variables are set to
        self.rounds: list[Round] = []
        self.in_role = place.role == "block"
        x, y, z = place.block
        self.env: Env = {f"a_{n}": v for n, v in schedule.args}
        self.env |= {"block_idx.x": x, "block_idx.y": y, "block_idx.z": z, "rank": place.rank}
        self.env |= {"warp": place.warp, "warp_in_role": place.warp_in_role}
        self.env["lane"] = Linear(None, 0, self.windows)
        self._ops = self._block(schedule.body)

    def next(self) -> OpBase | None:
        """The next op; None after the last one."""
        return next(self._ops, None)

    def state(self) -> dict[str, int]:
        """Every variable and the index of every open loop, where all are plain numbers."""
        found = {n: v for n, v in self.env.items() if isinstance(v, int)}
        return found | {f"round {i} of {r.loop.var}": r.at for i, r in enumerate(self.rounds)}

    def move(self, slopes: dict[str, int]) -> None:
        """Set the variables in motion. Raises NotLinear."""
        for name, value in self.env.items():
            if isinstance(value, int) and slopes.get(name):
                self.env[name] = Linear(value, slopes[name], self.windows)
        for i, r in enumerate(self.rounds):
            r.slope = slopes.get(f"round {i} of {r.loop.var}", 0)
            again = self._table.value(r.loop.trip_count, r.in_role)(self.env)
            known = again.value if isinstance(again, Linear) else again
            of_variables = any(isinstance(n, Var) for n in leaves(r.loop.trip_count))
            if known != r.count or (isinstance(again, Linear) and of_variables):
                raise NotLinear  # perhaps not what it was when the loop began
            r.count = again

    def rest(self) -> bool:
        """Stop the variables in the window that they are in; False if one of them is not known."""
        self.windows = Windows()
        known = True
        for name, value in self.env.items():
            if isinstance(value, Linear) and value.value is not None:
                self.env[name] = value.value
            elif isinstance(value, Linear):
                known &= name == "lane"
                self.env[name] = Linear(None, 0, self.windows)
        for r in self.rounds:
            r.slope = 0
            if isinstance(r.count, Linear):
                known &= r.count.value is not None
                r.count = r.count.value or 0
        return known

    def skip(self, slopes: dict[str, int], windows: int) -> None:
        """Go on by windows in which all that moves is plain numbers, and as ``slopes`` say."""
        for name, value in self.env.items():
            if isinstance(value, int):
                self.env[name] = value + windows * slopes.get(name, 0)
        for i, r in enumerate(self.rounds):
            r.at += windows * slopes.get(f"round {i} of {r.loop.var}", 0)

    def slopes(self) -> dict[str, int]:
        """How far each variable moves."""
        return {name: slope(value) for name, value in self.env.items()}

    def arrived(
        self, begin: dict[str, int], slopes: dict[str, int], by: dict[str, int] | None = None
    ) -> bool:
        """Whether all that moves is one window further than at ``begin`` (``by``, if that is not
        what it moves), and moves on alike."""
        seen: dict[str, int] = {}
        for name, value in self.env.items():
            if isinstance(value, Linear):
                if value.value is None:
                    continue
                if value.slope != slopes.get(name):
                    return False
                seen[name] = value.value
            else:
                if slopes.get(name):
                    return False
                seen[name] = value
        for i, r in enumerate(self.rounds):
            name = f"round {i} of {r.loop.var}"
            if r.slope != slopes.get(name):
                return False
            seen[name] = r.at
        window = slopes if by is None else by
        return seen == {n: v + window[n] for n, v in begin.items()}

    # -- statements ------------------------------------------------------------------------------

    def _value(self, expr: Expr) -> Any:
        return self._table.value(expr, self.in_role)(self.env)

    def operands(self, op: OpBase) -> Operands:
        return self._table.of(op, self.in_role)

    def _block(self, body: tuple[Stmt, ...]) -> Iterator[OpBase]:
        for s in body:
            if isinstance(s, OpBase):
                yield s
            else:
                yield from self._statement(s)

    def _statement(self, s: Stmt) -> Iterator[OpBase]:
        match s:
            case For():
                yield from self._loop(s)
            case When(condition=test, body=body, orelse=orelse):
                yield from self._block(body if self._value(test) else orelse)
            case Set(var=var, value=value):
                self.env[f"v_{var}"] = found = self._value(value)
                if self.kept is not None:
                    self.kept(var, found)
            case Elect(body=body, of_role=of_role, others=others):
                place = self._place
                if not of_role or (place.warp_in_role if self.in_role else place.warp) == 0:
                    yield from self._block(body)
                yield from self._block(others)
            case Specialize(roles=roles):
                for role in roles:
                    if role.name == self._place.role:
                        self.in_role = True
                        yield from self._block(role.body)
                        self.in_role = False
            case _:
                raise AssertionError(s)

    def _loop(self, s: For) -> Iterator[OpBase]:
        r = Round(s, self.in_role, self._value(s.trip_count))
        self.rounds.append(r)
        while True:
            at: Number = Linear(r.at, r.slope, self.windows) if r.slope else r.at
            if not at < r.count:
                break
            self.env[f"v_{s.var}"] = at
            yield from self._block(s.body)
            r.at += 1
        self.rounds.pop()
