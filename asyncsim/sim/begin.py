"""When a kernel begins, in the time of its program."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.sim.path import LAUNCH, Cause


@dataclass(frozen=True, slots=True)
class Begin:
    """``at``: its first CTA may start, because of ``cause``; ``passes``: from when on
    griddepcontrol.wait passes, and why; None for a kernel that depends on no other."""

    at: int = 0
    cause: Cause = (0, LAUNCH, 0, None)
    passes: tuple[int, Cause] | None = None


AT_ONCE = Begin()
