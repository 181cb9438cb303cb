"""Which legal order an evaluation takes.

Every order gives a clean schedule the same result; a schedule with a race shows it in some.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Landing(Enum):
    """When an asynchronous op takes effect. ISSUE: at once. LATE: when a group wait covers it, or
    when no warp can go on without it."""

    ISSUE = "issue"
    LATE = "late"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """``seed`` None: each warp runs until it blocks, in warp order. A seed shuffles the warps, cuts
    their runs short, and with LATE picks at random which flight lands next."""

    landing: Landing = Landing.ISSUE
    seed: int | None = None
