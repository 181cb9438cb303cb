"""Bulk copies without a tensor map, red.async, prefetches and fences, in kernels whose data can be
checked."""

from __future__ import annotations

from asyncsim import Fill, ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import scenario

ARCHS = ("sm_90a",)
OPS = ("add", "min", "max", "and", "or", "xor")
TYPES = ("u32", "i32", "f32", "bf16", "f16", "u8")


@scenario(summary="rows in and out by bulk copies, through a ring", archs=ARCHS)
def bulk_copy(
    *, ctas: int = 3, rows: int = 7, width: int = 64, stages: int = 2, type: int = 0
) -> Schedule:
    """``type``: of the elements, by number."""
    k = ScheduleBuilder("bulk_copy", archs=ARCHS)
    dtype = TYPES[type]
    k.grid(ctas)
    k.block(1)
    source = k.global_tensor("source", (ctas * rows, width), dtype)
    out = k.global_tensor("out", (ctas * rows, width), dtype, output=True)
    ring = k.smem_tile("ring", (1, width), dtype, stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        state = k.pipeline_state(stages)
        with k.loop(rows) as i:
            row = (k.block_idx * rows + i, 0)
            k.mbarrier.arrive_expect_tx(full[state.stage], ring.decl.stage_bytes)
            k.bulk.load(ring[state.stage], source.box(row, (1, width)), full[state.stage])
            k.mbarrier.wait(full[state.stage], state.phase)
            k.bulk.store(out.box(row, (1, width)), ring[state.stage])
            k.bulk.commit_group()
            k.bulk.wait_group(stages - 1, read=True)
            state.advance()
        k.bulk.wait_group(0)
    return k.finish()


@scenario(summary="all CTAs reduce their rows into one tensor", archs=ARCHS)
def bulk_reduce(*, ctas: int = 5, rows: int = 3, op: int = 0, type: int = 0) -> Schedule:
    k = ScheduleBuilder("bulk_reduce", archs=ARCHS)
    dtype = TYPES[type]
    k.grid(ctas)
    k.block(1)
    source = k.global_tensor("source", (ctas * rows, 32), dtype, fill=Fill.SMALL)
    out = k.global_tensor("out", (rows, 32), dtype, output=True)
    tile, full = k.smem_tile("tile", (rows, 32), dtype)[0], k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], rows * 32 * source.decl.dtype.bytes)
        k.bulk.load(tile, source.box((k.block_idx * rows, 0), (rows, 32)), full[0])
        k.mbarrier.wait(full[0], 0)
        k.bulk.reduce(out.box((0, 0), (rows, 32)), tile, op=OPS[op])
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    return k.finish()


@scenario(summary="every CTA of a cluster sends its row to all others", archs=ARCHS)
def all_to_all(*, cluster: int = 4, clusters: int = 2, width: int = 32) -> Schedule:
    k = ScheduleBuilder("all_to_all", archs=ARCHS)
    ctas = cluster * clusters
    k.grid(ctas)
    k.cluster(cluster)
    k.block(1)
    source = k.global_tensor("source", (ctas, width), "u32")
    out = k.global_tensor("out", (ctas * cluster, width), "u32", output=True)
    mine = k.smem_tile("mine", (1, width), "u32")[0]
    inbox = k.smem_tile("inbox", (cluster, width), "u32")[0]
    loaded, full = k.mbarriers("loaded", count=1), k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(loaded, full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], (cluster - 1) * width * 4)
        k.mbarrier.arrive_expect_tx(loaded[0], 2 * width * 4)
        own = source.box((k.block_idx, 0), (1, width))
        k.bulk.load(mine, own, loaded[0])
        k.bulk.load(inbox.box((k.cta_rank, 0), (1, width)), own, loaded[0])
        k.mbarrier.wait(loaded[0], 0)
    k.cluster_barrier.sync()
    with k.elect_thread():
        for step in range(1, cluster):
            to = (k.cta_rank + step) % cluster
            there = inbox.box((k.cta_rank, 0), (1, width)).at(to)
            k.bulk.send(there, mine, k.mbarrier.at(full[0], to))
        k.mbarrier.wait(full[0], 0, scope="cluster")
        k.bulk.store(out.box((k.block_idx * cluster, 0), (cluster, width)), inbox)
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    k.cluster_barrier.sync()
    return k.finish()


