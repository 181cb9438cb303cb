"""Whether a state is an earlier one again, moved: the argument for passing over what repeats.

Every number of the state either stays or moves by the step of its component. If in each component
all that moves lies above all that stays, the earlier state and the later one are the same up to an
increasing map, and an execution does nothing with these numbers but compare them, take the larger,
and count on from the largest: so both go on alike, as long as their streams do.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.check.clock import FIELD_BITS, FIELD_MASK, ClockLayout, Section
from asyncsim.check.snapshot import Snapshot

Vector = tuple[int, ...]


@dataclass(slots=True)
class Recurrence:
    """``step``: how far each component moves; ``events`` of each warp, and ``phases`` of each
    mbarrier, in one window; ``moves``: how far the data of each tensor has moved.

    ``now``, ``low``, ``fixed``: per component how far it has come in the earlier state, the least
    number there that moves, and the greatest that stays. ``idle``: observers whose clocks stay,
    with them.
    """

    step: int
    events: list[int]
    phases: list[int]
    moves: dict[str, Vector]
    now: Vector
    low: Vector
    fixed: Vector
    idle: dict[int, Vector]

    def apart(self, layout: ClockLayout, used: set[int], close: range) -> bool:
        """Whether what moves is above what stays. ``used``: the observers that execute something
        in a window; clocks of others are read after it only.

        A wait compares with the phase before the last one too, but learns of the last: an observer
        that waits in a window does not stay. ``close``: components where who compares may stay, as
        bar.arrive does.
        """
        for at, step in enumerate(_fields(layout, self.step)):
            if not step:
                continue
            fixed = max([self.fixed[at], *(c[at] for i, c in self.idle.items() if i in used)])
            later = max([fixed, *(c[at] for c in self.idle.values())])
            if self.low[at] <= fixed or self.low[at] + step <= later:
                return False
            if self.now[at] < fixed + 2 * (at in close) or self.now[at] + step < later + 2:
                return False
        return True


def recurrence(old: Snapshot, new: Snapshot, layout: ClockLayout) -> Recurrence | None:
    """How ``new`` is ``old``, moved; None if it is not."""
    if old.same != new.same or old.positions == new.positions:
        return None
    moves = _moves(old, new)
    if moves is None or _ranks(old.order) != _ranks(new.order):
        return None
    step = sum((new.now - old.now) << layout.width * s for s in Section)
    step &= layout.every
    now = _fields(layout, old.now)
    fixed = above = 0
    idle: dict[int, int] = {}
    faint = old.faint | new.faint
    for a, b in set(zip(old.clocks, new.clocks, strict=True)):
        if layout.known(a & faint) != layout.known(b & faint):
            return None
        a, b = a & ~faint, b & ~faint
        moved = layout.moved(a, b, step)
        if moved is None:
            return None
        fixed = layout.join(fixed, a & ~moved)
        above = layout.join(above, moved ^ (a & moved))
    for i, (a, b) in enumerate(zip(old.chains, new.chains, strict=True)):
        if layout.known(a & faint) != layout.known(b & faint):
            return None
        a, b = a & ~faint, b & ~faint
        moved = layout.moved(a, b, step)
        if moved is None:
            return None
        above = layout.join(above, moved ^ (a & moved))
        if moved:
            fixed = layout.join(fixed, a & ~moved)
        else:
            idle[i] = a
    return Recurrence(
        step=step & layout.masks[Section.CONTROL],
        events=[b - a for a, b in zip(old.events, new.events, strict=True)],
        phases=[b - a for a, b in zip(old.phases, new.phases, strict=True)],
        moves=moves,
        now=now,
        low=tuple(
            min(FIELD_MASK - a, b) for a, b in zip(_greatest(layout, above), now, strict=True)
        ),
        fixed=_greatest(layout, fixed),
        idle={i: _greatest(layout, clock) for i, clock in idle.items()},
    )


def _moves(old: Snapshot, new: Snapshot) -> dict[str, Vector] | None:
    """How far the data of each tensor has moved; None if not all of it as far."""
    moves: dict[str, Vector] = {}
    for (tensor, a), (other, b) in zip(old.tags, new.tags, strict=True):
        by = tuple(y - x for x, y in zip(a, b, strict=True))
        if tensor != other or moves.setdefault(tensor, by) != by:
            return None
    return moves


def _ranks(numbers: list[int]) -> list[int]:
    """Each number's place in their order."""
    rank = {n: i for i, n in enumerate(sorted(set(numbers)))}
    return [rank[n] for n in numbers]


def _fields(layout: ClockLayout, clock: int) -> Vector:
    """The fields of the first section."""
    raw = (clock & layout.masks[Section.CONTROL]).to_bytes(layout.width // 8, "little")
    at = FIELD_BITS // 8
    return tuple(int.from_bytes(raw[i : i + at], "little") for i in range(0, len(raw), at))


def _greatest(layout: ClockLayout, clock: int) -> Vector:
    """Per component, the greatest field of any section."""
    folded = 0
    for section in Section:
        folded = layout.join(folded, clock >> layout.width * section & layout.masks[0])
    return _fields(layout, folded)
