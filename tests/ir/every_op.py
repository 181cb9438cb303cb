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
    a_map = k.tensor_map("a_map", a, box=(64, 64), swizzle=128)
    f_map = k.tensor_map("f_map", f, box=(64, 32), oob_fill=OobFill.NAN)
    a_tile = k.smem_tile("a_tile", (64, 64), "bf16", stages=2, swizzle=128)
    f_tile = k.smem_tile("f_tile", (64, 32), "f32")
    full = k.mbarriers("full", count=1, stages=2)
    done = k.mbarriers("done", count=4)
    pair = k.named_barrier("pair", id=3, threads=160)
    acc = k.accumulator("acc", n=64)
    x = k.fragment("x", registers=4)
    k.grid(4, 2)
    k.launch_bounds(2)
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("math", warps=4):
            state = k.pipeline_state(2)
            with k.loop(steps, name="step", unroll=2) as step:
                k.mbarrier.wait(full[state.stage], state.phase)
                k.wgmma.fence()
                tile = a_tile[state.stage].expecting(a.box((k.block_idx * 64, step * 64), (64, 64)))
                k.wgmma.mma_tile(acc, tile.box((0, 0), (64, 16)), tile.box((0, 16), (64, 16)))
                k.wgmma.commit_group()
                k.wgmma.wait_group(0)
                k.bar.warp_sync()
                with k.when(step > 0), k.elect():
                    k.mbarrier.arrive(done[0])
                state.advance()
            k.mem.ld_global(x.part(0, 2), f.box((k.thread_in_role, 0), (1, 2)))
            k.mem.ld_shared(x.part(2, 2), f_tile[0].box((k.lane, 4), (1, 2)))
            k.mem.compute(FOLD, x.all, f_tile[0], steps + 1)
            k.mem.st_shared(f_tile[0].box((k.lane, 0), (1, 4)), x.all)
            k.fence.proxy_async("shared")
            k.bar.arrive(pair)
            k.mem.st_global(out.box((k.thread_in_role, 0), (1, 4)), x.all)
            k.mem.st_global(out.box((k.thread_in_role + 192, 62), (1, 4)), x.all, clip=True)
            k.fence.proxy_async("global")
        with k.role("copy", warps=1):
            k.cp_async.copy(
                f_tile[0].box((k.lane, 0), (1, 4)), f.box((k.lane, 8), (1, 4)), src_bytes=8
            )
            k.cp_async.commit_group()
            k.cp_async.wait_group(0)
            k.fence.proxy_async()
            k.bar.sync(pair)
            with k.elect():
                with k.loop(steps) as i:
                    k.mbarrier.expect_tx(full[i % 2], 4096)
                    k.mbarrier.arrive_expect_tx(full[i % 2], 4096)
                    k.tma.load(a_tile[i % 2], a_map, (k.block_idx * 64, i * 64), full[i % 2])
                k.tma.store(f_map, (k.block_idx_y * 64, 32), f_tile[0])
                k.bulk.commit_group()
                k.bulk.wait_group(0, read=True)
                k.mbarrier.inval(done[0])
    return k.finish()
