"""CTAs by their number in the launch, and which have the most to do as their place decides it.

A persistent kernel takes so many rounds as tiles are left for the CTA: 5 of some, 4 of the others.
The launch ends when those with 5 do.
"""

from __future__ import annotations

from asyncsim.ir.expr import Arg, Builtin, BuiltinRef, Expr, Var, python_source, walk
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import For

_PLACE = {Builtin.BLOCK_IDX_X: "x", Builtin.BLOCK_IDX_Y: "y", Builtin.BLOCK_IDX_Z: "z"}


def block_of(schedule: Schedule, cta: int) -> tuple[int, int, int]:
    """Block coordinates of a CTA by its number in the launch: clusters x fastest, and the CTAs of a
    cluster by rank. Without clusters that is its linear id."""
    number, rank = divmod(cta, schedule.cluster_ctas)
    (x, y, _), (cx, cy, cz) = schedule.clusters, schedule.cluster
    return (
        number % x * cx + rank % cx,
        number // x % y * cy + rank // cx % cy,
        number // (x * y) * cz + rank // (cx * cy),
    )


def longest(schedule: Schedule) -> frozenset[int]:
    """The clusters whose loops have the most rounds in all; none if all have as many."""
    loops = [s.trip_count for s in statements(schedule.body) if isinstance(s, For)]
    decided = [count for count in loops if _is_of_place(count)]
    if not decided:
        return frozenset()
    names = ", ".join(("x", "y", "z", *(f"a_{name}" for name, _ in schedule.args)))
    counts = " + ".join(f"max(0, {python_source(count, _leaf)})" for count in decided)
    rounds_of = eval(f"lambda {names}: {counts}", {"min": min, "max": max})
    args = [value for _, value in schedule.args]
    try:
        rounds = [
            rounds_of(*block_of(schedule, cta), *args)
            for cta in range(0, schedule.ctas, schedule.cluster_ctas)
        ]
    except ZeroDivisionError:
        return frozenset()  # a fault of the schedule, which its streams show
    most = max(rounds)
    if min(rounds) == most:
        return frozenset()
    return frozenset(i for i, n in enumerate(rounds) if n == most)


def _is_of_place(count: Expr) -> bool:
    leaves = [n for n in walk(count) if isinstance(n, Var | BuiltinRef)]
    return bool(leaves) and all(isinstance(n, BuiltinRef) and n.builtin in _PLACE for n in leaves)


def _leaf(node: Expr) -> str:
    match node:
        case Arg(name):
            return f"a_{name}"
        case BuiltinRef(builtin):
            return _PLACE[builtin]
        case _:
            raise AssertionError(node)
