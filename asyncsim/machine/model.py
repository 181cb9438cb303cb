"""The numbers of one GPU, grouped by the unit that they describe.

Every number is exact (int or Fraction) and carries its unit in its name.  In the file the key is
the field's name without the unit: `tma.issue_cycles` is `issue = { cycles = ... }` in `[tma]`.
Costs are of three kinds: *issue* occupies the issuing warp, *latency* occupies nobody, a *rate*
belongs to a shared server.  What the architecture lacks is None (lacking.py).  Imports the
standard library only.  See docs/machine.md.
"""

__all__ = [
    "L2",
    "Alu",
    "Barrier",
    "Clock",
    "Code",
    "CpAsync",
    "Dram",
    "Fence",
    "GlobalStore",
    "Gpu",
    "Launch",
    "Machine",
    "Mbarrier",
    "Mma",
    "Power",
    "SetMaxNReg",
    "Smem",
    "Tcgen05",
    "Tma",
    "Wgmma",
]

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, get_args

from asyncsim.machine.power import Power
from asyncsim.machine.quantity import (
    Bytes,
    BytesPerCycle,
    BytesPerCycleIfAny,
    Count,
    Counts,
    Cycles,
    CyclesCurve,
    CyclesIfAny,
    How,
    Mhz,
    Provenance,
)
from asyncsim.machine.tensor import Mma, Tcgen05, Wgmma


@dataclass(frozen=True, slots=True)
class Gpu:
    """Sizes and limits of the chip."""

    sms: Count
    gpc_sms: Counts  # SMs of each GPC; the sum is `sms`
    cluster_sms: Counts  # SMs of each part of the chip that a cluster has to lie within
    sub_partitions: Count  # of one SM
    warps_per_sm: Count
    threads_per_sm: Count
    threads_per_cta: Count
    ctas_per_sm: Count
    cluster_ctas: Count  # largest portable cluster
    registers_per_sm: Count
    registers_per_thread: Count
    register_granule: Count  # registers of a warp are allocated in this step
    named_barriers: Count
    smem_per_sm_bytes: Bytes
    smem_per_cta_bytes: Bytes  # dynamic shared memory, opt-in
    smem_reserved_per_cta_bytes: Bytes
    smem_granule_bytes: Bytes


@dataclass(frozen=True, slots=True)
class Launch:
    """CTA starts and ends."""

    gpc_run: Count  # consecutive CTAs that go to one GPC before the next GPC gets some
    interval_cycles: Cycles  # between the starts of two CTAs, over the whole GPU
    replacement_cycles: Cycles  # last clock of a CTA to the first clock of its successor
    prologue_cycles: Cycles  # first clock to the first op: parameters, addresses, cold code
    end_cycles: Cycles  # last op to the end of the CTA
    next_cycles: Cycles  # end of a kernel to the first clock of the next one of its stream
    dependent_cycles: CyclesIfAny  # last launch_dependents to the dependent kernel's first clock
    pass_cycles: CyclesIfAny  # end of the kernel before to the pass of griddepcontrol.wait
    wait_cycles: CyclesIfAny  # griddepcontrol.wait with nothing to wait for
    cancel_cycles: CyclesIfAny  # clusterlaunchcontrol.try_cancel to its response