@scenario(summary="the CTAs of a cluster reduce into rank 0, by red.async or by sends", archs=ARCHS)
def into_first(*, cluster: int = 4, clusters: int = 2, op: int = 0, send: int = 0) -> Schedule:
    k = ScheduleBuilder("into_first", archs=ARCHS)
    ctas, width = cluster * clusters, 32
    k.grid(ctas)
    k.cluster(cluster)
    k.block(1)
    source = k.global_tensor("source", (ctas, width), "i32")
    out = k.global_tensor("out", (clusters, width), "i32", output=True)
    cells = k.smem_tile("cells", (1, width), "i32", stages=2)
    full = k.mbarriers("full", count=1)
    x = k.fragment("x", registers=1, dtype="i32")
    mine = (0, k.lane)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        with k.when(k.cta_rank == 0):
            k.mbarrier.arrive_expect_tx(full[0], (cluster - 1) * width * 4)
    k.mem.ld_global(x.all, source.box((k.block_idx, k.lane), (1, 1)))
    k.mem.st_shared(cells[0].box(mine, (1, 1)), x.all)
    k.fence.proxy_async("shared::cluster")
    k.bar.warp_sync()
    k.cluster_barrier.sync()
    first = k.mbarrier.at(full[0], 0)
    with k.when(k.cta_rank > 0):
        if send:
            with k.elect():
                k.bulk.send(cells[0].at(0), cells[0], first, op=OPS[op])
        else:
            k.mem.red_async(cells[0].at(0).box(mine, (1, 1)), x.all, first, op=OPS[op])
    with k.when(k.cta_rank == 0):
        k.mbarrier.wait(full[0], 0, scope="cluster")
        k.mem.ld_shared(x.all, cells[0].box(mine, (1, 1)))
        k.mem.st_global(out.box((k.block_idx // cluster, k.lane), (1, 1)), x.all)
    k.cluster_barrier.sync()
    return k.finish()


@scenario(summary="rank 0 loads a run for all CTAs of its cluster", archs=ARCHS)
def bulk_multicast(*, cluster: int = 2, clusters: int = 3) -> Schedule:
    k = ScheduleBuilder("bulk_multicast", archs=ARCHS)
    k.grid(cluster * clusters)
    k.cluster(cluster)
    k.block(1)
    source = k.global_tensor("source", (clusters, 64), "i32")
    out = k.global_tensor("out", (cluster * clusters, 64), "i32", output=True)
    tile, full = k.smem_tile("tile", (1, 64), "i32")[0], k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 256)
    k.cluster_barrier.sync()
    with k.elect_thread():
        with k.when(k.cta_rank == 0):
            box = source.box((k.block_idx // cluster, 0), (1, 64))
            k.bulk.load(tile, box, full[0], multicast=(1 << cluster) - 1)
        k.mbarrier.wait(full[0], 0, scope="cluster")
        k.bulk.store(out.box((k.block_idx, 0), (1, 64)), tile)
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    k.cluster_barrier.sync()
    return k.finish()


@scenario(summary="boxes by TMA, prefetched a number of tiles ahead", archs=ARCHS)
def prefetched(*, ctas: int = 3, tiles: int = 6, ahead: int = 2, rank: int = 2) -> Schedule:
    """``rank``: of the tensor, 1 to 5; ``ahead`` 0: no prefetch."""
    k = ScheduleBuilder("prefetched", archs=ARCHS)
    k.grid(ctas)
    k.block(1)
    shape = {1: (32 * tiles * ctas,), 2: (tiles * ctas, 32)}.get(
        rank, (tiles * ctas, *(2 for _ in range(rank - 3)), 3, 32)
    )
    box = (
        (32,) if rank == 1 else (1, *(1 for _ in range(rank - 3)), *((2,) if rank > 2 else ()), 32)
    )
    source = k.global_tensor("source", shape, "i32")
    out = k.global_tensor("out", shape, "i32", output=True)
    source_map = k.tensor_map("source_map", source, box=box)
    out_map = k.tensor_map("out_map", out, box=box)
    tile, full = k.smem_tile("tile", box, "i32")[0], k.mbarriers("full", count=1)

    def at(i: object) -> tuple[object, ...]:
        first = k.block_idx * tiles + i
        return (first * 32,) if rank == 1 else (first, *(1 for _ in shape[1:-1]), 0)

    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.tma.prefetch_map(source_map)
        if ahead and rank < 3:
            first = source.box(at(0), box)
            k.bulk.prefetch(first)
        with k.loop(tiles) as i:
            if ahead:
                with k.when(i + ahead < tiles):
                    k.tma.prefetch(source_map, at(i + ahead))
            k.mbarrier.arrive_expect_tx(full[0], tile_bytes(box))
            k.tma.load(tile, source_map, at(i), full[0])
            k.mbarrier.wait(full[0], i % 2)
            k.tma.store(out_map, at(i), tile)
            k.bulk.commit_group()
            k.bulk.wait_group(0)
    return k.finish()


def tile_bytes(box: tuple[int, ...]) -> int:
    """Of a box of words."""
    size = 4
    for extent in box:
        size *= extent
    return size


@scenario(summary="a warp hands a value to the next by a relaxed arrive and fences", archs=ARCHS)
def fenced(*, ctas: int = 4, scope: int = 0, sc: int = 0) -> Schedule:
    k = ScheduleBuilder("fenced", archs=ARCHS)
    name = ("cta", "cluster", "gpu")[scope]
    k.grid(ctas)
    k.block(2)
    source = k.global_tensor("source", (ctas, 32), "u32")
    out = k.global_tensor("out", (ctas, 32), "u32", output=True)
    cell, full = k.smem_tile("cell", (1, 32), "u32")[0], k.mbarriers("full", count=32)
    x = k.fragment("x", registers=1, dtype="u32")
    with k.elect_thread():
        k.mbarrier.init_all(full)
    k.bar.sync()

    def fence() -> None:
        if sc:
            k.fence.sc(name)
        else:
            k.fence.acq_rel(name)

    with k.specialize():
        with k.role("writer", warps=1):
            k.mem.ld_global(x.all, source.box((k.block_idx, k.lane), (1, 1)))
            k.mem.st_shared(cell.box((0, k.lane), (1, 1)), x.all)
            fence()
            k.mbarrier.arrive(full[0], relaxed=True)
        with k.role("reader", warps=1):
            k.mbarrier.wait(full[0], 0, relaxed=True)
            fence()
            k.mem.ld_shared(x.all, cell.box((0, 31 - k.lane), (1, 1)))
            k.mem.st_global(out.box((k.block_idx, k.lane), (1, 1)), x.all)
    return k.finish()
