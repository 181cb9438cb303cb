"""Which combinations of parameter values a sweep looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from operator import index
from typing import TYPE_CHECKING

from asyncsim.errors import UsageError
from asyncsim.scenario import Scenario

if TYPE_CHECKING:
    from asyncsim.machine import Machine

MAX_COMBINATIONS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """``params``: all of the scenario's, by default or as given; ``vary``: values of some."""

    params: Mapping[str, int]
    vary: Mapping[str, tuple[int, ...]]

    @property
    def fixed(self) -> dict[str, int]:
        """The parameters that are the same in all combinations."""
        return {n: v for n, v in self.params.items() if n not in self.vary}

    def combinations(self) -> Iterator[dict[str, int]]:
        """All parameters of each combination, the last varied one fastest."""
        for values in product(*self.vary.values()):
            yield {**self.params, **dict(zip(self.vary, values, strict=True))}

    def __len__(self) -> int:
        return prod(len(values) for values in self.vary.values())


def space_of(
    scenario: Scenario,
    machine: Machine,
    given: Mapping[str, int],
    vary: Mapping[str, Sequence[int]],
) -> Space:
    """The free parameters of the scenario without those given; with ``vary``, those and no others.

    Raises UsageError for parameters that are unknown, fixed and varied, or state the problem, and
    for values that are too many or no integers.
    """
    scenario.values(dict.fromkeys(vary, 0))
    params = scenario.values(given)
    both = [name for name in vary if name in given]
    if both:
        raise UsageError(f"{both[0]} is given and varied; drop one of the two")
    free = scenario.free
    if free:
        for name in vary:
            if name not in free:
                raise UsageError(
                    f"{name} is no free parameter of {scenario.name}: schedules that differ in it "
                    f"do different work; give it one value, vary {', '.join(free)}"
                )
    elif not vary:
        raise UsageError(
            f"{scenario.name} declares no free parameters; say what to vary, among "
            f"{', '.join(scenario.params) or 'none'}"
        )
    chosen = vary or {n: f.on(machine) for n, f in free.items() if n not in given}
    if not chosen:
        raise UsageError(f"every free parameter of {scenario.name} is given: nothing to vary")
    space = Space(
        params=params,
        vary={n: _distinct(n, values) for n, values in chosen.items()},
    )
    if empty := [name for name, values in space.vary.items() if not values]:
        raise UsageError(f"{empty[0]} has no values to vary over")
    if len(space) > MAX_COMBINATIONS:
        raise UsageError(
            f"{len(space):,} combinations, more than {MAX_COMBINATIONS:,}; vary fewer values"
        )
    return space


def _distinct(name: str, values: Sequence[int]) -> tuple[int, ...]:
    """The values once each; a range may be longer than any memory."""
    some = tuple(islice(values, MAX_COMBINATIONS + 1))
    if len(some) > MAX_COMBINATIONS:
        raise UsageError(f"{name} has more than {MAX_COMBINATIONS:,} values; vary fewer")
    try:
        return tuple(dict.fromkeys(map(index, some)))
    except TypeError as error:
        raise UsageError(f"a value of {name} is no integer: {error}; give integers") from None


def neighbours(values: Sequence[int], value: int) -> tuple[int, ...]:
    """The values next to one, below and above.

    At the end of a row of three or more it is the value that would come next.
    """
    ordered = sorted(values)
    at = ordered.index(value)
    found = [ordered[at - 1]] if at else []
    if at + 1 < len(ordered):
        found.append(ordered[at + 1])
    elif len(ordered) > 2:
        found.append(2 * value - ordered[at - 1])
    return tuple(found)
