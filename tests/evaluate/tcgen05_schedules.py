"""Small schedules of tcgen05: one instruction, what it reads brought in, what it writes stored."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule

DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "i8": np.int8,
    "u8": np.uint8,
}
SLICE = 32  # bytes of a row for one instruction


def product(*, m=128, n=32, a="bf16", b="", group=1, from_tensor_memory=False):
    """One instruction on the shared tiles of one or two CTAs; each stores its lanes as they are."""
    b = b or a
    k = ScheduleBuilder("product", archs=("sm_100a",))
    k.block(4)
    k.grid(group)
    if group == 2:
        k.cluster(2)
    depth, rows = SLICE // np.dtype(DTYPES[a]).itemsize, m // group
    result = "i32" if a in ("i8", "u8") else "f32"
    left = k.global_tensor("a", (m, depth), a)
    right = k.global_tensor("b", (n, depth), b)
    columns = n // 2 if group == 2 and m == 128 else n
    out = k.global_tensor("out", (128 * group, columns), result, output=True)
    a_map = k.tensor_map("a_map", left, box=(rows, depth), swizzle=32)
    b_map = k.tensor_map("b_map", right, box=(n // group, depth), swizzle=32)
    a_tile = k.smem_tile("a_tile", (rows, depth), a, swizzle=32)
    b_tile = k.smem_tile("b_tile", (n // group, depth), b, swizzle=32)
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=columns, dtype=result, address=word)
    copy = k.tmem_tile("copy", columns=8, dtype=a, address=word, column=256)
    full, done = k.mbarriers("full", count=1), k.mbarriers("done", count=1)
    r = k.fragment("r", registers=columns, dtype=result)
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()
    if group == 2:
        k.cluster_barrier.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 512, cta_group=group)
    k.bar.sync()
    with k.elect_thread():
        at = k.mbarrier.at(full[0], 0) if group == 2 else full[0]
        with k.when(k.cta_rank == 0):
            k.mbarrier.arrive_expect_tx(full[0], (m + n) * SLICE)
        k.tma.load(a_tile[0], a_map, (k.cta_rank * rows, 0), at)
        k.tma.load(b_tile[0], b_map, (k.cta_rank * (n // group), 0), at)
        with k.when(k.cta_rank == 0):
            k.mbarrier.wait(full[0], 0)
            if from_tensor_memory:
                k.tcgen05.cp(copy[0], a_tile[0], shape="128x256b", cta_group=group)
            k.tcgen05.mma(
                acc[0],
                copy[0] if from_tensor_memory else a_tile[0],
                b_tile[0],
                accumulate=0,
                cta_group=group,
                m=m,
            )
            k.tcgen05.commit(done[0], multicast=3 if group == 2 else None, cta_group=group)
    k.mbarrier.wait(done[0], 0)
    k.tcgen05.fence_after_thread_sync()
    k.tcgen05.ld(r.all, acc[0].box((32 * k.warp_in_role, 0), (32, columns)))
    k.tcgen05.wait_ld()
    k.mem.st_global(out.box((128 * k.cta_rank + k.thread_in_role, 0), (1, columns)), r.all)
    k.tcgen05.fence_before_thread_sync()
    k.cluster_barrier.sync() if group == 2 else k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 512, cta_group=group)
    if group == 2:
        k.cluster_barrier.sync()
    return k.finish()


def moves(shape: str, rows: int, row_bytes: int, *, shift: bool = False):
    """tcgen05.cp (and a shift of 32 lanes), stored lane by lane."""
    columns = row_bytes // 4
    k = ScheduleBuilder("moves", archs=("sm_100a",))
    k.block(4)
    source = k.global_tensor("source", (rows, columns), "u32")
    out = k.global_tensor("out", (128, columns), "u32", output=True)
    swizzle = 32 if row_bytes == 32 else 0
    load = k.tensor_map("load", source, box=(rows, columns), swizzle=swizzle)
    tile = k.smem_tile("tile", (rows, columns), "u32", swizzle=swizzle)
    word = k.smem_tile("word", (1, 1), "u32")
    t = k.tmem_tile("t", columns=columns, dtype="u32", address=word)
    full, done = k.mbarriers("full", count=1), k.mbarriers("done", count=1)
    r = k.fragment("r", registers=columns, dtype="u32")
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 32)
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(full[0], rows * row_bytes)
        k.tma.load(tile[0], load, (0, 0), full[0])
        k.mbarrier.wait(full[0], 0)
        k.tcgen05.cp(t[0].box((0, 0), (4 if rows == 4 else 128, columns)), tile[0], shape=shape)
        if shift:
            k.tcgen05.shift(t[0].box((32, 0), (32, 8)))
        k.tcgen05.commit(done[0])
    k.mbarrier.wait(done[0], 0)
    k.tcgen05.fence_after_thread_sync()
    k.tcgen05.ld(r.all, t[0].box((32 * k.warp_in_role, 0), (32, columns)))
    k.tcgen05.wait_ld()
    k.mem.st_global(out.box((k.thread_in_role, 0), (1, columns)), r.all)
    k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 32)
    return k.finish()


def through_registers() -> Schedule:
    k = ScheduleBuilder("store", archs=("sm_100a",))
    k.block(4)
    source = k.global_tensor("source", (128, 32), "u32")
    out = k.global_tensor("out", (128, 32), "u32", output=True)
    word = k.smem_tile("word", (1, 1), "u32")
    t = k.tmem_tile("t", columns=32, dtype="u32", address=word)
    x, y = (k.fragment(name, registers=32, dtype="u32") for name in "xy")
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 32)
    k.bar.sync()
    own = t[0].box((32 * k.warp_in_role, 0), (32, 32))
    k.mem.ld_global(x.all, source.box((k.thread_in_role, 0), (1, 32)))
    k.tcgen05.st(own, x.all)
    k.tcgen05.wait_st()
    k.tcgen05.ld(y.all, own)
    k.tcgen05.wait_ld()
    k.mem.st_global(out.box((k.thread_in_role, 0), (1, 32)), y.all)
    k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 32)
    return k.finish()


def block_scaled(kind: str, vec: int, *, n: int = 128, elements: str = "u8", first: int = 0):
    """One instruction of a block-scaled kind, its factors copied to tensor memory."""
    k = ScheduleBuilder("block_scaled", archs=("sm_100a",))
    k.block(4)
    a, b = (k.global_tensor(x, (r, SLICE), elements) for x, r in (("a", 128), ("b", n)))
    sa, sb = (k.global_tensor(x, (r, 4), "u8") for x, r in (("sa", 128), ("sb", n)))
    out = k.global_tensor("out", (128, n), "f32", output=True)
    a_map = k.tensor_map("a_map", a, box=(128, SLICE), swizzle=32)
    b_map = k.tensor_map("b_map", b, box=(n, SLICE), swizzle=32)
    a_tile, b_tile = (
        k.smem_tile(x, (r, SLICE), elements, swizzle=32) for x, r in (("at", 128), ("bt", n))
    )
    factors = k.smem_tile("factors", (32, 4, 4), "u8", stages=2)  # lane, column, byte
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=n, address=word)
    scale = k.tmem_tile("scale", columns=4, dtype="u8", address=word, column=256, stages=2)
    full, done = k.mbarriers("full", count=1), k.mbarriers("done", count=1)
    r, byte = k.fragment("r", registers=n), k.fragment("byte", registers=4, dtype="u8")
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 512)
    for i, (tensor, rows) in enumerate(((sa, 128), (sb, n))):
        with k.when(k.warp_in_role < rows // 32):
            k.mem.ld_global(byte.all, tensor.box((k.thread_in_role, 0), (1, 4)))
            k.mem.st_shared(factors[i].box((k.lane, k.warp_in_role, 0), (1, 1, 4)), byte.all)
    k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(full[0], (128 + n) * SLICE)
        k.tma.load(a_tile[0], a_map, (0, 0), full[0])
        k.tma.load(b_tile[0], b_map, (0, 0), full[0])
        k.mbarrier.wait(full[0], 0)
        for i in range(2):
            k.tcgen05.cp(scale[i], factors[i], shape="32x128b.warpx4")
        k.tcgen05.mma(
            acc[0],
            a_tile[0],
            b_tile[0],
            accumulate=0,
            kind=kind,
            scale_a=scale[0],
            scale_b=scale[1].box((0, 0), (128, n // 32)),
            scale_vec=vec,
            scale_a_id=first,
            scale_b_id=first,
        )
        k.tcgen05.commit(done[0])
    k.mbarrier.wait(done[0], 0)
    k.tcgen05.fence_after_thread_sync()
    k.tcgen05.ld(r.all, acc[0].box((32 * k.warp_in_role, 0), (32, n)))
    k.tcgen05.wait_ld()
    k.mem.st_global(out.box((k.thread_in_role, 0), (1, n)), r.all)
    k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 512)
    return k.finish()
