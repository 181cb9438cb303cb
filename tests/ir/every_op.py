"""A schedule with every op, for tests that must see them all. It is not meant to be run."""

from __future__ import annotations

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    OobFill,
    ScheduleBuilder,
    Work,
)
from asyncsim.ir.schedule import Schedule

FOLD = ComputeDef(
    name="fold",
    operands=(
        ComputeOperand(name="x", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="tile", kind="smem"),
        ComputeOperand(name="n", kind="int"),
    ),
    work=lambda n: Work(ffma=n),
    cuda="x[0] += tile(0, lane) * n;",
    numpy=lambda x, tile, n, lane, **_: x.__setitem__((..., 0), x[:, 0] + tile[0, lane] * n),
)


def every_op() -> Schedule:
    k = ScheduleBuilder("every_op")
    steps = k.arg("steps", 3)
    a = k.global_tensor("a", (256, 128), "bf16")
    f = k.global_tensor("f", (256, 64), "f32", strides=(128, 1))
    out = k.global_tensor("out", (256, 64), "f32", output=True)
    slices = k.global_tensor("slices", (4, 2, 16, 8), "f32")
    a_map = k.tensor_map("a_map", a, box=(64, 64), swizzle=128)
    f_map = k.tensor_map("f_map", f, box=(64, 32), oob_fill=OobFill.NAN)
    slices_map = k.tensor_map("slices_map", slices, box=(1, 1, 8, 8), swizzle=32, interleave=32)
    free_map = k.tensor_map("free_map", f, box=(64, 32), in_global=True)
    a_tile = k.smem_tile("a_tile", (64, 64), "bf16", stages=2, swizzle=128)
    f_tile = k.smem_tile("f_tile", (64, 32), "f32")
    full = k.mbarriers("full", count=1, stages=2)
    done = k.mbarriers("done", count=4)
    pair = k.named_barrier("pair", id=3, threads=160)
    acc = k.accumulator("acc", n=64)
    left = k.operand("left", k=32, dtype="bf16")
    counter = k.global_tensor("counter", (1,), "u32", output=True)
    x, ticket = k.fragment("x", registers=4), k.fragment("ticket", registers=1, dtype="u32")
    kept = k.mbarrier_state("kept")
    token = k.mbarrier_token("token")
    k.grid(4, 2)
    k.launch_bounds(2, maxnreg=128)
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("math", warps=4):
            k.setmaxnreg.inc(136)
            state = k.pipeline_state(2)
            with k.loop(steps, name="step", unroll=2) as step:
                k.mbarrier.wait(full[state.stage], state.phase)
                k.wgmma.fence()
                tile = a_tile[state.stage].expecting(a.box((k.block_idx * 64, step * 64), (64, 64)))
                k.wgmma.mma_tile(acc, tile.box((0, 0), (64, 16)), tile.box((0, 16), (64, 16)))
                k.wgmma.mma(acc, left.part(8, 8), tile.box((16, 0), (16, 64)), trans_b=True)
                k.wgmma.commit_group()
                k.wgmma.wait_group(0)
                k.bar.warp_sync()
                with k.when(step > 0), k.elect():
                    k.mbarrier.arrive(done[0])
                state.advance()
            k.mem.ld_global(x.part(0, 2), f.box((k.thread_in_role, 0), (1, 2)))
            with k.elect():
                k.mem.atom_add(ticket.all, counter.box((0,), (1,)))
            k.mem.ld_shared(x.part(2, 2), f_tile[0].box((k.lane, 4), (1, 2)))
            k.mem.compute(FOLD, x.all, f_tile[0], steps + 1)
            k.mem.st_shared(f_tile[0].box((k.lane, 0), (1, 4)), x.all)
            k.fence.proxy_async("shared")
            k.bar.arrive(pair)
            k.mem.st_global(out.box((k.thread_in_role, 0), (1, 4)), x.all)
            k.mem.st_global(out.box((k.thread_in_role + 192, 62), (1, 4)), x.all, clip=True)
            k.fence.proxy_async("global")
            k.fence.acq_rel("cta")
            k.fence.sc()
        with k.role("copy", warps=1):
            k.cp_async.copy(
                f_tile[0].box((k.lane, 0), (1, 4)), f.box((k.lane, 8), (1, 4)), src_bytes=8
            )
            k.cp_async.mbarrier_arrive(full[0])
            k.cp_async.mbarrier_arrive(done[0], noinc=True)
            k.cp_async.commit_group()
            k.cp_async.wait_group(0)
            k.fence.proxy_async()
            k.bar.sync(pair)
            with k.elect():
                k.mbarrier.arrive_expect_tx(done[0], 0, state=kept)
            with k.others():
                k.mbarrier.arrive(done[0], state=kept)
            k.mbarrier.wait_state(done[0], kept)
            k.mbarrier.peek(full[1], 0, token)
            k.mbarrier.wait(full[1], 0, peek=token)
            k.mbarrier.arrive(done[0], 2, no_complete=True)
            k.mbarrier.arrive_drop(done[0], 1)
            k.mbarrier.complete_tx(done[0], 16)
            with k.elect():
                with k.loop(steps) as i:
                    k.mbarrier.expect_tx(full[i % 2], 4096)
                    k.mbarrier.arrive_expect_tx(full[i % 2], 4096)
                    k.tma.load(a_tile[i % 2], a_map, (k.block_idx * 64, i * 64), full[i % 2])
                k.tma.store(f_map, (k.block_idx_y * 64, 32), f_tile[0])
                k.bulk.commit_group()
                k.bulk.wait_group(0, read=True)
                k.griddepcontrol.launch_dependents()
                k.griddepcontrol.wait()
                k.tma.replace(free_map, field="global_dim")
                k.fence.tensormap_release()
                k.fence.tensormap_acquire(free_map)
                k.bulk.prefetch(f.box((0, 0), (1, 32)))
                k.tma.prefetch(a_map, (0, 0))
                k.tma.prefetch(slices_map, (0, 0, 0, 0))
                k.tma.prefetch_map(a_map)
                k.bulk.load(f_tile[0].box((0, 0), (1, 32)), f.box((0, 0), (1, 32)), full[0])
                k.bulk.store(out.box((0, 0), (1, 32)), f_tile[0].box((0, 0), (1, 32)))
                k.bulk.reduce(out.box((0, 0), (1, 32)), f_tile[0].box((0, 0), (1, 32)), op="add")
                k.mbarrier.inval(done[0])
    return k.finish()


