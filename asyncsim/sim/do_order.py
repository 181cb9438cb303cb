"""Handlers of fences between threads, and of changes of tensor maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from asyncsim.ir import op as ops
from asyncsim.sim import do_sync
from asyncsim.sim.steps import Bound, Maker, Step

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent


def order_maker(b: Bound, op: ops.OrderOp) -> Maker:
    numbers = b.model.numbers
    match op:
        case ops.Fence(fence_scope=scope):
            key = "fence.cta" if scope is ops.FenceScope.CTA else "fence.gpu"
            return b.constant(b.step(do_sync.fence, numbers.ticks(key)))
        case ops.FenceProxyTensormap(tensor_map=None):
            return b.constant(b.step(do_sync.fence, numbers.ticks("fence.tensormap_release")))
        case ops.FenceProxyTensormap():
            return b.constant(b.step(do_sync.fence, numbers.ticks("fence.tensormap_acquire")))
        case ops.TensormapReplace(tensor_map=name):
            step = b.step(replace, numbers.ticks("tma.replace"))
            step.name = name
            return b.constant(step)
        case _ as unreachable:
            assert_never(unreachable)


def replace(a: Agent, s: Step) -> bool:
    """The next copy by the map fetches it again."""
    a.cta.sm.maps.pop(s.name, None)
    a.t += s.cost
    return True