@dataclass(frozen=True, slots=True)
class Tma:
    """The copy engine: one serial server for each SM, and the return port behind it."""

    issue_cycles: Cycles  # a tensor load by an elected lane
    issue_lane_loop_cycles: Cycles  # the same chosen by threadIdx: the compiler adds a lane loop
    load_bytes_per_cycle: BytesPerCycle  # engine occupancy of a load
    store_bytes_per_cycle: BytesPerCycle  # engine occupancy of a store
    reduce_bytes_per_cycle: BytesPerCycle
    reduce_device_bytes_per_cycle: BytesPerCycle  # what L2 takes of reductions, to lines apart
    reduce_crowded_cycles: CyclesCurve  # what 8 KB of them take longer, by the size of the tensor
    min_copy_cycles: Cycles  # engine occupancy of the smallest copy
    copy_overhead_cycles: Cycles  # engine occupancy beside bytes / rate
    row_bytes: Bytes  # the engine moves at most one row of this size in a cycle
    odd_row_cycles: Cycles  # of a load, one that begins in the middle of a sector of 32 bytes
    store_odd_row_bytes: Bytes  # of a store, what one counts beside its bytes
    reduce_line_bytes: Bytes  # of a reduction, what a second line of a row counts
    store_starved_bytes_per_cycle: BytesPerCycle  # beside wgmma that takes all of shared memory
    queue_depth: Count  # copies accepted at issue speed before the engine's pace rules
    fill_bytes_per_cycle: BytesPerCycle  # data return into one SM
    latency_l2_cycles: Cycles  # start of the issue to the pass of a sleeping waiter, beside bytes
    latency_dram_cycles: Cycles  # the same for an L2 miss on an idle chip
    landing_dram_cycles: CyclesCurve  # one load alone, L2 miss, by its bytes: mean
    landing_dram_far_cycles: CyclesCurve  # the same of a box whose rows are not adjacent
    descriptor_first_use_cycles: Cycles
    descriptor_fetch_cycles: Cycles  # the same of a map in global memory that has been changed
    replace_cycles: Cycles  # tensormap.replace of one field
    store_issue_cycles: Cycles
    store_latency_cycles: Cycles  # issue to the return of wait_group, beside bytes / rate
    commit_cycles: Cycles
    wait_cycles: Cycles  # wait_group with nothing left to wait for
    multicast_cycles: Cycles  # how much later a multicast lands
    bulk_store_latency_cycles: Cycles  # store_latency of a store without a tensor map
    send_bytes_per_cycle: BytesPerCycle  # engine occupancy of a copy to another CTA's shared memory
    min_send_cycles: Cycles  # engine occupancy of the smallest one
    send_latency_cycles: Cycles  # its issue to its waiter, beside bytes


@dataclass(frozen=True, slots=True)
class Mbarrier:
    """Barriers in shared memory."""

    init_cycles: Cycles
    arrive_cycles: Cycles
    expect_tx_cycles: Cycles  # arrive.expect_tx or expect_tx
    try_wait_cycles: Cycles  # success at once, result branched on, bounded wait loop
    try_wait_pipelined_cycles: Cycles  # success at once, result not yet used
    wake_by_warps_cycles: CyclesCurve  # arrive to the last of n converged waiting warps
    sleep_extra_cycles: Cycles  # how much later a sleeping waiter passes than a lone polling thread
    poll_cycles: Cycles  # period of a wait that its warp's other lanes do not share
    timeout_cycles: Cycles  # a converged try_wait sleeps at most so long
    remote_arrive_cycles: Cycles
    remote_wake_cycles: Cycles


@dataclass(frozen=True, slots=True)
class Barrier:
    """bar.sync, bar.warp.sync and elect."""

    sync_cycles: Cycles  # base, beside the warps
    sync_per_warp_cycles: Cycles
    named_extra_cycles: Cycles  # a barrier with a register or partial count
    handoff_cycles: Cycles  # bar.arrive to the waiter of bar.sync
    syncwarp_cycles: Cycles
    elect_cycles: Cycles
    cluster_cycles: CyclesIfAny  # relaxed arrive + wait
    cluster_release_cycles: CyclesIfAny  # with release/acquire


@dataclass(frozen=True, slots=True)
class SetMaxNReg:
    """setmaxnreg of one warpgroup."""

    dec_cycles: Cycles
    inc_cycles: Cycles  # with the registers free
    handoff_cycles: Cycles  # from before a dec to the last warp of an inc that waits for it


