"""Which delays may make a broken schedule show: first those that check's findings point at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from asyncsim.hw.delays import Delays
from asyncsim.hw.render.hooks import is_delayed
from asyncsim.ir.op import Op, OpBase
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.rules import Finding

SHORT, LONG = 2_000, 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """Delays and their description."""

    delays: Delays
    what: str


def tries(schedule: Schedule, findings: Iterable[Finding]) -> list[Try]:
    """The ops of the findings, in their order, then all others in program order; each op once.

    An op is delayed in each warp of its role alone, so that the others run ahead, and in all.
    """
    hooks = _hooks(schedule)
    found: dict[int, list[Try]] = {}
    for place in (p for f in findings for p in f.where):
        hook = hooks.get(place.op_id)
        if hook is not None and hook.id not in found:
            what = place.what
            if hook.id != place.op_id:
                what = f"{type(hook).__name__} before {what}"
            found[hook.id] = list(_of_op(schedule, hook, what, (LONG, SHORT)))
    previous: type[OpBase] | None = None
    for op in schedule.ops():
        # of a row of equal ops the first stands for all
        if hooks.get(op.id) is op and op.id not in found and type(op) is not previous:
            found[op.id] = list(_of_op(schedule, op, f"{type(op).__name__} at {op.loc}", (LONG,)))
        previous = type(op)
    return [t for of_op in found.values() for t in of_op]


def _hooks(schedule: Schedule) -> dict[int, Op]:
    """For each op the one whose hook delays it: itself, or the last before it that has a hook."""
    found: dict[int, Op] = {}
    last: Op | None = None
    for op in schedule.ops():
        last = op if is_delayed(op) else last
        if last is not None:
            found[op.id] = last
    return found


def _of_op(schedule: Schedule, op: Op, what: str, amounts: tuple[int, ...]) -> Iterator[Try]:
    warps = _warps(schedule, op)
    for cycles in amounts:
        delayed = f"{what} delayed by {cycles} cycles"
        if len(warps) > 1:
            for warp in warps:
                yield Try(delays={(op.id, warp): cycles}, what=f"{delayed} in warp {warp}")
        yield Try(delays={op.id: cycles}, what=delayed)


def _warps(schedule: Schedule, op: Op) -> range:
    """The warps of the role that the op belongs to; all of them outside roles."""
    for role in schedule.roles():
        if any(s is op for s in statements(role.body) if isinstance(s, OpBase)):
            return range(role.first_warp, role.first_warp + role.warps)
    return range(schedule.warps)
