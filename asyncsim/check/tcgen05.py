"""tcgen05 ops of an execution: tensor memory, what completes when, fences between threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, assert_never

from asyncsim.check.clock import Section
from asyncsim.check.collectives import join_lanes
from asyncsim.check.contents import use_registers
from asyncsim.check.copies import Landing, epoch_after
from asyncsim.check.describe import op_text
from asyncsim.check.model import Agent, Chain, Step, Touch, Who, chains_of
from asyncsim.check.pair import PairOps
from asyncsim.check.report import Clash, Fault, Reason
from asyncsim.check.tmem import TensorClock, TensorMemory
from asyncsim.check.tmem_alloc import Allocations
from asyncsim.ir import op as ops
from asyncsim.ir.op import Tcgen05Op
from asyncsim.ir.tcgen05 import Tcgen05Access, Tcgen05Side
from asyncsim.memory.region import RegisterRegion, SmemRegion, TmemRegion
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access, Proxy

if TYPE_CHECKING:
    from asyncsim.check.execution import Execution


class Tcgen05Steps:
    """The tcgen05 ops of an execution."""

    def __init__(self, execution: Execution, clock: TensorClock) -> None:
        self._x, self._clock = execution, clock
        self.memory = TensorMemory(clock, execution.clash)
        self.allocations = Allocations(execution.layout, execution.fault, execution.breach)
        self.pairs = PairOps(execution.wake)
        self._flying: dict[int, dict[Tcgen05Access, list[Touch]]] = {}
        self._loading: dict[int, list[tuple[str, int, Step]]] = {}  # registers of a warp's ld
        observers = 2 * len(execution.warps)
        fields = sum(1 << 32 * i for i in range(observers, execution.layout.components))
        self._async = (fields * 0xFFFFFFFF) << execution.layout.width  # MEMORY, without observers
        self._async &= execution.layout.masks[Section.MEMORY]

    def bind(self, op: Tcgen05Op) -> Callable[[Agent, Step], bool]:
        """The handler of an op."""
        match op:
            case ops.Tcgen05Alloc(cta_group=group):
                return partial(self._alloc, pair=group == 2)
            case ops.Tcgen05Dealloc(cta_group=group):
                return partial(self._dealloc, pair=group == 2)
            case ops.Tcgen05RelinquishAllocPermit():
                return self._relinquish
            case ops.Tcgen05Mma() | ops.Tcgen05Cp() | ops.Tcgen05Shift():
                return self._issue
            case ops.Tcgen05Commit():
                return self._commit
            case ops.Tcgen05Ld():
                return partial(self._move, kind=Tcgen05Access.LD)
            case ops.Tcgen05St():
                return partial(self._move, kind=Tcgen05Access.ST)
            case ops.Tcgen05Wait(what=what):
                return partial(self._wait, kind=what)
            case ops.Tcgen05Fence(side=side):
                return partial(self._fence, side=side)
            case _ as unreachable:
                assert_never(unreachable)

    # -- allocations -----------------------------------------------------------------------------

    def _alloc(self, agent: Agent, step: Step, *, pair: bool) -> bool:
        if not self._x.joined(agent) or not (self._with_peer(agent, step) if pair else True):
            return False
        chain = agent.warp.elected
        (access,) = step.dyn.accesses
        word = _word(access)
        if not self.allocations.alloc(chain, step, word.name):
            self.allocations.blocked.append(agent)
            return False
        join_lanes(self._x.layout, agent, step)
        self._touch_word(agent, step, access)
        return True

    def _dealloc(self, agent: Agent, step: Step, *, pair: bool) -> bool:
        if not self._x.joined(agent) or not (self._with_peer(agent, step) if pair else True):
            return False
        chain = agent.warp.elected
        (access,) = step.dyn.accesses
        word = _word(access)
        self._touch_word(agent, step, access)
        if self.allocations.dealloc(chain, step, word.name) is not None:
            self._no_longer_used(chain, step, word)
            self.memory.forget(word.owner, word.name)
            blocked, self.allocations.blocked = self.allocations.blocked, []
            self._x.wake(blocked)
        join_lanes(self._x.layout, agent, step)
        return True

    def _no_longer_used(self, chain: Chain, step: Step, word: SmemRegion) -> None:
        """dealloc is synchronous: no fence, but all accesses must be over."""
        clock = chain.now(step.pos)
        for x in self.memory.touches(word.owner, word.name):
            if not x.end or not self._clock.covers(clock, x.end, self._clock.control):
                freed = Touch(step, Who.BOTH, Access(x.access.region, True, Proxy.GENERIC), 0)
                region = x.access.region
                assert isinstance(region, TmemRegion)
                self._x.clash(
                    Clash(
                        reason=Reason.RACE,
                        earlier=x,
                        later=freed,
                        name=region.name,
                        committed=self.memory.completes(x),
                    )
                )

    def _with_peer(self, agent: Agent, step: Step) -> bool:
        """Both CTAs of the pair execute it together; the peer must run."""
        rank = step.warp.place.rank
        self._x.peers.started(agent.warp.elected, step, rank ^ 1)
        return self.pairs.meet(agent, step, rank)

    def _touch_word(self, agent: Agent, step: Step, access: Access) -> None:
        parts = [(c, epoch_after(self._x.layout, c, step), None) for c in chains_of(agent, step)]
        self._x.steps.copies.touch(step, access, parts)

    def _relinquish(self, agent: Agent, step: Step) -> bool:
        if not self._x.joined(agent):
            return False
        self.allocations.relinquish(agent.warp.elected, step)
        self._meet(agent, step)
        return True

    # -- by one thread: mma, cp, shift, commit -----------------------------------------------------

    def _issue(self, agent: Agent, step: Step) -> bool:
        chain, warp = agent.warp.elected, agent.warp.index
        after = step.pos + 1
        over = self._clock.done(warp, after, Section.CONTROL, Section.TENSOR)
        read = self._clock.done(warp, after, Section.MEMORY, Section.SHARED_FENCE)
        for access in step.dyn.accesses:
            region = access.region
            if isinstance(region, TmemRegion):
                self._tensor(chain, (chain,), step, access, over)
            elif access.proxy is Proxy.GENERIC:
                self._touch_word(agent, step, access)
                continue
            else:
                self._x.steps.copies.touch(step, access, [(chain, read, None)])
            owner = region.owner if isinstance(region, SmemRegion | TmemRegion) else 0
            done = over & self._x.layout.masks[Section.CONTROL]
            self._x.peers.reach(chain, step, owner, done)
        return True

    def _tensor(
        self, chain: Chain, chains: tuple[Chain, ...], step: Step, access: Access, end: int
    ) -> Touch | None:
        """An access to tensor memory that is over at ``end`` (0: not known yet)."""
        region = access.region
        assert isinstance(region, TmemRegion)
        if not self.allocations.use(chain, step, region):
            return None
        touch = Touch(step, chain.who if len(chains) == 1 else Who.BOTH, access, 0, end)
        written = self.memory.access(touch, chains)
        if not written and not access.write:
            message = f"{op_text(step.dyn)} reads {region.name} where nothing has been written"
            self._x.fault(
                Fault(
                    rule=Rule.READ_BEFORE_ARRIVAL,
                    message=message,
                    step=step,
                    name=region.name,
                    missing="a write of the accumulator before the read",
                    repair="let the first mma overwrite: accumulate=0",
                )
            )
        return touch

    def _commit(self, agent: Agent, step: Step) -> bool:
        """An arrival when all this thread's ops so far are complete; a before-fence, too."""
        chain, warp, layout = agent.warp.elected, agent.warp.index, self._x.layout
        self._release(chain, step.pos)
        clock = self._x.steps.copies.issued(chain, step)
        epoch = self._clock.done(warp, step.pos + 1, Section.CONTROL)
        done = self._clock.done(warp, step.pos + 1, Section.CONTROL, Section.MEMORY, Section.TENSOR)
        # what the thread stored or acquired of stores is not released: PTX does not say so
        released = layout.join(clock & (layout.carried | self._async), done)
        self.memory.committed[warp] = step.pos
        for key in step.dyn.barriers:
            b = self._x.barriers.by_key[key]
            if key.cta != step.warp.place.rank:
                self._x.peers.started(chain, step, key.cta)
            self._x.barriers.knows_init(b, chain.now(step.pos), step)
            self._x.steps.copies.published(b, chain, step)
            self._x.flying.append(Landing(b, clock, step, [], 0, (released, epoch)))
        self._x.recent.append((step, False))
        self._x.policy.issued(self._x)
        return True

    # -- by a warp: ld, st, wait -------------------------------------------------------------------

    def _move(self, agent: Agent, step: Step, *, kind: Tcgen05Access) -> bool:
        if not self._x.joined(agent):
            return False
        self._meet(agent, step)
        chains = (agent.warp.elected, agent.warp.others)
        for access in step.dyn.accesses:
            region = access.region
            if isinstance(region, TmemRegion):
                touch = self._tensor(chains[0], chains, step, access, 0)
                if touch is not None:
                    flying = self._flying.setdefault(agent.warp.index, {})
                    flying.setdefault(kind, []).append(touch)
            elif isinstance(region, RegisterRegion):
                self._x.touch_registers(step, region)
                reads = [] if access.write else [region]
                use_registers(chains, step, reads, [region], self._x.fault)
                if access.write:
                    loading = self._loading.setdefault(agent.warp.index, [])
                    loading.append((region.name, region.mask, step))
            else:
                self._touch_word(agent, step, access)
        return True

    def _wait(self, agent: Agent, step: Step, *, kind: Tcgen05Access) -> bool:
        if not self._x.joined(agent):
            return False
        self._meet(agent, step)
        elected, others = agent.warp.elected, agent.warp.others
        after = step.pos + 1
        counter = elected if kind is Tcgen05Access.LD else others
        known = self._clock.field(Section.TENSOR, counter.component, after)
        end = known | after << elected.shift_control | after << others.shift_control
        for touch in self._flying.get(agent.warp.index, {}).pop(kind, ()):
            touch.end = end
        if kind is Tcgen05Access.LD:
            self._loading.pop(agent.warp.index, None)
        for chain in (elected, others):
            chain.acquired = self._clock.join(chain.acquired, known)
        return True

    def touch_registers(self, step: Step, region: RegisterRegion) -> None:
        """Registers are used: no tcgen05.ld may still be writing them."""
        loading = self._loading.get(step.warp.index, [])
        for entry in loading:
            name, mask, load = entry
            if name == region.name and mask & region.mask:
                message = f"{name} is touched while {op_text(load.dyn)} may still write it"
                self._x.fault(
                    Fault(
                        rule=Rule.FRAGMENT_IN_FLIGHT,
                        message=message,
                        step=step,
                        other=load,
                        name=name,
                        missing="tcgen05.wait::ld between them",
                        repair="add k.tcgen05.wait_ld() before the registers are touched",
                    )
                )
                loading.remove(entry)  # one missing wait is one finding
                return

    # -- order -------------------------------------------------------------------------------------

    def _fence(self, agent: Agent, step: Step, *, side: Tcgen05Side) -> bool:
        for chain in chains_of(agent, step):
            clock = chain.now(step.pos)
            if side is Tcgen05Side.BEFORE:
                self._release(chain, step.pos)
            else:
                chain.acquired = self._clock.join(chain.acquired, clock & self._clock.mask)
        return True

    def _release(self, chain: Chain, pos: int) -> None:
        """What the next signal tells of tcgen05 ops: those known here, and those issued here."""
        released = chain.acquired
        if chain.who is Who.ELECTED:
            released = self._clock.join(released, self._clock.issued(chain.warp.index, pos))
        chain.clock = self._clock.join(chain.now(pos), released)

    def _meet(self, agent: Agent, step: Step) -> None:
        """All lanes are here: that orders what they do, and makes nothing visible."""
        layout, warp = self._x.layout, agent.warp
        clock = layout.join(warp.elected.publish(step.pos), warp.others.publish(step.pos))
        for chain in (warp.elected, warp.others):
            chain.clock = layout.join(chain.now(step.pos), clock & layout.carried)

    def check_exit(self) -> None:
        """What a finished execution leaves allocated."""
        schedule = self._x.schedule
        self.allocations.check_exit(schedule.ctas_per_sm, schedule.ctas)


def _word(access: Access) -> SmemRegion:
    region = access.region
    assert isinstance(region, SmemRegion)
    return region
