"""Fences between threads, and tensor maps that a kernel changes (PTX ISA, fence, tensormap)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from asyncsim.ir.expr import Expr
from asyncsim.ir.operand import OpBase


class FenceScope(Enum):
    """Whom a fence orders for (PTX ISA, memory consistency model: scope)."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence(OpBase):
    """fence.acq_rel or fence.sc (membar, __threadfence): with a relaxed arrive after it a release,
    with a relaxed wait before it an acquire, at ``fence_scope``."""

    fence_scope: FenceScope
    sc: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TensormapReplace(OpBase):
    """tensormap.replace: change a field of a map that lies in global memory.

    ``value``: of "global_address", by how many rows of the outermost dimension the map begins
    behind its tensor; of "global_dim", the extent of dimension ``dim``. None writes what the map
    was made with.
    """

    tensor_map: str
    field: str
    value: Expr | None = None
    dim: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceProxyTensormap(OpBase):
    """fence.proxy.tensormap::generic: with a ``tensor_map`` the acquire of whoever uses it, without
    one the release of the thread that has changed maps."""

    tensor_map: str | None = None


OrderOp = Fence | TensormapReplace | FenceProxyTensormap
