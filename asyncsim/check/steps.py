"""What each op does to the state machines and the clocks: one handler per op.

``bind`` is the one place that knows every op. Accesses and copies are in copies.py, wgmma in
collectives.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, assert_never

from asyncsim.check.barrier import Barrier
from asyncsim.check.clock import Section
from asyncsim.check.collectives import WgmmaSteps, join_lanes
from asyncsim.check.copies import Copies
from asyncsim.check.model import Agent, Peek, Step, chains_of
from asyncsim.check.report import Fault, StopExecution
from asyncsim.check.scopes import peek_of
from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, Op, Scope
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Dyn
from asyncsim.sync import SyncFault

if TYPE_CHECKING:
    from asyncsim.check.execution import Execution

Handler = Callable[[Agent, Step], bool]
"""Execute an op; False if it blocks (it is called again later)."""


class Steps:
    """The ops of an execution."""

    def __init__(self, execution: Execution) -> None:
        self._x = execution
        self.copies = Copies(execution)
        self.wgmma = WgmmaSteps(execution)

    def bind(self, op: Op) -> Handler:
        """The handler of an op."""
        if isinstance(op, ops.Tcgen05Op):
            return self._x.tcgen05.bind(op)
        if isinstance(op, ops.BulkOp | ops.ClcOp):
            return self._bulk(op)
        if isinstance(op, ops.OrderOp | ops.GridDependencyOp):
            return self._order(op)
        if isinstance(op, ops.MatrixOp):
            return self._matrix(op)
        match op:
            case ops.MbarrierInit() | ops.MbarrierInval():
                return self._lifecycle
            case ops.MbarrierArrive():
                return partial(self._arrive, tx=False)
            case ops.MbarrierArriveExpectTx():
                return partial(self._arrive, tx=True)
            case ops.MbarrierExpectTx():
                return self._expect
            case ops.MbarrierCompleteTx():
                return self._complete
            case ops.MbarrierWait(peek=None):
                return self._wait
            case ops.MbarrierWait():
                return self._wait_unless
            case ops.MbarrierTestWait():
                return self._peek
            case ops.MbarrierWaitState():
                return self._wait_state
            case ops.CpAsync():
                return partial(self.copies.grouped_copy, kind=GroupKind.CP_ASYNC)
            case ops.CpAsyncMbarrierArrive():
                assert self._x.tracked is not None
                return self._x.tracked.arrive
            case ops.TmaLoad():
                return self.copies.tma_load
            case ops.TmaStore(rows=rows) if rows:
                return self.copies.scatter
            case ops.TmaStore():
                return partial(self.copies.grouped_copy, kind=GroupKind.BULK)
            case ops.CommitGroup(kind=GroupKind.WGMMA):
                return self.wgmma.commit
            case ops.CommitGroup():
                return self.copies.commit
            case ops.WaitGroup(kind=GroupKind.WGMMA):
                return self.wgmma.wait
            case ops.WaitGroup():
                return self.copies.wait_group
            case ops.FenceMbarrierInit():
                return self._fence_init
            case ops.FenceProxyAsync():
                return self._fence_proxy
            case ops.BarSync():
                return self._bar_sync
            case ops.BarArrive():
                return self._bar_arrive
            case ops.BarWarpSync():
                return self._warp_sync
            case ops.SetMaxNReg():
                return self._setmaxnreg
            case ops.WgmmaFence():
                return self.wgmma.fence
            case ops.WgmmaMmaAsync():
                return self.wgmma.mma
            case ops.BarrierClusterArrive(relaxed=relaxed):
                return partial(self._cluster_arrive, relaxed=relaxed)
            case ops.BarrierClusterWait():
                return self._cluster_wait
            case ops.StAsync():
                return self.copies.st_async
            case ops.StGlobal() | ops.StShared():
                return self.copies.store
            case ops.LdGlobal() | ops.LdShared() | ops.AtomAdd() | ops.Compute():
                return self.copies.plain
            case _ as unreachable:
                assert_never(unreachable)

    def _bulk(self, op: ops.BulkOp | ops.ClcOp) -> Handler:
        match op:
            case ops.BulkLoad() | ops.BulkSend() | ops.ClcTryCancel():
                return self.copies.tma_load
            case ops.BulkStore():
                return partial(self.copies.grouped_copy, kind=GroupKind.BULK)
            case ops.RedAsync():
                return self.copies.st_async
            case ops.ClcQueryCancel():
                return self.copies.plain
            case ops.BulkPrefetch() | ops.TmaPrefetch() | ops.PrefetchTensorMap():
                return lambda agent, step: True  # hints
            case _ as unreachable:
                assert_never(unreachable)

    def _matrix(self, op: ops.MatrixOp) -> Handler:
        """The lanes execute it together; that orders nothing that they do."""
        match op:
            case ops.LdMatrix() | ops.StMatrix() | ops.MmaSync():
                return lambda agent, step: (
                    self._x.joined(agent) and self.copies.plain(agent, step)
                )
            case _ as unreachable:
                assert_never(unreachable)

    def _order(self, op: ops.OrderOp | ops.GridDependencyOp) -> Handler:
        match op:
            case ops.Fence():
                return self._fence
            case ops.TensormapReplace():
                return self._x.maps.replace
            case ops.FenceProxyTensormap():
                return self._x.maps.fence
            case ops.GriddepcontrolWait():
                return self._wait_for_primary
            case ops.GriddepcontrolLaunchDependents():
                return lambda agent, step: True  # it orders nothing
            case _ as unreachable:
                assert_never(unreachable)

    def _wait_for_primary(self, agent: Agent, step: Step) -> bool:
        """All of the kernel before is over, and visible to every proxy."""
        layout, component = self._x.layout, self._x.primary
        known = sum(1 << layout.shift(s, component) for s in list(Section)[: Section.TENSOR])
        for chain in chains_of(agent, step):
            chain.clock = layout.join(chain.now(step.pos), known)
        return True

    def _fence(self, agent: Agent, step: Step) -> bool:
        op, join = step.dyn.op, self._x.layout.join
        assert isinstance(op, ops.Fence)
        for chain in chains_of(agent, step):
            chain.now(step.pos)
            chain.clock = join(chain.clock, chain.heard)
            if op.fence_scope is not ops.FenceScope.CTA:
                chain.clock = join(chain.clock, chain.heard_far)
                chain.sent_far = chain.publish(step.pos)
            chain.sent = chain.publish(step.pos)
        return True

    # -- mbarriers and fences ----------------------------------------------------------------

    def _barrier(self, dyn: Dyn) -> Barrier:
        assert dyn.barrier is not None
        return self._x.barriers.by_key[dyn.barrier]

    def _lifecycle(self, agent: Agent, step: Step) -> bool:
        b = self._barrier(step.dyn)
        init = isinstance(step.dyn.op, ops.MbarrierInit)
        if step.dyn.op.scope is not Scope.ELECTED:
            what, rule = (
                ("init", Rule.REINIT_WITHOUT_INVAL) if init else ("inval", Rule.USE_BEFORE_INIT)
            )
            message = f"32 lanes execute mbarrier.{what} of {b.key}; after the first of them it is "
            raise SyncFault(rule, message + ("live" if init else "invalid"))
        if init:
            self._x.barriers.init(b, step.dyn.value, step, chains_of(agent, step))
        else:
            self._x.barriers.inval(b, step, chains_of(agent, step))
        return True

    def _arrive(self, agent: Agent, step: Step, *, tx: bool) -> bool:
        dyn = step.dyn
        op = dyn.op
        assert isinstance(op, ops.MbarrierArriveOp)
        b = self._barrier(dyn)
        count, amount = (1, dyn.value) if tx else (dyn.value, 0)
        for chain in chains_of(agent, step):
            self._x.reach(chain, step, b)
            state = self._x.barriers.arrive(b, chain, step, count, amount)
            if op.state is not None:
                chain.states[op.state] = state
        return True

    def _expect(self, agent: Agent, step: Step) -> bool:
        b = self._barrier(step.dyn)
        for chain in chains_of(agent, step):
            self._x.reach(chain, step, b)
            self._x.barriers.expect(b, chain, step, step.dyn.value * chain.lanes)
        return True

    def _complete(self, agent: Agent, step: Step) -> bool:
        b = self._barrier(step.dyn)
        for chain in chains_of(agent, step):
            self._x.reach(chain, step, b)
            self._x.barriers.complete(b, chain, step, step.dyn.value)
        return True

    def _wait(self, agent: Agent, step: Step) -> bool:
        b = self._barrier(step.dyn)
        return self._pass(agent, step, b, passes=self._passes(step, b))

    def _wait_unless(self, agent: Agent, step: Step) -> bool:
        """A wait that its token lets the thread skip passes in any case: of a proof it is one wait
        with its peek, which may have failed."""
        b, skips = self._barrier(step.dyn), set()
        for chain in chains_of(agent, step):
            peek = peek_of(chain, step)
            if peek is not None and (peek.barrier, peek.parity) != (b.key, step.dyn.value):
                message = (
                    f"if the peek at {peek.barrier} parity {peek.parity} has passed, nobody waits "
                    f"for {b.key} parity {step.dyn.value}"
                )
                raise SyncFault(Rule.FOREIGN_STATE, message)
            skips.add(peek is not None and peek.passed)
        if len(skips) > 1:
            self._x.split(agent)
            return self._wait_unless(agent, step._replace(who=agent.who))
        return skips == {True} or self._wait(agent, step)

    def _peek(self, agent: Agent, step: Step) -> bool:
        op, b = step.dyn.op, self._barrier(step.dyn)
        assert isinstance(op, ops.MbarrierTestWait)
        chains = chains_of(agent, step)
        seen = self._passes(step, b)
        passed = seen and (
            not self._x.barriers.proves or all(self._x.barriers.certain(b, c, step) for c in chains)
        )
        for chain in chains:
            clock = chain.now(step.pos)
            chain.peeks[op.token] = Peek(step.dyn.barrier, step.dyn.value, clock, passed, seen)
        self._x.barriers.wait(b, chains, step, passes=passed)
        return True

    def _passes(self, step: Step, b: Barrier) -> bool:
        parity = step.dyn.value
        if parity not in (0, 1):
            message = f"parity {parity}; a wait names 0 or 1"
            fault = Fault(
                rule=Rule.PARITY_OUT_OF_RANGE, message=message, step=step, name=b.key.name
            )
            self._x.fault(fault)
            raise StopExecution(SyncFault(fault.rule, message))
        return b.state.passes(parity)

    def _wait_state(self, agent: Agent, step: Step) -> bool:
        """Each observer waits for the phase that its own arrive counted in."""
        op, b = step.dyn.op, self._barrier(step.dyn)
        assert isinstance(op, ops.MbarrierWaitState)
        held = [chain.states.get(op.state) for chain in chains_of(agent, step)]
        if len(set(held)) > 1:
            self._x.split(agent)
            return self._wait_state(agent, step._replace(who=agent.who))
        return self._pass(agent, step, b, passes=b.state.passes_state(*held))

    def _pass(self, agent: Agent, step: Step, b: Barrier, *, passes: bool) -> bool:
        if self._x.barriers.wait(b, chains_of(agent, step), step, passes=passes):
            return True
        b.waiters.append(agent)
        if agent.since is None:
            agent.since = b.state.generation
        return False

    def _fence_init(self, agent: Agent, step: Step) -> bool:
        for chain in chains_of(agent, step):
            chain.now(step.pos)
            for comp, value in chain.initialised.items():
                field = value << self._x.layout.shift(Section.SHARED_FENCE, comp)
                chain.clock = self._x.layout.join(chain.clock, field)
        return True

    def _fence_proxy(self, agent: Agent, step: Step) -> bool:
        op = step.dyn.op
        assert isinstance(op, ops.FenceProxyAsync)
        for chain in chains_of(agent, step):
            own = (step.pos + 1) << chain.shift_memory
            seen = self._x.layout.join(chain.now(step.pos), own)
            chain.clock = self._x.layout.join(
                chain.clock, self._x.fences.raised(seen, op.space, step.warp.place.rank)
            )
        return True

    # -- the warp as one -----------------------------------------------------------------------

    def _warp_sync(self, agent: Agent, step: Step) -> bool:
        if not self._x.joined(agent):
            return False
        join_lanes(self._x.layout, agent, step)
        return True

    def _setmaxnreg(self, agent: Agent, step: Step) -> bool:
        return self._x.joined(agent) and self._x.registers.execute(agent, step)

    def _bar_sync(self, agent: Agent, step: Step) -> bool:
        if agent.token is None:
            if not self._x.joined(agent):
                return False
            self._count_in(agent, step, agent)
            if self._x.even and agent.token != -1:
                return False  # woken with the others
        if agent.token == -1:
            return False
        join_lanes(self._x.layout, agent, step, agent.token or 0)
        return True

    def _cluster_arrive(self, agent: Agent, step: Step, *, relaxed: bool) -> bool:
        if not self._x.joined(agent):
            return False
        clock = join_lanes(self._x.layout, agent, step)
        self._x.cluster.arrive(step, clock, relaxed=relaxed)
        return True

    def _cluster_wait(self, agent: Agent, step: Step) -> bool:
        if not (self._x.joined(agent) and self._x.cluster.wait(agent, step)):
            return False
        join_lanes(self._x.layout, agent, step, self._x.cluster.released)
        return True

    def _bar_arrive(self, agent: Agent, step: Step) -> bool:
        if not self._x.joined(agent):
            return False
        self._count_in(agent, step, None)
        return True

    def _count_in(self, agent: Agent, step: Step, waiter: Agent | None) -> None:
        op = step.dyn.op
        assert isinstance(op, ops.BarSync | ops.BarArrive)
        clock = join_lanes(self._x.layout, agent, step)
        epoch = (step.pos + 1) << agent.warp.elected.shift_control
        b = self._x.named.by_id[step.warp.place.rank, op.barrier]
        self._x.named.arrive(b, step, clock, epoch, waiter)
