"""The numbers of tensor cores, by the instructions that use them: see model.py.

Imports the standard library only.  See docs/machine.md.
"""

__all__ = ["Mma", "Tcgen05", "Wgmma"]

from dataclasses import dataclass

from asyncsim.machine.quantity import BytesPerCycle, Count, Cycles, CyclesCurve, CyclesIfAny


@dataclass(frozen=True, slots=True)
class Wgmma:
    """m64nNk(32 bytes): one server for each SM, first come first served by instruction.

    interval = max(N * ss_per_n, ss_base + N * ss_base_per_n) with A in shared memory,
    max(N * ss_per_n, rs_floor) with A in registers.
    """

    per_column_cycles: Cycles
    ss_base_cycles: Cycles
    ss_base_per_column_cycles: Cycles
    rs_floor_cycles: Cycles
    tail_ss_cycles: Cycles  # completion of a group beside its intervals, from before the fence
    tail_rs_cycles: Cycles
    issue_by_n_cycles: CyclesCurve
    fence_cycles: Cycles
    commit_cycles: Cycles
    wait_cycles: Cycles  # wait_group on nothing
    wait_over_cycles: Cycles  # on groups that are complete
    queue_depth: Count  # instructions of a warpgroup in flight before its issue stalls
    queue_wake_cycles: Cycles  # from the end of the oldest to the issue of one that has stalled
    # Intervals of arithmetic on a sub-partition while the tensor core is busy, and what it loses:
    # to an FFMA that nothing slower spaces out, and to ALU work with A in registers.
    beside_alu_cycles: Cycles  # and conversions
    beside_alu_latency_cycles: Cycles  # dependent
    beside_mufu_cycles: Cycles
    beside_mufu_warp_cycles: Cycles  # of a warp alone
    beside_shuffle_cycles: Cycles
    beside_ffma_warp_cycles: Cycles  # FFMA, FADD, FMUL of a warp alone
    beside_lost_ffma_cycles: Cycles
    beside_lost_alu_cycles: Cycles


@dataclass(frozen=True, slots=True)
class Mma:
    """mma.sync.m16n8 over 32 bytes of K, by the types of A and B.

    Interval of a sub-partition's instructions, and latency from one to the next that needs its sum.
    """

    f16_cycles: Cycles  # and bf16
    f16_latency_cycles: Cycles
    tf32_cycles: Cycles
    tf32_latency_cycles: Cycles
    f8_cycles: CyclesIfAny  # e4m3 and e5m2
    f8_latency_cycles: CyclesIfAny
    i8_cycles: Cycles
    i8_latency_cycles: Cycles
    # What the tensor core of a sub-partition loses to another instruction among its products.
    beside_alu_cycles: Cycles
    beside_ldmatrix_cycles: Cycles
    beside_cp_async_cycles: Cycles  # the fragments of which the loads stand behind it come later


@dataclass(frozen=True, slots=True)
class Tcgen05:
    """tcgen05.mma over 32 bytes of K: one server for each SM, or two for a pair of CTAs.

    interval = max(N * per_column, operand bytes of the SM / smem.port); where a pair's is the
    latter, pair_reading comes on top. A thread that waits for a commit passes completion +
    N * per_column after the start of the last instruction: by M, with A in shared (ss) or tensor
    memory (ts).
    """

    per_column_cycles: Cycles
    pair_per_column_cycles: Cycles  # M = 128 over two CTAs
    pair_reading_by_m_cycles: CyclesCurve
    completion_ss_by_m_cycles: CyclesCurve
    completion_ts_by_m_cycles: CyclesCurve
    pair_completion_ss_by_m_cycles: CyclesCurve
    pair_completion_ts_by_m_cycles: CyclesCurve
    issue_cycles: Cycles  # of mma, cp and shift
    commit_cycles: Cycles
    cp_bytes_per_cycle: BytesPerCycle  # occupancy of tcgen05.cp, by what it reads
    cp_completion_cycles: Cycles  # beside it
    ld_bytes_per_cycle: BytesPerCycle  # of an SM; a warp has the share of its sub-partition
    ld_latency_cycles: Cycles
    st_bytes_per_cycle: BytesPerCycle
    st_latency_cycles: Cycles
    access_issue_cycles: Cycles
    wait_cycles: Cycles  # wait::ld and wait::st with nothing to wait for
    fence_cycles: Cycles
    alloc_cycles: Cycles  # with the columns free
    dealloc_cycles: Cycles
