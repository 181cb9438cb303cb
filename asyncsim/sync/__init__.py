"""Synchronisation state machines: plain classes that know neither SimPy nor CUDA.

Check and simulate both drive them. Faults (overflow, use before init) are SyncFault values of the
rule they break; a machine never blocks, it says whether a wait passes.
"""

from asyncsim.sync.cluster_barrier import ClusterBarrierState
from asyncsim.sync.collective import WarpgroupCollective
from asyncsim.sync.groups import GroupQueue
from asyncsim.sync.mbarrier import ArriveState, MbarrierState, SyncFault
from asyncsim.sync.named_barrier import BLOCK, NamedBarrierState
from asyncsim.sync.registers import RegisterPool
from asyncsim.sync.tmem import TmemAllocator

__all__ = [
    "BLOCK",
    "ArriveState",
    "ClusterBarrierState",
    "GroupQueue",
    "MbarrierState",
    "NamedBarrierState",
    "RegisterPool",
    "SyncFault",
    "TmemAllocator",
    "WarpgroupCollective",
]
