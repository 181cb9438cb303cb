"""The barrier of a cluster."""

from __future__ import annotations

from asyncsim.build.families import Family
from asyncsim.ir import op as ops
from asyncsim.ir.op import Scope


class ClusterBarrierFamily(Family):
    """barrier.cluster: every thread of the cluster arrives, then waits."""

    def arrive(self, *, relaxed: bool = False) -> None:
        """barrier.cluster.arrive: release at cluster scope, or nothing if ``relaxed``."""
        self._k.emit(ops.BarrierClusterArrive, scope=Scope.WARP, relaxed=relaxed)

    def wait(self) -> None:
        """barrier.cluster.wait: acquire what the arrives released."""
        self._k.emit(ops.BarrierClusterWait, scope=Scope.WARP)

    def sync(self) -> None:
        """Arrive, then wait."""
        self.arrive()
        self.wait()
