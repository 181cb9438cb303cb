"""cluster_sum: column sums of a matrix; the CTAs of a cluster add up their parts through each
other's shared memory (DSMEM).

Each CTA sums its rows, a thread for each column, and leaves the sums in its shared memory. After a
cluster barrier the first warp of rank r adds up the columns 32 r to 32 r + 31 of all CTAs. A second
barrier keeps every CTA there while the others read.
"""

from __future__ import annotations

from typing import Any

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Fill,
    Rule,
    ScheduleBuilder,
    ScheduleError,
    Work,
)
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Twin, scenario

MAX_CLUSTER = 16


def _add(total: Any, part: Any, **_: Any) -> None:
    total[...] = total + part.sum(axis=1, keepdims=True, dtype=total.dtype)


ADD = ComputeDef(
    name="add",
    operands=(
        ComputeOperand(name="total", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="part", kind="fragment"),
    ),
    work=lambda: Work(ffma=4, chain_ffma=4),
    cuda="total[0] += part[0] + part[1] + (part[2] + part[3]);",
    numpy=_add,
)
ADD_ONE = ComputeDef(
    name="add_one",
    operands=ADD.operands,
    work=lambda: Work(ffma=1, chain_ffma=1),
    cuda="total[0] += part[0];",
    numpy=_add,
)
ZERO = ComputeDef(
    name="zero",
    operands=(ComputeOperand(name="total", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=1),
    cuda="total[0] = 0.0f;",
    numpy=lambda total, **_: total.fill(0),
)

TWINS = (
    Twin(
        name="block_barrier",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="the CTAs wait for their own threads alone before they read each other's sums",
    ),
    Twin(
        name="relaxed_arrive",
        rule=Rule.SCOPE_TOO_NARROW,
        summary="a block barrier, then a relaxed arrive at the first cluster barrier: nothing is "
        "released to the others",
    ),
    Twin(
        name="no_exit_wait",
        rule=Rule.PEER_EXITED,
        summary="a CTA ends while the others may still read its shared memory",
    ),
    Twin(
        name="early_store",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="the sums are cleared for a next round before the last cluster barrier",
    ),
    Twin(
        name="wrong_rank",
        rule=Rule.OUT_OF_BOUNDS,
        summary="the last part is that of a rank beyond the cluster",
        launch=False,
    ),
)


@scenario(
    summary="column sums: CTAs of a cluster add up through each other's shared memory",
    archs=("sm_90a", "sm_100a"),
    twins=TWINS,
)
def cluster_sum(
    *, cluster: int = 4, clusters: int = 30, rows: int = 256, twin: str = ""
) -> Schedule:
    """``rows``: of each CTA, a multiple of 4; there are 32 columns for each CTA of a cluster."""
    if not 1 <= cluster <= MAX_CLUSTER:
        raise ScheduleError(f"cluster = {cluster}", fix=f"use 1 to {MAX_CLUSTER} CTAs")
    if clusters < 1 or rows < 4 or rows % 4:
        raise ScheduleError(
            f"clusters = {clusters}, rows = {rows}",
            fix="give at least one cluster, and a multiple of 4 rows",
        )
    k = ScheduleBuilder("cluster_sum", archs=("sm_90a", "sm_100a"))
    ctas, columns = cluster * clusters, 32 * cluster
    steps = k.arg("steps", rows // 4)
    source = k.global_tensor("source", (ctas * rows, columns), "f32", fill=Fill.SMALL)
    sums = k.global_tensor("sums", (clusters, columns), "f32", output=True)
    parts = k.smem_tile("parts", (1, columns), "f32")[0]
    total, part = k.fragment("total", registers=1), k.fragment("part", registers=4)
    k.grid(ctas)
    k.cluster(cluster)
    k.block(cluster)
    thread, one = k.thread_in_role, part.part(0, 1)

    k.mem.compute(ZERO, total.all)
    with k.loop(steps) as i:
        row = (k.block_idx * steps + i) * 4
        k.mem.ld_global(part.all, source.box((row, thread), (4, 1)))
        k.mem.compute(ADD, total.all, part.all)
    k.mem.st_shared(parts.box((0, thread), (1, 1)), total.all)
    if twin in ("block_barrier", "relaxed_arrive"):
        k.bar.sync()
    if twin != "block_barrier":
        k.cluster_barrier.arrive(relaxed=twin == "relaxed_arrive")
        k.cluster_barrier.wait()
    with k.when(k.warp_in_role == 0):
        column = 32 * k.cta_rank + k.lane
        k.mem.compute(ZERO, total.all)
        for step in range(cluster):
            rank = (k.cta_rank + step) % cluster  # each begins with its own
            if twin == "wrong_rank" and step == cluster - 1:
                rank = k.cta_rank + step
            theirs = parts.at(rank) if cluster > 1 else parts
            k.mem.ld_shared(one, theirs.box((0, column), (1, 1)))
            k.mem.compute(ADD_ONE, total.all, one)
        k.mem.st_global(sums.box((k.block_idx // cluster, column), (1, 1)), total.all)
    if twin == "early_store":
        k.mem.st_shared(parts.box((0, thread), (1, 1)), total.all)
    if twin != "no_exit_wait":
        k.cluster_barrier.sync()
    return k.finish()
