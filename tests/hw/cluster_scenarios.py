"""What the CTAs of a cluster do with each other, in kernels whose data can be checked."""

from __future__ import annotations

from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import scenario

ARCHS = ("sm_90a",)


def _add(total: Any, part: Any, **_: Any) -> None:
    total[...] = total + part


ADD = ComputeDef(
    name="add",
    operands=(
        ComputeOperand(name="total", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="part", kind="fragment"),
    ),
    work=lambda: Work(alu=1, chain_alu=1),
    cuda="total[0] = total[0] + part[0];",
    numpy=_add,
)


@scenario(summary="each CTA adds the cells of all CTAs of its cluster, by DSMEM", archs=ARCHS)
def neighbours(*, cluster: int = 4, clusters: int = 2, relaxed: int = 0) -> Schedule:
    """``relaxed``: the first round of the cluster barrier, which has nothing to release: it says
    that the CTAs run."""
    k = ScheduleBuilder("neighbours", archs=ARCHS)
    ctas = cluster * clusters
    k.grid(ctas)
    k.cluster(cluster)
    k.block(2)
    source = k.global_tensor("source", (ctas, 64), "u32")
    out = k.global_tensor("out", (ctas, 64), "u32", output=True)
    cell = k.smem_tile("cell", (2, 64), "u32")[0]
    mine, part = (
        k.fragment("mine", registers=1, dtype="u32"),
        k.fragment("part", registers=1, dtype="u32"),
    )
    thread = k.thread_in_role
    k.mem.ld_global(mine.all, source.box((k.block_idx, thread), (1, 1)))
    k.mem.st_shared(cell.box((0, thread), (1, 1)), mine.all)
    k.cluster_barrier.arrive(relaxed=bool(relaxed))
    k.cluster_barrier.wait()
    k.mem.st_shared(cell.at((k.cta_rank + 1) % cluster).box((1, thread), (1, 1)), mine.all)
    k.cluster_barrier.sync()
    k.mem.ld_shared(mine.all, cell.box((1, thread), (1, 1)))
    for rank in range(cluster):
        k.mem.ld_shared(part.all, cell.at(rank).box((0, thread), (1, 1)))
        k.mem.compute(ADD, mine.all, part.all)
    k.mem.st_global(out.box((k.block_idx, thread), (1, 1)), mine.all)
    k.cluster_barrier.sync()
    return k.finish()


