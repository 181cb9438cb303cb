"""Delay tables: cycles that each warp waits before each op, for the delay build of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asyncsim.ir.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Delays = Mapping[int | tuple[int, int], int]
"""Cycles to wait before an op: by op id (all warps), or by (op id, warp)."""

SHORTEST, LONGEST = 20, 20_000
_SHARES = (0.05, 0.15, 0.4)  # of the entries that are delayed at all


def table_of(schedule: Schedule, delays: Delays) -> Array:
    """The table of these delays: op id, warp; cycles, uint32."""
    import numpy as np

    table = np.zeros(_shape(schedule), np.uint32)
    for key, cycles in delays.items():
        table[key] = cycles
    return table


def random_table(schedule: Schedule, seed: int) -> Array:
    """A table that the seed alone decides.

    Most entries are zero; the others are uniform in their logarithm from ``SHORTEST`` to
    ``LONGEST``. How many are not zero is drawn once for the table: some launches are disturbed at
    one or two places, others nearly everywhere.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    share = rng.choice(_SHARES)
    cycles = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST), _shape(schedule)))
    return np.where(rng.random(cycles.shape) < share, cycles, 0).astype(np.uint32)


def _shape(schedule: Schedule) -> tuple[int, int]:
    return 1 + max((o.id for o in schedule.ops()), default=-1), schedule.warps
