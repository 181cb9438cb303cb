"""What variables hold while a loop gets more rounds: bounds from the values they are set to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from asyncsim.stream.linear import Linear, NotLinear, Number

Bounds = tuple[int, int]
"""The least and the greatest value."""


class Part(Enum):
    """Of a stream: until the loop repeats and for the first window, in it, and after it."""

    FIRST = auto()
    WINDOW = auto()
    LAST = auto()


@dataclass(slots=True)
class Kept:
    """``values``: what variables have been set to in a part; ``steps``: how far that moves when the
    loop gets a period more. ``windows``: how often it repeats already, at most."""

    values: dict[tuple[str, Part], Bounds] = field(default_factory=dict)
    steps: dict[tuple[str, Part], Bounds] = field(default_factory=dict)
    windows: int = 0

    def enter(self, part: Part, name: str, value: Number) -> None:
        """A variable is set to a number that moves. Raises NotLinear for one of many values."""
        at, by = (value.value, value.slope) if isinstance(value, Linear) else (value, 0)
        if at is None:
            raise NotLinear
        self.values[name, part] = _hull(self.values.get((name, part)), (at, at))
        self.steps[name, part] = _hull(self.steps.get((name, part)), (by, by))

    def after(self, periods: int) -> dict[str, Bounds]:
        """The bounds of each variable when the loop has got at most so many periods more."""
        found: dict[str, Bounds] = {}
        for (name, part), (low, high) in self.values.items():
            first = self.steps.get((name, Part.FIRST), (0, 0))
            along = self.steps.get((name, Part.WINDOW), first)
            if part is Part.LAST:
                down, up = _reach(self.steps[name, part], periods)
            else:  # a window further it moves by the difference
                down, up = _reach((along[0] - first[1], along[1] - first[0]), self.windows)
                more = _reach(_hull(first, along), periods)
                down, up = down + more[0], up + more[1]
            found[name] = _hull(found.get(name), (low + down, high + up))
        return found


def _reach(steps: Bounds, times: int) -> Bounds:
    """How far steps lead down and up, ``times`` times or less."""
    return min(0, steps[0]) * times, max(0, steps[1]) * times


def _hull(a: Bounds | None, b: Bounds) -> Bounds:
    return b if a is None else (min(a[0], b[0]), max(a[1], b[1]))
