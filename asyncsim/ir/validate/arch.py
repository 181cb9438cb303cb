"""Each op against the architectures that the schedule declares."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import assert_never

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, Op
from asyncsim.ir.schedule import Schedule

AMPERE = ("sm_80", "sm_86", "sm_87", "sm_89")
HOPPER = ("sm_90", "sm_90a")
BLACKWELL = ("sm_100", "sm_100a", "sm_103", "sm_103a", "sm_120", "sm_120a")
ARCHS = AMPERE + HOPPER + BLACKWELL


class Needs(Enum):
    """The architectures that have an instruction (PTX ISA, target notes)."""

    ANY = ARCHS
    HOPPER_ON = HOPPER + BLACKWELL
    SM_90A = ("sm_90a",)
    BLACKWELL_ON = BLACKWELL
    OWN_TARGET = ("sm_90a", "sm_100a", "sm_103a", "sm_120a")
    SM_100A = ("sm_100a", "sm_103a")


def needs(op: Op) -> Needs:
    """Which architectures can execute an op."""
    match op:
        case (
            ops.MbarrierInit()
            | ops.MbarrierInval()
            | ops.MbarrierTestWait()
            | ops.CpAsync()
            | ops.CpAsyncMbarrierArrive()
            | ops.BarSync()
            | ops.BarArrive()
            | ops.BarWarpSync()
            | ops.LdGlobal()
            | ops.AtomAdd()
            | ops.StGlobal()
            | ops.LdShared()
            | ops.StShared()
            | ops.LdMatrix()
            | ops.MmaSync()
            | ops.Compute()
        ):
            return Needs.ANY
        case ops.MbarrierArrive(count=count, no_complete=no_complete):
            return Needs.ANY if count == 1 or no_complete else Needs.HOPPER_ON
        case (
            ops.MbarrierExpectTx()
            | ops.MbarrierCompleteTx()
            | ops.MbarrierArriveExpectTx()
            | ops.MbarrierWait()
            | ops.MbarrierWaitState()
            | ops.BulkLoad()
            | ops.BulkStore()
            | ops.BulkSend()
            | ops.RedAsync()
            | ops.BulkPrefetch()
            | ops.TmaPrefetch()
            | ops.PrefetchTensorMap()
            | ops.FenceProxyTensormap()
            | ops.GriddepcontrolLaunchDependents()
            | ops.GriddepcontrolWait()
            | ops.FenceMbarrierInit()
            | ops.FenceProxyAsync()
            | ops.BarrierClusterArrive()
            | ops.BarrierClusterWait()
            | ops.StAsync()
            | ops.StMatrix()
        ):
            return Needs.HOPPER_ON
        case ops.TmaLoad(rows=rows, halo=halo):  # gather4, im2col::w
            return Needs.SM_100A if rows or halo is not None else Needs.HOPPER_ON
        case ops.TmaStore(rows=rows):  # scatter4
            return Needs.SM_100A if rows else Needs.HOPPER_ON
        case ops.CommitGroup(kind=kind) | ops.WaitGroup(kind=kind):
            return _GROUPS[kind]
        case ops.WgmmaFence() | ops.WgmmaMmaAsync():
            return Needs.SM_90A
        case ops.Fence(fence_scope=scope):
            return Needs.HOPPER_ON if scope is ops.FenceScope.CLUSTER else Needs.ANY
        case ops.ClcTryCancel() | ops.ClcQueryCancel():
            return Needs.BLACKWELL_ON
        case ops.SetMaxNReg() | ops.TensormapReplace():
            return Needs.OWN_TARGET
        case (
            ops.Tcgen05Alloc()
            | ops.Tcgen05Dealloc()
            | ops.Tcgen05RelinquishAllocPermit()
            | ops.Tcgen05Mma()
            | ops.Tcgen05Commit()
            | ops.Tcgen05Cp()
            | ops.Tcgen05Shift()
            | ops.Tcgen05Ld()
            | ops.Tcgen05St()
            | ops.Tcgen05Wait()
            | ops.Tcgen05Fence()
        ):
            return Needs.SM_100A
        case _ as unreachable:
            assert_never(unreachable)


_GROUPS = {
    GroupKind.CP_ASYNC: Needs.ANY,
    GroupKind.BULK: Needs.HOPPER_ON,
    GroupKind.WGMMA: Needs.SM_90A,
}


def _known(s: Schedule) -> Iterator[ScheduleError]:
    if not s.archs:
        yield ScheduleError("no architecture is declared", fix='e.g. archs=("sm_90a",)')
    for arch in s.archs:
        if arch not in ARCHS:
            yield ScheduleError(
                f"unknown architecture {arch!r}", fix=f"use one of {', '.join(ARCHS)}"
            )


def _has_instructions(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        have = needs(op).value
        lacking = [arch for arch in s.archs if arch not in have]
        if lacking:
            yield ScheduleError(
                f"{type(op).__name__} does not exist on {', '.join(lacking)}, which the schedule "
                "declares",
                fix=f"declare archs among {', '.join(have)}",
                loc=op.loc,
            )


CHECKS = (_known, _has_instructions)
