"""Every op of the language in one kernel whose data can be checked: tests of the renderer."""

from __future__ import annotations

from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import scenario


def _scale(part: Any, factor: int, **_: Any) -> None:
    part[...] = part * factor


SCALE = ComputeDef(
    name="scale",
    operands=(
        ComputeOperand(name="part", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="factor", kind="int"),
    ),
    work=lambda factor: Work(alu=2),
    cuda="""
        for (int i = 0; i < 2; ++i) part[i] = part[i] * factor;
    """,
    numpy=_scale,
)


@scenario(summary="every op once, on data that evaluate can follow", archs=("sm_90a",))
def zoo(*, turns: int = 3, ctas: int = 2) -> Schedule:
    k = ScheduleBuilder("zoo", archs=("sm_90a",))
    n = k.arg("turns", turns)
    rows = 64
    halves = k.global_tensor("halves", (ctas * rows, 32), "bf16")
    words = k.global_tensor("words", (ctas * rows, 32), "f32")
    cube = k.global_tensor("cube", (ctas, 8, 16), "i32")
    out = k.global_tensor("out", (ctas * rows, 32), "f32", output=True)
    short_out = k.global_tensor("short_out", (ctas * rows, 32), "bf16", output=True)
    copied = k.global_tensor("copied", (ctas, 8, 16), "i32", output=True)
    padded = k.global_tensor("padded", (ctas * rows, 32), "f32", output=True)
    scaled = k.global_tensor("scaled", (ctas * rows, 4), "f32", strides=(12, 1), output=True)
    cube_map = k.tensor_map("cube_map", cube, box=(1, 8, 16))
    copied_map = k.tensor_map("copied_map", copied, box=(1, 8, 16))
    tile = k.smem_tile("tile", (rows, 32), "f32", swizzle=128)
    padding = k.smem_tile("padding", (rows, 32), "f32", swizzle=128)
    box = k.smem_tile("box", (1, 8, 16), "i32", stages=2)
    full = k.mbarriers("full", count=1, stages=2)
    turn = k.mbarriers("turn", count=33)
    meet = k.mbarriers("meet", count=65, stages=2)
    tracked = k.mbarriers("tracked", count=64, stages=2)
    forms = k.mbarriers("forms", count=34)
    pair = k.named_barrier("pair", id=3, threads=128)
    state, token = k.mbarrier_state("state"), k.mbarrier_token("token")
    short = k.fragment("short", registers=4, dtype="bf16")
    wide, four = k.fragment("wide", registers=4), k.fragment("four", registers=4)
    k.grid(ctas)
    k.block(2 + 2)
    k.launch_bounds(2, maxnreg=112)
    first = k.block_idx * rows

    with k.elect_thread():
        k.mbarrier.init_all(full, turn, meet, tracked, forms)
        k.fence.mbarrier_init()
    k.setmaxnreg.dec(88)
    k.bar.sync()
    k.setmaxnreg.inc(112)
    with k.specialize():
        with k.role("mover", warps=2):
            row, column = k.thread_in_role, 4 * (k.lane % 8)
            # plain accesses, both ways through a swizzled tile, whole rows by one thread
            with k.loop(8) as j:
                k.mem.ld_global(wide.all, words.box((first + row, j * 4), (1, 4)))
                k.mem.compute(SCALE, wide.part(1, 2), n)
                k.mem.st_shared(tile[0].box((row, j * 4), (1, 4)), wide.all)
            k.bar.arrive(pair)
            # bf16 in 8-byte vectors
            k.mem.ld_global(short.all, halves.box((first + row, column), (1, 4)))
            k.mem.st_global(short_out.box((first + row, column), (1, 4)), short.all)
            # cp.async of 4, 8 and 16 bytes, zero-filled, drained by its issuer
            k.cp_async.copy(
                padding[0].box((row, 0), (1, 4)), words.box((first + row, 0), (1, 4)), src_bytes=8
            )
            k.cp_async.copy(
                padding[0].box((row, 4), (1, 2)), words.box((first + row, 4), (1, 2)), bytes=8
            )
            k.cp_async.copy(
                padding[0].box((row, 6), (1, 1)),
                words.box((first + row, 6), (1, 1)),
                bytes=4,
                src_bytes=4 * (row % 2),
            )
            # tracked by mbarriers: arrivals that init counts, and arrivals beside the lanes' own
            k.cp_async.mbarrier_arrive(tracked[0], noinc=True)
            k.mbarrier.wait(tracked[0], 0)
            k.cp_async.mbarrier_arrive(tracked[1])
            k.mbarrier.arrive(tracked[1])
            k.mbarrier.wait(tracked[1], 0)
            k.cp_async.commit_group()
            k.cp_async.wait_group(0)
            k.bar.warp_sync()
            k.mem.ld_shared(four.all, padding[0].box((row, 0), (1, 4)))
            k.mem.st_global(padded.box((first + row, 0), (1, 4)), four.all)
            k.mem.ld_shared(four.part(0, 3), padding[0].box((row, 4), (1, 3)))
            k.mem.st_global(padded.box((first + row, 4), (1, 3)), four.part(0, 3))
        with k.role("reader", warps=2):
            row = k.thread_in_role
            k.bar.sync(pair)
            # the role's threads meet by states: each arrives on its own, one of them twice
            with k.loop(n, name="meeting") as meeting:
                with k.elect_thread():
                    k.mbarrier.arrive(meet[meeting % 2], 2, state=state)
                with k.others():
                    k.mbarrier.arrive(meet[meeting % 2], state=state)
                k.mbarrier.wait_state(meet[meeting % 2], state)
            with k.loop(8) as j:
                k.mem.ld_shared(wide.all, tile[0].box((row, j * 4), (1, 4)))
                k.mem.st_global(out.box((first + row, j * 4), (1, 4)), wide.all)
                with k.when(j == 2):
                    k.mem.st_global(scaled.box((first + row, 0), (1, 4)), wide.all)
            # a box through shared memory by TMA, several turns; extra expect, arrivals by count
            # arrivals that leave a phase open, bytes by hand, two that drop out, a peek
            with k.when(k.warp_in_role == 1):
                k.mbarrier.arrive(forms[0], no_complete=True)
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.expect_tx(forms[0], 16)
                    k.mbarrier.complete_tx(forms[0], 16)
                    k.mbarrier.arrive_drop(forms[0], 2)
                k.mbarrier.peek(forms[0], 0, token)
                k.mbarrier.wait(forms[0], 0, peek=token)
                k.mbarrier.arrive(forms[0])
                k.mbarrier.wait(forms[0], 1)
            phase = k.var("phase", 0)
            with k.when(k.warp_in_role == 0):
                with k.loop(n) as i:
                    with k.elect():
                        k.mbarrier.expect_tx(full[i % 2], 256)
                        k.mbarrier.arrive_expect_tx(full[i % 2], 256)
                        k.tma.load(box[i % 2], cube_map, (k.block_idx, 0, 0), full[i % 2])
                        k.mbarrier.wait(full[i % 2], i // 2 % 2)
                        k.tma.store(copied_map, (k.block_idx, 0, 0), box[i % 2])
                        k.bulk.commit_group()
                        k.bulk.wait_group(0, read=True)
                        k.bulk.wait_group(0)
                        k.mbarrier.arrive(turn[0], count=1)
                    k.mbarrier.arrive(turn[0])
                    k.mbarrier.wait(turn[0], phase)
                    phase.set(phase ^ 1)
                k.fence.proxy_async("all")
                k.fence.proxy_async("global")
                k.bar.warp_sync()  # the other lanes still wait until here
                with k.elect():
                    k.mbarrier.inval(turn[0])
    return k.finish()
