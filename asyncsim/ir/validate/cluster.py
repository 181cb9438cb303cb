"""Clusters: their size, operands of other CTAs, multicast masks."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError, SourceLoc
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Const, Expr
from asyncsim.ir.op import MbarrierRef, OpBase, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.views import parts_of
from asyncsim.rules import Rule

MAX_CLUSTER = 16  # 8 is portable, 16 needs an opt-in at launch (PTX rule on cluster sizes)

_OWN_ONLY = (
    ops.MbarrierInit
    | ops.MbarrierInval
    | ops.MbarrierWaitOp
    | ops.MbarrierTestWait
    | ops.CpAsyncMbarrierArrive
    | ops.ClcTryCancel
)
_REMOTE_VIEWS = ops.LdShared | ops.StShared | ops.StAsync | ops.RedAsync


def _size(s: Schedule) -> Iterator[ScheduleError]:
    if s.cluster_ctas > MAX_CLUSTER:
        yield ScheduleError(
            f"a cluster of {s.cluster_ctas} CTAs", fix=f"a cluster has at most {MAX_CLUSTER}"
        )
    for axis, grid, cluster in zip("xyz", s.grid, s.cluster, strict=True):
        if grid % cluster:
            yield ScheduleError(
                f"grid of {grid} CTAs in {axis}, clusters of {cluster}",
                fix=f"enlarge the grid to {-(-grid // cluster) * cluster}",
            )


def _needs_a_cluster(s: Schedule) -> Iterator[ScheduleError]:
    """What speaks to other CTAs; a cluster barrier works in a cluster of one, too."""
    if s.cluster_ctas > 1:
        return
    for op in s.ops():
        remote = any(rank is not None for rank in _ranks(op))
        if (
            remote
            or isinstance(op, ops.StAsync | ops.BulkSend | ops.RedAsync)
            or _mask(op) is not None
        ):
            yield ScheduleError(
                f"{type(op).__name__} speaks to other CTAs, and the schedule has no clusters",
                fix="declare k.cluster(2)",
                loc=op.loc,
            )


def _own_barriers(s: Schedule) -> Iterator[ScheduleError]:
    """init, inval and waits exist for the CTA's own barriers alone (PTX ISA, mbarrier)."""
    for op in s.ops():
        if isinstance(op, _OWN_ONLY) and op.mbarrier.rank is not None:
            yield ScheduleError(
                f"{type(op).__name__} on an mbarrier of another CTA",
                fix="other CTAs may arrive, expect and complete; init and wait in its own CTA",
                loc=op.loc,
            )


def _remote_views(s: Schedule) -> Iterator[ScheduleError]:
    """Only ld, st and st.async take an address of another CTA."""
    for op in s.ops():
        if isinstance(op, _REMOTE_VIEWS):
            continue
        if any(v.rank is not None for v in parts_of(op, SmemView) if not _is_sent(op, v)):
            yield ScheduleError(
                f"{type(op).__name__} has an operand in the shared memory of another CTA",
                fix="use ld, st, st_async, red_async, bulk.send; loads reach others by multicast",
                loc=op.loc,
            )


def _is_sent(op: OpBase, view: SmemView) -> bool:
    return isinstance(op, ops.BulkSend) and view is op.dst


def _async_stores(s: Schedule) -> Iterator[ScheduleError]:
    """st.async: data and barrier in the same CTA; 4, 8 or 16 bytes."""
    for op in s.ops():
        if not isinstance(op, ops.StAsync):
            continue
        if op.dst.rank is None or op.dst.rank != op.mbarrier.rank:
            yield ScheduleError(
                "st.async: its data and its mbarrier are not named in the same CTA",
                fix="give both at(rank)",
                loc=op.loc,
            )
        size = op.src.count * s.fragment(op.src.name).dtype.bytes
        if size not in (4, 8, 16):
            yield ScheduleError(f"st.async of {size} bytes", fix="use 4, 8 or 16", loc=op.loc)


def _masks(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        mask = _mask(op)
        if isinstance(mask, Const) and not 0 < mask.value < 1 << s.cluster_ctas:
            yield ScheduleError(
                f"multicast mask {mask.value:#x} in a cluster of {s.cluster_ctas} CTAs",
                fix=f"set at least one of the bits 0..{s.cluster_ctas - 1}, and no other",
                loc=op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )
    for what, rank, loc in _constant_ranks(s):
        if not 0 <= rank < s.cluster_ctas:
            yield ScheduleError(
                f"{what}: CTA {rank} of a cluster of {s.cluster_ctas}",
                fix=f"a rank is 0..{s.cluster_ctas - 1}",
                loc=loc,
                rule=Rule.OUT_OF_BOUNDS,
            )


def _constant_ranks(s: Schedule) -> Iterator[tuple[str, int, SourceLoc | None]]:
    for op in s.ops():
        for rank in _ranks(op):
            if isinstance(rank, Const):
                yield type(op).__name__, rank.value, op.loc


def _mask(op: OpBase) -> Expr | None:
    return op.multicast if isinstance(op, ops.LoadOp | ops.Tcgen05Commit) else None


def _ranks(op: OpBase) -> Iterator[Expr | None]:
    return (part.rank for part in op.parts() if isinstance(part, MbarrierRef | SmemView))


CHECKS = (_size, _needs_a_cluster, _own_barriers, _remote_views, _async_stores, _masks)
