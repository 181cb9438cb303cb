"""Tensor maps that the kernel changes: who changed them, and who may use them again.

A copy reads its map through a proxy of its own. After a change: fence.proxy.tensormap release by
the thread that made it, an order between the threads, and the acquire, for this map, by the
thread that issues the copy. Before a change: every copy by the map is complete.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from asyncsim.check.clock import Section
from asyncsim.check.copies import epoch_before
from asyncsim.check.describe import op_text
from asyncsim.check.model import Agent, Chain, Step, Touch, chains_of
from asyncsim.check.report import Fault
from asyncsim.ir import op as ops
from asyncsim.memory.region import SmemRegion
from asyncsim.rules import Rule

if TYPE_CHECKING:
    from asyncsim.check.execution import Execution

MapKey = tuple[int, str]
"""The CTA whose copy of a map it is, and its name."""


@dataclass(slots=True)
class _Map:
    """``changed``: the last change, ``released``: the fence after it; ``acquired``: the change that
    each observer's last fence has covered; ``uses``: touches of copies by the map."""

    changed: tuple[Chain, Step] | None = None
    released: tuple[Chain, Step] | None = None
    acquired: dict[int, Step] = field(default_factory=dict)
    uses: dict[tuple[int, int, int], Touch] = field(default_factory=dict)


class TensorMaps:
    """The maps of a cluster's CTAs: each CTA has its own copy of a map in global memory."""

    def __init__(self, execution: Execution) -> None:
        self._x = execution
        self._maps: dict[MapKey, _Map] = {}
        self._ordered = execution.layout.guards[Section.MEMORY]

    def _map(self, step: Step, name: str) -> _Map:
        return self._maps.setdefault((step.warp.place.rank, name), _Map())

    def _after(self, clock: int, chain: Chain, step: Step) -> bool:
        """Whether a clock knows a step."""
        epoch = epoch_before(self._x.layout, chain, step.pos + 1)
        return self._x.layout.covers(clock, epoch, self._ordered)

    def replace(self, agent: Agent, step: Step) -> bool:
        op = step.dyn.op
        assert isinstance(op, ops.TensormapReplace)
        found = self._map(step, op.tensor_map)
        for chain in chains_of(agent, step):
            clock = chain.now(step.pos)
            if found.changed is not None and not self._after(clock, *found.changed):
                message = f"two threads change {op.tensor_map} in no order"
                self._fault(
                    Rule.DESCRIPTOR_LIFETIME, message, step, found.changed[1], op.tensor_map
                )
            for use in found.uses.values():
                if not self._over(use, clock):
                    message = (
                        f"{op_text(use.step.dyn)} may still use {op.tensor_map}, which changes"
                    )
                    self._fault(Rule.DESCRIPTOR_LIFETIME, message, step, use.step, op.tensor_map)
            found.changed, found.released = (chain, step), None
        found.uses.clear()
        return True

    def _over(self, use: Touch, clock: int) -> bool:
        if use.flight is not None and use.flight.retired is None:
            return False
        return use.end != 0 and self._x.layout.covers(clock, use.end, self._ordered)

    def fence(self, agent: Agent, step: Step) -> bool:
        op = step.dyn.op
        assert isinstance(op, ops.FenceProxyTensormap)
        for chain in chains_of(agent, step):
            if op.tensor_map is not None:
                self._acquire(chain, step, op.tensor_map)
                continue
            for (rank, _), found in self._maps.items():
                if rank == step.warp.place.rank and found.changed and found.changed[0] is chain:
                    found.released = chain, step
        return True

    def _acquire(self, chain: Chain, step: Step, name: str) -> None:
        found = self._map(step, name)
        if found.changed is None or found.released is None:
            return
        if self._after(chain.now(step.pos), *found.released):
            found.acquired[chain.component] = found.changed[1]

    def used(self, chain: Chain, step: Step, touch: Touch) -> None:
        """A copy by a map touches shared memory."""
        op = step.dyn.op
        if not isinstance(op, ops.TmaLoad | ops.TmaStore):
            return
        if not isinstance(touch.access.region, SmemRegion):
            return
        found = self._map(step, op.tensor_map)
        found.uses[op.id, chain.component, id(touch.access.region)] = touch
        if found.changed is None or found.acquired.get(chain.component) is found.changed[1]:
            return
        name, (writer, change) = op.tensor_map, found.changed
        if not self._after(chain.now(step.pos), writer, change):
            message = f"{op_text(step.dyn)} uses {name} in no order with its change"
            self._fault(Rule.DESCRIPTOR_LIFETIME, message, step, change, name)
            return
        lacks = "acquire" if found.released is not None else "release"
        message = f"{op_text(step.dyn)} uses {name}, changed without fence.proxy.tensormap {lacks}"
        self._fault(Rule.MISSING_PROXY_FENCE, message, step, change, name)

    def _fault(self, rule: Rule, message: str, step: Step, other: Step, name: str) -> None:
        fences = rule is Rule.MISSING_PROXY_FENCE
        self._x.fault(
            Fault(
                rule=rule,
                message=message,
                step=step,
                other=other,
                name=name,
                missing="fence.proxy.tensormap on both sides" if fences else "",
                repair="k.fence.tensormap_release() after the change, and "
                f"k.fence.tensormap_acquire({name}) by the thread that copies, after the barrier"
                if fences
                else "",
            )
        )