@dataclass(frozen=True, slots=True)
class Fence:
    """Issue costs of fences with nothing pending."""

    proxy_async_smem_cycles: CyclesIfAny
    proxy_async_cycles: CyclesIfAny  # all state spaces
    mbarrier_init_cycles: CyclesIfAny
    cta_cycles: Cycles
    gpu_cycles: Cycles
    tensormap_release_cycles: CyclesIfAny
    tensormap_acquire_cycles: CyclesIfAny


@dataclass(frozen=True, slots=True)
class CpAsync:
    """Non-bulk copies, 16 bytes for each lane."""

    issue_cycles: Cycles  # one warp instruction
    issue_contended_cycles: Cycles  # SM-wide interval of instructions when many warps issue
    latency_l2_cycles: Cycles
    latency_dram_cycles: Cycles
    landing_dram_cycles: (
        CyclesCurve  # of an SM's copies by their bytes, L2 miss: mean, from end of issue
    )
    commit_cycles: Cycles
    wait_cycles: Cycles  # wait_group that has to wait for nothing, behind a commit
    port_bytes_per_cycle: BytesPerCycle  # into one SM
    mbarrier_extra_cycles: Cycles  # completion by mbarrier instead of wait_group


@dataclass(frozen=True, slots=True)
class Alu:
    """Pipes of one sub-partition: interval of warp instructions, and dependent latency."""

    ffma_cycles: Cycles
    ffma_across_cycles: Cycles  # outer products: all three registers change; see ir.decl.Work
    ffma_along_cycles: Cycles
    ffma_latency_cycles: Cycles
    alu_cycles: Cycles
    alu_latency_cycles: Cycles
    mufu_cycles: Cycles
    mufu_latency_cycles: Cycles
    mufu_warp_cycles: Cycles  # of a warp alone, whose other instructions lie among them
    cvt_cycles: Cycles
    cvt_latency_cycles: Cycles
    shfl_cycles: Cycles
    shfl_latency_cycles: Cycles


@dataclass(frozen=True, slots=True)
class Smem:
    """The shared-memory port of one SM and its loads and stores."""

    port_bytes_per_cycle: BytesPerCycle
    load_latency_cycles: Cycles
    remote_load_latency_cycles: CyclesIfAny  # from another CTA of the cluster
    load_issue_cycles: Cycles  # one warp, back to back, 4 bytes for each lane
    store_issue_cycles: Cycles
    warp_bytes_per_cycle: BytesPerCycle  # what one warp reaches with 16 bytes for each lane
    ldmatrix_latency_cycles: Cycles  # behind the port
    ldmatrix_warp_bytes_per_cycle: BytesPerCycle  # what one warp reaches by ldmatrix.x4
    stmatrix_warp_bytes_per_cycle: BytesPerCycleIfAny


@dataclass(frozen=True, slots=True)
class L2:
    """L2 as ports with a bandwidth."""

    device_bytes_per_cycle: BytesPerCycle
    gpc_bytes_per_cycle: BytesPerCycle  # private lines, one GPC
    shared_gpc_bytes_per_cycle: BytesPerCycle  # SMs of a GPC that read the same lines
    shared_sm_bytes_per_cycle: BytesPerCycle  # each SM, all SMs reading the same lines
    write_bytes_per_cycle: BytesPerCycle  # TMA stores of all SMs
    capacity_bytes: Bytes
    latency_cycles: Cycles  # a plain load, around L1
    through_l1_cycles: Cycles  # what one that misses L1 takes longer
    beyond_cycles: Cycles  # of a hit's latency, what passes by other clocks, at the boost clock
    atomic_latency_cycles: Cycles  # atom.add of one thread, until it has the result
    spread_cycles: Cycles  # 10th to 90th percentile of landings of one box, all SMs loading


@dataclass(frozen=True, slots=True)
class Dram:
    """DRAM as one server with a loaded latency."""

    read_bytes_per_cycle: BytesPerCycle
    write_bytes_per_cycle: BytesPerCycle  # lines that L2 writes back between reads
    latency_cycles: Cycles  # a plain load, idle chip
    round_trip_by_inflight_cycles: CyclesCurve  # bytes in flight for each SM, all SMs loading


