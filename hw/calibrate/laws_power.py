"""Laws of power and of the clock that it leaves.  See docs/power.md."""

__all__ = ["beside", "drawn_watts", "peak_watts"]

import numpy as np

from .points_power import COLUMNS
from .solve import Floats

VOLTAGE = 0.92  # as the law of the power drawn finds it; these points are too few to say
BOOST = 1980.0  # MHz, at which the energies count
# Of L2, DRAM, and the ways to them: on a clock and a voltage of their own.
UNSCALED = ("fill", "l2", "moved_zeros", "dram", "dram_zeros", "store", "dram_write")
_SCALED = np.array([name not in UNSCALED for name in COLUMNS[1:]])


def drawn_watts(theta: Floats, x: Floats) -> Floats:
    """base, voltage, then a watt or a picojoule for each column but the clock."""
    base, voltage, each = theta[0], theta[1], theta[2:]
    lower = (x[:, 0] / BOOST) ** (2 * voltage)
    switched = x[:, 1:][:, _SCALED] @ each[_SCALED]
    others = x[:, 1:][:, ~_SCALED] @ each[~_SCALED]
    value: Floats = base + switched * lower + others
    return value


def peak_watts(theta: Floats, x: Floats) -> Floats:
    """What is left of the peak beside the part that is reckoned for what is busy."""
    peak, f16, f8, smem, fill = theta
    reckoned = x[:, 1] * f16 + x[:, 2] * f8 + x[:, 3] * smem + x[:, 4] * fill
    value: Floats = peak - reckoned * (x[:, 0] / BOOST) ** (2 * VOLTAGE)
    return value


def beside(theta: Floats, x: Floats) -> Floats:
    """The interval of wgmma and what it loses to each FFMA, or ALU instruction, in it."""
    interval, ffma, alu = theta
    value: Floats = interval + ffma * x[:, 0] + alu * x[:, 1]
    return value