def every_cluster_op() -> Schedule:
    """What speaks to other CTAs of a cluster, in every form."""
    k = ScheduleBuilder("every_cluster_op")
    f = k.global_tensor("f", (256, 64), "f32", output=True)
    f_map = k.tensor_map("f_map", f, box=(8, 32))
    tile = k.smem_tile("tile", (8, 32), "f32", stages=2)
    sums = k.smem_tile("sums", (1, 32), "u32", stages=2)
    full = k.mbarriers("full", count=1, stages=2)
    x, one = k.fragment("x", registers=4), k.fragment("one", registers=1, dtype="u32")
    k.grid(4, 4)
    k.cluster(2, 2)
    peer = k.cta_rank ^ 1
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.fence.proxy_async("shared::cluster")
    k.cluster_barrier.arrive(relaxed=True)
    k.cluster_barrier.wait()
    k.cluster_barrier.arrive()
    k.cluster_barrier.wait()
    with k.elect():
        k.mbarrier.expect_tx(k.mbarrier.at(full[0], peer), 64)
        k.mbarrier.arrive_expect_tx(k.mbarrier.at(full[0], peer), 64, scope="cluster")
        k.mbarrier.arrive(k.mbarrier.at(full[1], 3), relaxed=True)
        k.mbarrier.arrive_expect_tx(full[1], 1024, relaxed=True, scope="cluster")
        k.mbarrier.wait(full[1], 0, scope="cluster")
        k.mbarrier.wait(full[0], 0, relaxed=True)
        k.tma.load(tile[1], f_map, (k.block_idx * 8, 0), full[1], multicast=15)
        k.tma.load(tile[0], f_map, (0, 0), full[0], multicast=1 << k.cta_rank)
        k.tma.reduce(f_map, (0, 32), tile[1], op="add")
        row = tile[1].box((0, 0), (1, 32))
        k.bulk.load(row, f.box((0, 0), (1, 32)), full[0], multicast=3)
        there = k.mbarrier.at(full[0], peer)
        k.bulk.send(tile[1].at(peer), tile[0], there)
        k.bulk.send(sums[0].at(peer), sums[1], there, op="add")
    k.mem.ld_shared(x.all, tile[0].at(peer).box((0, k.lane), (4, 1)))
    k.mem.st_shared(tile[0].box((0, k.lane), (1, 1)).at(3), x.part(0, 1))
    place = sums[0].at(peer).box((0, k.lane), (1, 1))
    k.mem.red_async(place, one.all, k.mbarrier.at(full[0], peer), op="max")
    k.mem.st_async(
        tile[1].at(peer).box((k.lane // 8, 4 * (k.lane % 8)), (1, 4)),
        x.all,
        k.mbarrier.at(full[0], peer),
    )
    return k.finish()


def every_tcgen05_op() -> Schedule:
    """Tensor memory in every form: both groups of operands of an mma, all kinds of moves."""
    k = ScheduleBuilder("every_tcgen05_op", archs=("sm_100a",))
    k.grid(2)
    k.cluster(2)
    k.block(4)
    a = k.smem_tile("a", (128, 64), "bf16", stages=2, swizzle=128)
    b = k.smem_tile("b", (64, 64), "bf16", swizzle=128)
    four = k.smem_tile("four", (128, 32), "u8", swizzle=32)
    factors = k.smem_tile("factors", (32, 16), "u8")
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=128, address=word, stages=2)
    p = k.tmem_tile("p", columns=32, dtype="bf16", address=word, column=256)
    scale_a = k.tmem_tile("scale_a", columns=4, dtype="u8", address=word, column=288)
    scale_b = k.tmem_tile("scale_b", columns=8, dtype="u8", address=word, column=292)
    response = k.smem_tile("response", (1, 4), "u32")
    row_map = k.tensor_map("row_map", k.global_tensor("rows", (64, 64), "bf16"), box=(1, 64))
    row_tile = k.smem_tile("row_tile", (4, 64), "bf16")
    image = k.global_tensor("image", (2, 8, 8, 64), "bf16")
    pixel_map = k.im2col_map(
        "pixel_map", image, pixels=4, channels=64, lower=(-1, -1), upper=(-1, -1)
    )
    row_of_pixels_map = k.im2col_map(
        "row_of_pixels_map",
        image,
        pixels=4,
        channels=64,
        lower=(-1,),
        upper=(0,),
        swizzle=128,
        mode="im2col::w",
    )
    row_of_pixels = k.smem_tile("row_of_pixels", (6, 64), "bf16", swizzle=128)
    done = k.mbarriers("done", count=1)
    r = k.fragment("r", registers=32)
    mine = 32 * k.warp_in_role
    with k.elect_thread():
        k.mbarrier.init_all(done)
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 512, cta_group=2)
        k.tcgen05.relinquish_alloc_permit(cta_group=2)
    with k.elect_thread(), k.loop(2) as i:
        k.tcgen05.mma_tile(acc[i], a[i], b[0], accumulate_first=i, cta_group=2)
        k.tcgen05.mma(acc[0], p[0].box((0, 8), (128, 8)), b[0].box((0, 0), (64, 16)), cta_group=2)
        k.tcgen05.cp(scale_a[0], factors[0], shape="32x128b.warpx4", cta_group=2)
        k.tcgen05.mma(
            acc[1],
            four[0],
            four[0].box((0, 0), (64, 32)),
            kind="mxf4nvf4",
            cta_group=2,
            scale_a=scale_a[0],
            scale_b=scale_b[0].box((0, 4), (128, 4)),
            scale_vec=4,
        )
        k.tcgen05.shift(acc[0].box((32, 0), (32, 8)), cta_group=2)
        k.tcgen05.commit(k.mbarrier.at(done[0], 0), cta_group=2)
        k.tcgen05.commit(done[0], multicast=3, cta_group=2)
        k.tma.gather4(row_tile[0], row_map, (0, i, 9, 7), 0, done[0])
        k.tma.gather4(row_tile[0], row_map, (0, i, 9, 7), 0, done[0], multicast=3)
        k.tma.load_im2col(row_tile[0], pixel_map, (0, i, 3, 0), (i, 2), done[0])
        k.tma.load_im2col(row_of_pixels[0], row_of_pixels_map, (0, i, 3, 0), (i,), done[0], halo=2)
        k.tma.scatter4(row_map, (0, i, 9, 7), 0, row_tile[0])
        k.clc.try_cancel(response[0], done[0])
        k.clc.try_cancel(response[0], done[0], multicast=True)
    k.tcgen05.fence_after_thread_sync()
    k.clc.query_cancel(r.part(0, 1), response[0])
    k.tcgen05.ld(r.all, acc[1].box((mine, 32), (32, 32)))
    k.tcgen05.wait_ld()
    k.tcgen05.st(p[0].box((mine, 0), (32, 16)), r.part(0, 16))
    k.tcgen05.wait_st()
    k.tcgen05.fence_before_thread_sync()
    k.tcgen05.dealloc(word[0], 512, cta_group=2)
    return k.finish()