@scenario(summary="every CTA sends to rank 0 by st.async, rank 0 adds", archs=ARCHS)
def mailbox(*, cluster: int = 4, clusters: int = 2) -> Schedule:
    k = ScheduleBuilder("mailbox", archs=ARCHS)
    ctas = cluster * clusters
    k.grid(ctas)
    k.cluster(cluster)
    k.block(1)
    source = k.global_tensor("source", (ctas, 128), "u32")
    out = k.global_tensor("out", (clusters, 32), "u32", output=True)
    mail = k.smem_tile("mail", (cluster, 128), "u32")[0]
    full = k.mbarriers("full", count=1)
    four = k.fragment("four", registers=4, dtype="u32")
    total, part = (
        k.fragment("total", registers=1, dtype="u32"),
        k.fragment("part", registers=1, dtype="u32"),
    )
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    k.cluster_barrier.sync()
    k.mem.ld_global(four.all, source.box((k.block_idx, k.lane * 4), (1, 4)))
    with k.when(k.cta_rank == 0), k.elect():
        k.mbarrier.arrive_expect_tx(full[0], cluster * 512)
    to = mail.at(0).box((k.cta_rank, k.lane * 4), (1, 4))
    k.mem.st_async(to, four.all, k.mbarrier.at(full[0], 0))
    with k.when(k.cta_rank == 0):
        k.mbarrier.wait(full[0], 0, scope="cluster")
        k.mem.ld_shared(total.all, mail.box((0, k.lane), (1, 1)))
        for rank in range(1, cluster):
            k.mem.ld_shared(part.all, mail.box((rank, k.lane), (1, 1)))
            k.mem.compute(ADD, total.all, part.all)
        k.mem.st_global(out.box((k.block_idx // cluster, k.lane), (1, 1)), total.all)
    return k.finish()


@scenario(summary="each CTA loads a part of every tile to all CTAs of its cluster", archs=ARCHS)
def multicast_ring(
    *, cluster: int = 2, clusters: int = 2, stages: int = 2, tiles: int = 9, narrow: int = 0
) -> Schedule:
    """``narrow``: consumers release by the default, CTA-scoped arrive, as production kernels do."""
    k = ScheduleBuilder("multicast_ring", archs=ARCHS)
    rows = 8 * cluster
    scope = "cta" if narrow else "cluster"
    k.grid(cluster * clusters)
    k.cluster(cluster)
    source = k.global_tensor("source", (clusters * tiles * rows, 32), "u32")
    out = k.global_tensor("out", (cluster * clusters, 32), "u32", output=True)
    part_map = k.tensor_map("part_map", source, box=(8, 32))
    ring = k.smem_tile("ring", (rows, 32), "u32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=cluster, stages=stages)
    total, part = (
        k.fragment("total", registers=1, dtype="u32"),
        k.fragment("part", registers=1, dtype="u32"),
    )
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    k.cluster_barrier.sync()
    first = k.block_idx // cluster * tiles
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            k.mem.ld_global(total.all, source.box((0, k.lane), (1, 1)))
            with k.loop(tiles) as t:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box(((first + t) * rows + rows - 1, k.lane), (1, 1))
                cell = ring[state.stage].box((rows - 1, k.lane), (1, 1)).expecting(meant)
                k.mem.ld_shared(part.all, cell)
                k.mem.compute(ADD, total.all, part.all)
                k.fence.proxy_async("shared::cluster")
                k.bar.warp_sync()
                with k.elect():
                    for rank in range(cluster):
                        k.mbarrier.arrive(k.mbarrier.at(empty[state.stage], rank), scope=scope)
                state.advance()
            k.mem.st_global(out.box((k.block_idx, k.lane), (1, 1)), total.all)
            k.cluster_barrier.sync()
        with k.role("producer", warps=1):
            with k.elect():
                state = k.pipeline_state(stages, producer=True)
                row = k.cta_rank * 8
                with k.loop(tiles) as t:
                    k.mbarrier.wait(empty[state.stage], state.phase, scope=scope)
                    k.mbarrier.arrive_expect_tx(full[state.stage], cluster * 1024)
                    k.tma.load(
                        ring[state.stage].box((row, 0), (8, 32)),
                        part_map,
                        ((first + t) * rows + row, 0),
                        full[state.stage],
                        multicast=(1 << cluster) - 1,
                    )
                    state.advance()
            k.cluster_barrier.sync()
    return k.finish()


@scenario(summary="all CTAs reduce their tile into one by TMA", archs=ARCHS)
def reduce_all(*, ctas: int = 8, op: int = 0) -> Schedule:
    """``op``: add, min, max, and, or, xor by number."""
    k = ScheduleBuilder("reduce_all", archs=ARCHS)
    k.grid(ctas)
    k.block(1)
    source = k.global_tensor("source", (ctas * 8, 32), "u32")
    out = k.global_tensor("out", (8, 32), "u32", output=True)
    out_map = k.tensor_map("out_map", out, box=(8, 32))
    tile = k.smem_tile("tile", (8, 32), "u32")[0]
    x = k.fragment("x", registers=8, dtype="u32")
    k.mem.ld_global(x.all, source.box((k.block_idx * 8, k.lane), (8, 1)))
    k.mem.st_shared(tile.box((0, k.lane), (8, 1)), x.all)
    k.fence.proxy_async("shared")
    k.bar.warp_sync()
    with k.elect_thread():
        k.tma.reduce(out_map, (0, 0), tile, op=("add", "min", "max", "and", "or", "xor")[op])
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    return k.finish()
