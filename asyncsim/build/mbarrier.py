"""mbarrier.*: init, arrivals, bytes, waits."""

from __future__ import annotations

from dataclasses import replace

from asyncsim.build.families import Family
from asyncsim.build.handles import MbarrierArray, StateHandle, TokenHandle
from asyncsim.build.value import Index, as_expr, whole
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.op import MbarrierRef, MemScope


class MbarrierFamily(Family):
    """mbarrier.* (PTX ISA, Parallel Synchronization: mbarrier)."""

    def init(self, barrier: MbarrierRef, count: int) -> None:
        """mbarrier.init: phase 0, ``count`` arrivals pending."""
        self._k.emit(ops.MbarrierInit, mbarrier=barrier, count=whole(count))

    def init_all(self, *arrays: MbarrierArray) -> None:
        """mbarrier.init of every stage of each array, with its declared count."""
        for array in arrays:
            for stage in range(array.decl.stages):
                self.init(array[stage], array.decl.count)

    def inval(self, barrier: MbarrierRef) -> None:
        """mbarrier.inval: the memory may be used for something else."""
        self._k.emit(ops.MbarrierInval, mbarrier=barrier)

    def at(self, barrier: MbarrierRef, rank: Index) -> MbarrierRef:
        """The barrier at the same place in another CTA of the cluster (mapa)."""
        return replace(barrier, rank=as_expr(rank))

    def arrive(
        self,
        barrier: MbarrierRef,
        count: int = 1,
        *,
        state: StateHandle | None = None,
        scope: str = "cta",
        relaxed: bool = False,
        no_complete: bool = False,
    ) -> None:
        """mbarrier.arrive; every lane that runs it arrives. Releases at ``scope``, "cta" or
        "cluster"; ``relaxed`` releases nothing. ``state`` keeps what it returns, for
        ``wait_state``; an arrive on a barrier of another CTA returns nothing. ``no_complete``:
        arrive.noComplete, which others must follow in the phase."""
        self._k.emit(
            ops.MbarrierArrive,
            mbarrier=barrier,
            count=whole(count),
            state=_name(state),
            memory=_scope(scope),
            relaxed=relaxed,
            no_complete=no_complete,
        )

    def arrive_drop(
        self,
        barrier: MbarrierRef,
        count: int = 1,
        *,
        state: StateHandle | None = None,
        scope: str = "cta",
        relaxed: bool = False,
    ) -> None:
        """mbarrier.arrive_drop: arrive, and let all later phases need ``count`` arrivals fewer."""
        self._k.emit(
            ops.MbarrierArrive,
            mbarrier=barrier,
            count=whole(count),
            state=_name(state),
            memory=_scope(scope),
            relaxed=relaxed,
            drop=True,
        )

    def expect_tx(self, barrier: MbarrierRef, bytes: Index) -> None:
        """mbarrier.expect_tx (relaxed): announce bytes, no arrival."""
        self._k.emit(ops.MbarrierExpectTx, mbarrier=barrier, bytes=as_expr(bytes))

    def complete_tx(self, barrier: MbarrierRef, bytes: Index) -> None:
        """mbarrier.complete_tx (relaxed): bytes count as landed, without a copy."""
        self._k.emit(ops.MbarrierCompleteTx, mbarrier=barrier, bytes=as_expr(bytes))

    def arrive_expect_tx(
        self,
        barrier: MbarrierRef,
        bytes: Index,
        *,
        state: StateHandle | None = None,
        scope: str = "cta",
        relaxed: bool = False,
    ) -> None:
        """mbarrier.arrive.expect_tx: announce bytes, then arrive, as one instruction."""
        self._k.emit(
            ops.MbarrierArriveExpectTx,
            mbarrier=barrier,
            bytes=as_expr(bytes),
            state=_name(state),
            memory=_scope(scope),
            relaxed=relaxed,
        )

    def wait(
        self,
        barrier: MbarrierRef,
        parity: Index,
        *,
        peek: TokenHandle | None = None,
        scope: str = "cta",
        relaxed: bool = False,
    ) -> None:
        """Block until the phase of this parity has completed (try_wait in a loop). Acquires at
        ``scope``; ``relaxed`` acquires nothing. ``peek``: skipped if that token has passed."""
        self._k.emit(
            ops.MbarrierWait,
            mbarrier=barrier,
            parity=as_expr(parity),
            memory=_scope(scope),
            relaxed=relaxed,
            peek=peek.decl.name if peek is not None else None,
        )

    def peek(
        self,
        barrier: MbarrierRef,
        parity: Index,
        token: TokenHandle,
        *,
        scope: str = "cta",
        relaxed: bool = False,
    ) -> None:
        """mbarrier.test_wait: ``token`` keeps whether the phase of this parity has completed, for
        the ``wait`` on the same phase that comes later."""
        self._k.emit(
            ops.MbarrierTestWait,
            mbarrier=barrier,
            parity=as_expr(parity),
            token=token.decl.name,
            memory=_scope(scope),
            relaxed=relaxed,
        )

    def wait_state(
        self, barrier: MbarrierRef, state: StateHandle, *, scope: str = "cta", relaxed: bool = False
    ) -> None:
        """Block until the phase has completed that this thread's arrive counted in. Acquires as
        ``wait`` does."""
        self._k.emit(
            ops.MbarrierWaitState,
            mbarrier=barrier,
            state=state.decl.name,
            memory=_scope(scope),
            relaxed=relaxed,
        )


def _name(state: StateHandle | None) -> str | None:
    return state.decl.name if state is not None else None


def _scope(name: str) -> MemScope:
    try:
        return MemScope(name)
    except ValueError:
        raise ScheduleError(
            f"memory scope {name!r}", fix="use cta or cluster", loc=caller()
        ) from None
