"""How much of a predicted time rests on numbers that the machine file assumes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from asyncsim.predict.result import Prediction

if TYPE_CHECKING:
    from asyncsim.machine import Machine

STEP = Fraction(11, 10)
FEW = 10  # one assumed number in so many is not worth a second run


def assumed_share(
    prediction: Prediction, machine: Machine, cycles_on: Callable[[Machine], float]
) -> float | None:
    """The share of the cycles, 0..1, from one more run; None where few numbers are assumed.

    A run is longer by a tenth if all of its times and rates are slower by a tenth. What it gets
    longer by if the assumed ones alone are is their share; with the measured and the published ones
    the shares add up to 1, as far as one bottleneck does not take over from another.
    """
    used = sum(sum(tables.values()) for tables in prediction.origins.values())
    if FEW * prediction.assumed < used or not prediction.cycles:
        return None
    from asyncsim.machine import slower

    longer = cycles_on(slower(machine, "assumed", STEP)) / prediction.cycles - 1
    return min(1.0, max(0.0, longer / float(STEP - 1)))