def every_matrix_op() -> Schedule:
    """ldmatrix and stmatrix of every size, mma.sync of every pair of types."""
    k = ScheduleBuilder("every_matrix_op")
    k.block(2)
    warp, lane = k.warp_in_role, k.lane
    for a_type, b_type in (
        ("bf16", "bf16"),
        ("f16", "f16"),
        ("tf32", "tf32"),
        ("e4m3", "e5m2"),
        ("i8", "u8"),
    ):
        row = {"tf32": 4, "bf16": 8, "f16": 8}.get(a_type, 16)
        a_tile = k.smem_tile(f"a_{a_type}", (32, 4 * row), a_type, swizzle=64)
        b_tile = k.smem_tile(f"b_{a_type}", (16, 2 * row), b_type, stages=2)
        a, b = k.matrices(f"fa_{a_type}", 8, a_type), k.matrices(f"fb_{a_type}", 4, b_type)
        acc = k.fragment(f"acc_{a_type}", registers=8, dtype="i32" if a_type == "i8" else "f32")
        rows = a_tile[0].box((16 * warp, 0), (16, 2 * row))
        k.ldmatrix(a.matrices(4, 4), rows.box((lane % 16, lane // 16 * row), (1, row)))
        k.ldmatrix(b.matrices(0, 2), b_tile[1].box((lane % 8, lane // 8 % 2 * row), (1, row)))
        k.ldmatrix(b.matrices(3, 1), b_tile[0].box((lane % 8, 0), (1, row)))
        k.mma.sync(acc.part(4, 4), a.matrices(4, 4), b.matrices(0, 2))
        k.mma.sync(acc.part(0, 4), a.matrices(0, 4), b.matrices(2, 2), acc.part(4, 4))
        k.stmatrix(rows.box((lane % 16, lane // 16 * row), (1, row)), a.matrices(0, 4))
        if row == 8:
            k.ldmatrix(a.matrices(0, 1), a_tile[0].box((lane % 8, 0), (1, row)), trans=True)
            k.ldmatrix(a.matrices(2, 2), a_tile[0].box((lane % 16, 0), (1, row)), trans=True)
            k.stmatrix(a_tile[0].box((lane % 16, 8), (1, row)), a.matrices(4, 2))
            k.stmatrix(a_tile[0].box((lane % 8, 8), (1, row)), a.matrices(7, 1), trans=True)
    return k.finish()
