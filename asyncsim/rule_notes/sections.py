"""The sections of the PTX ISA that each rule rests on. Numbers are those of version 9.1."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.rules import Rule

PTX_ISA = "PTX ISA 9.1"


@dataclass(frozen=True, slots=True)
class Section:
    """A numbered section, or, with an empty number, another document."""

    number: str
    title: str

    def __str__(self) -> str:
        return f"{self.number} {self.title}".strip()


PROXIES = Section("8.6", "Proxies")
RACES = Section("8.7.1", "Conflict and Data-races")
ASYNC_ORDER = Section("8.9.1.1", "Asynchronous Operations")
BOUNDS = Section("5.5.3.3", "Out of Boundary Access")
SWIZZLE = Section("5.5.7", "Swizzling Modes")
TENSOR_MAPS = Section("5.5.8", "Tensor-map")
CP_ASYNC = Section("9.7.9.25.3.1", "cp.async")
CP_ASYNC_COMMIT = Section("9.7.9.25.3.2", "cp.async.commit_group")
CP_ASYNC_WAIT = Section("9.7.9.25.3.3", "cp.async.wait_group, cp.async.wait_all")
COMPLETION = Section("9.7.9.25.1", "Completion Mechanisms for Asynchronous Copy Operations")
COPY_PROXY = Section("9.7.9.25.2", "Async Proxy")
BULK = Section("9.7.9.25.4.1", "cp.async.bulk")
TMA = Section("9.7.9.27.1.2", "cp.async.bulk.tensor")
BULK_COMMIT = Section("9.7.9.27.2.1", "cp.async.bulk.commit_group")
BULK_WAIT = Section("9.7.9.27.2.2", "cp.async.bulk.wait_group")
BAR = Section("9.7.13.1", "bar, barrier")
CLUSTER = Section("9.7.13.3", "barrier.cluster")
FENCE = Section("9.7.13.4", "membar, fence")
GRID_DEPENDENCY = Section("9.7.13.13", "griddepcontrol")
MBARRIER = Section("9.7.13.15.3", "Lifecycle of the mbarrier object")
MBARRIER_COUNTS = Section("9.7.13.15.2", "Contents of the mbarrier object")
MBARRIER_PHASE = Section("9.7.13.15.4", "Phase of the mbarrier object")
MBARRIER_TX = Section("9.7.13.15.5", "Tracking asynchronous operations by the mbarrier object")
MBARRIER_COMPLETES = Section("9.7.13.15.6", "Phase Completion of the mbarrier object")
MBARRIER_ARRIVES = Section("9.7.13.15.7", "Arrive-on operation on mbarrier object")
INIT = Section("9.7.13.15.9", "mbarrier.init")
INVAL = Section("9.7.13.15.10", "mbarrier.inval")
EXPECT_TX = Section("9.7.13.15.11", "mbarrier.expect_tx")
ARRIVE = Section("9.7.13.15.13", "mbarrier.arrive")
WAIT = Section("9.7.13.15.16", "mbarrier.test_wait, mbarrier.try_wait")
WGMMA_PROXY = Section("9.7.15.4", "Async Proxy")
WGMMA_FENCE = Section("9.7.15.7.1", "wgmma.fence")
WGMMA_WAIT = Section("9.7.15.7.3", "wgmma.wait_group")
WARPGROUP = Section("9.7.15.1", "Warpgroup")
TMEM = Section("9.7.16.7.1", "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit")
TCGEN05_GROUP = Section("9.7.16.5", "Issue Granularity")
TCGEN05_ORDER = Section(
    "9.7.16.6", "Memory Consistency Model for 5th generation of TensorCore operations"
)
TCGEN05_LANES = Section("9.7.16.8.1", "Access restrictions")
TCGEN05_FENCE = Section("9.7.16.11.1", "tcgen05.fence")
TMEM_SIZE = Section("9.7.16.1", "Tensor Memory")
SETMAXNREG = Section("9.7.19.5", "setmaxnreg")
TENSORMAP_REPLACE = Section("9.7.9.28", "tensormap.replace")
DRIVER = Section("", "CUDA driver API: cuTensorMapEncodeTiled")
GUIDE = Section("", "CUDA programming guide: compute capabilities")

_SECTIONS: dict[Rule, tuple[Section, ...]] = {
    Rule.DEADLOCK: (MBARRIER_COMPLETES, WAIT, BAR),
    Rule.LAPPED_WAITER: (MBARRIER_PHASE, WAIT),
    Rule.VACUOUS_WAIT: (MBARRIER_PHASE, WAIT),
    Rule.FOREIGN_STATE: (ARRIVE, WAIT),
    Rule.PARITY_OUT_OF_RANGE: (WAIT,),
    Rule.EARLY_COMPLETION: (MBARRIER_COMPLETES, EXPECT_TX),
    Rule.ARRIVAL_OVERFLOW: (MBARRIER_COUNTS, MBARRIER_ARRIVES, INIT),
    Rule.ARRIVAL_SHORTFALL: (MBARRIER_COUNTS, MBARRIER_COMPLETES),
    Rule.UNCONSUMED_PHASE: (MBARRIER_PHASE,),
    Rule.TX_BYTES_MISMATCH: (MBARRIER_TX, MBARRIER_COMPLETES, TMA),
    Rule.TX_RANGE: (MBARRIER_COUNTS, EXPECT_TX),
    Rule.READ_BEFORE_ARRIVAL: (COMPLETION, RACES),
    Rule.WRITE_BEFORE_RELEASE: (ASYNC_ORDER, RACES),
    Rule.WRITE_WRITE_RACE: (RACES,),
    Rule.WRONG_TILE: (),
    Rule.UNCOMMITTED_COPY: (CP_ASYNC_COMMIT, BULK_COMMIT),
    Rule.WAIT_GROUP_TOO_LOOSE: (CP_ASYNC_WAIT, BULK_WAIT, WGMMA_WAIT),
    Rule.WAIT_BY_NON_ISSUER: (CP_ASYNC_WAIT, BULK_WAIT),
    Rule.MISSING_BLOCK_BARRIER: (CP_ASYNC, CP_ASYNC_WAIT, BAR),
    Rule.MISSING_PROXY_FENCE: (PROXIES, COPY_PROXY, FENCE),
    Rule.PROXY_WAR: (PROXIES, COPY_PROXY, FENCE),
    Rule.MISSING_INIT_FENCE: (FENCE, INIT),
    Rule.USE_BEFORE_INIT: (MBARRIER, INIT),
    Rule.REINIT_WITHOUT_INVAL: (MBARRIER, INIT, INVAL),
    Rule.PAYLOAD_OVER_LIVE_BARRIER: (MBARRIER, INVAL),
    Rule.SMEM_REUSED_BEFORE_STORE_READ: (BULK_WAIT,),
    Rule.FRAGMENT_IN_FLIGHT: (WGMMA_WAIT,),
    Rule.OPERAND_IN_FLIGHT: (WGMMA_WAIT, WGMMA_PROXY),
    Rule.MISSING_WGMMA_FENCE: (WGMMA_FENCE,),
    Rule.NAMED_BARRIER_COUNT: (BAR,),
    Rule.NAMED_BARRIER_OVERRUN: (BAR,),
    Rule.OUTSTANDING_AT_EXIT: (COMPLETION, BULK),
    Rule.SCOPE_TOO_NARROW: (ARRIVE, WAIT),
    Rule.PEER_NOT_STARTED: (CLUSTER,),
    Rule.PEER_EXITED: (CLUSTER,),
    Rule.RECEIVER_NOT_ARMED: (BULK, EXPECT_TX),
    Rule.ROLES_DISAGREE: (WARPGROUP, WGMMA_FENCE),
    Rule.GLOBAL_WRITE_OVERLAP: (RACES,),
    Rule.TENSOR_MAP: (TENSOR_MAPS, DRIVER),
    Rule.ALIGNMENT: (SWIZZLE, BULK),
    Rule.OUT_OF_BOUNDS: (BOUNDS,),
    Rule.SMEM_OVER_BUDGET: (GUIDE,),
    Rule.REGISTER_POOL: (SETMAXNREG,),
    Rule.TMEM_ALLOC: (TMEM,),
    Rule.TMEM_DEALLOC: (TMEM,),
    Rule.TMEM_LEAK: (TMEM,),
    Rule.TMEM_CAPACITY: (TMEM_SIZE, TMEM),
    Rule.TMEM_ALLOC_ORDER: (TMEM,),
    Rule.TMEM_LANES: (TCGEN05_LANES,),
    Rule.MISSING_TCGEN05_FENCE: (TCGEN05_ORDER, TCGEN05_FENCE),
    Rule.CTA_GROUP: (TCGEN05_GROUP,),
    Rule.DESCRIPTOR_LIFETIME: (TENSORMAP_REPLACE, FENCE),
    Rule.PDL_ORDER: (GRID_DEPENDENCY,),
}


def ptx_sections(rule: Rule) -> tuple[Section, ...]:
    """Where the rule comes from; empty where it rests on what the schedule says it means."""
    return _SECTIONS[rule]