@dataclass(frozen=True, slots=True)
class GlobalStore:
    """st.global straight from registers."""

    issue_cycles: Cycles  # SM-wide interval of warp instructions: 8 bytes a lane, 8 full sectors
    partial_issue_cycles: Cycles  # the same for 4 bytes a lane, 8 half sectors
    straddle_issue_cycles: Cycles  # the same for 8 rows that lie in two sectors each
    sm_bytes_per_cycle: BytesPerCycle  # one SM, full sectors
    device_bytes_per_cycle: BytesPerCycle  # all SMs, full sectors in 8 rows
    partial_device_bytes_per_cycle: BytesPerCycle  # all SMs, half sectors
    straddle_device_bytes_per_cycle: BytesPerCycle  # all SMs, 16 bytes in two sectors
    drain_cycles: Cycles  # last issue to performed, one SM


@dataclass(frozen=True, slots=True)
class Code:
    """Cycles of a generated loop turn beside its modelled ops: counters, addresses, branches.

    They hold for role dispatch on a warp index that the compiler knows to be uniform, and waits
    bounded by a count of tries; docs/machine.md says what other styles cost.
    """

    loop_cycles: Cycles  # any loop, body of more than `loop_min_cycles`
    loop_min_cycles: Cycles  # the shortest turn of any loop
    counter_cycles: Cycles  # stage and phase update
    producer_elected_cycles: CyclesIfAny  # TMA producer: elected lane in a branch, others parked
    producer_all_lanes_cycles: CyclesIfAny  # TMA producer: all lanes loop, one issues
    consumer_cycles: CyclesIfAny  # ring consumer: all lanes wait, lane 0 arrives
    wgmma_consumer_cycles: CyclesIfAny  # wait, fence, k slices, commit, wait_group, elected arrive
    cp_async_cycles: Cycles  # multistage turn: wait_group, block barrier, copies, commit
    outer_products_cycles: Cycles  # of a sub-partition, by each warp: its first loads


@dataclass(frozen=True, slots=True)
class Clock:
    """SM clocks.  A time is cycles over a stated clock."""

    boost_mhz: Mhz
    tensor_mhz: Mhz  # the highest while a tensor core works, however little
    tensor_burst_mhz: Mhz  # the first milliseconds of full tensor load
    tensor_sustained_mhz: Mhz  # after about a second of it


@dataclass(frozen=True, slots=True)
class Machine:
    """One GPU: its numbers, and for each number where it comes from.

    `provenance` is keyed by the dotted key of the file (`tma.issue`).  `driver`, `cuda`, `nvrtc`
    and `boards` are those of the measurements, empty when nothing is measured.
    """

    name: str
    title: str
    architecture: str
    date: str
    driver: str
    cuda: str
    nvrtc: str
    boards: tuple[str, ...]
    gpu: Gpu
    launch: Launch
    tma: Tma | None
    mbarrier: Mbarrier | None
    barrier: Barrier
    setmaxnreg: SetMaxNReg | None
    fence: Fence
    cp_async: CpAsync
    wgmma: Wgmma | None
    mma: Mma
    tcgen05: Tcgen05 | None
    alu: Alu
    smem: Smem
    l2: L2
    dram: Dram
    gst: GlobalStore
    code: Code
    clock: Clock
    power: Power
    provenance: Mapping[str, Provenance]

    def count_by_how(self) -> dict[str, int]:
        """How many numbers are measured, inferred, published and assumed."""
        counts = dict.fromkeys(get_args(How), 0)
        for origin in self.provenance.values():
            counts[origin.how] += 1
        return counts

    def __reduce__(self) -> tuple[Callable[..., "Machine"], tuple[dict[str, Any]]]:
        """For other processes: a read-only mapping cannot be pickled."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return _restored, (values | {"provenance": dict(self.provenance)},)


def _restored(values: dict[str, Any]) -> Machine:
    return Machine(**values | {"provenance": MappingProxyType(values["provenance"])})
