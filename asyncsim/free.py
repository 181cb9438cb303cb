"""Parameters of a scenario that are free: those an author turns to make the kernel faster.

``stages: Annotated[int, Free(range(2, 7))] = 4`` says so, with the values worth a try; the other
parameters state the problem. Values that do not fit a machine, or each other, may be among them:
what is no schedule is left out of a sweep. The usual ones have names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from asyncsim.machine import Machine


@dataclass(frozen=True, slots=True)
class Free:
    """``values``, or a function that gives them for a machine."""

    values: Sequence[int] | Callable[[Machine], Sequence[int]]

    def on(self, machine: Machine) -> tuple[int, ...]:
        """The values to try on a machine."""
        return tuple(self.values(machine) if callable(self.values) else self.values)


@dataclass(frozen=True, slots=True)
class Only:
    """``values`` that a parameter may have; a scenario is not traced with another."""

    values: tuple[int, ...]


def _one_a_sm(machine: Machine) -> tuple[int, ...]:
    return (machine.gpu.sms,)


Stages = Annotated[int, Free(range(1, 9))]
TileM = Annotated[int, Free((64, 128, 256))]
TileN = Annotated[int, Free((64, 128, 192, 256))]
Warpgroups = Annotated[int, Free((1, 2))]
Buffers = Annotated[int, Free((1, 2))]
Splits = Annotated[int, Free((1, 2, 4, 8, 16, 32))]
Flag = Annotated[int, Only((0, 1))]
Switch = Annotated[int, Free((0, 1)), Only((0, 1))]
Band = Annotated[int, Free((4, 8, 16))]
OneCtaPerSm = Annotated[int, Free(_one_a_sm)]


def free_of(function: Callable[..., Any]) -> dict[str, Free]:
    """The free parameters of a function, by the annotations that can be evaluated."""
    return {name: mark for name, mark in _marks(function) if isinstance(mark, Free)}


def only_of(function: Callable[..., Any]) -> dict[str, Only]:
    """The parameters that have certain values only."""
    return {name: mark for name, mark in _marks(function) if isinstance(mark, Only)}


@cache
def _marks(function: Callable[..., Any]) -> tuple[tuple[str, object], ...]:
    found = []
    for name, annotation in getattr(function, "__annotations__", {}).items():
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, getattr(function, "__globals__", {}))
            except Exception:  # a name that is there for type checkers only
                continue
        found += [(name, mark) for mark in getattr(annotation, "__metadata__", ())]
    return tuple(found)
