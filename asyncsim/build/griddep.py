"""griddepcontrol: where a kernel lets the next one start, and where it waits for the one before."""

from __future__ import annotations

from asyncsim.build.families import Family
from asyncsim.ir import op as ops


class GriddepcontrolFamily(Family):
    """griddepcontrol.* (programmatic dependent launch)."""

    def launch_dependents(self) -> None:
        """Once all CTAs have executed it, or have ended, the dependent kernel may start."""
        self._k.emit(ops.GriddepcontrolLaunchDependents)

    def wait(self) -> None:
        """Until the kernel before has ended and its memory is visible."""
        self._k.emit(ops.GriddepcontrolWait)
