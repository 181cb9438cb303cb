"""Bulk copies without a tensor map, reductions by remote threads, and prefetches (PTX ISA,
cp.async.bulk, cp.reduce.async.bulk, red.async, prefetch).

A bulk copy moves one run of bytes: a multiple of 16, from and to addresses that are.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir.expr import Expr
from asyncsim.ir.operand import FragmentRef, GlobalView, MbarrierRef, OpBase, ReduceOp, SmemView


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkLoad(OpBase):
    """cp.async.bulk, global to shared, completing by bytes on an mbarrier.

    ``multicast``: a mask of CTA ranks; each gets the run at the same place, and the bytes.
    """

    dst: SmemView
    src: GlobalView
    mbarrier: MbarrierRef
    multicast: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkStore(OpBase):
    """cp.async.bulk, shared to global, completing in a bulk group.

    ``reduce``: cp.reduce.async.bulk, an atomic operation for each element.
    """

    dst: GlobalView
    src: SmemView
    reduce: ReduceOp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkSend(OpBase):
    """cp.async.bulk, the CTA's shared memory to that of another CTA of the cluster, completing by
    bytes on an mbarrier there.

    ``reduce``: cp.reduce.async.bulk, an atomic operation for each element.
    """

    dst: SmemView
    src: SmemView
    mbarrier: MbarrierRef
    reduce: ReduceOp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RedAsync(OpBase):
    """red.async: each lane's registers are reduced into the shared memory of another CTA; the bytes
    count on an mbarrier of that CTA."""

    dst: SmemView
    src: FragmentRef
    mbarrier: MbarrierRef
    reduce: ReduceOp


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPrefetch(OpBase):
    """cp.async.bulk.prefetch.L2: a hint; nothing completes."""

    src: GlobalView


@dataclass(frozen=True, slots=True, kw_only=True)
class TmaPrefetch(OpBase):
    """cp.async.bulk.prefetch.tensor.L2 of a box: a hint; nothing completes."""

    tensor_map: str
    src: GlobalView


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchTensorMap(OpBase):
    """prefetch.tensormap: a hint; nothing completes."""

    tensor_map: str


PrefetchOp = BulkPrefetch | TmaPrefetch | PrefetchTensorMap
BulkOp = BulkLoad | BulkStore | BulkSend | RedAsync | PrefetchOp
