"""Random small schedules that pass stages on: TMA, wgmma, rendezvous and named-barrier rings.

Each is a plain schedule with drawn shapes; most are clean, some are not. What breaks them further
is drawn from the mutants of tests/mutants.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from tests.check.written import written

FOLD = ComputeDef(
    name="fold",
    operands=(
        ComputeOperand(name="x", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="tile", kind="smem"),
    ),
    work=lambda: Work(ffma=1),
    cuda="x[0] += tile(0, lane);",
    numpy=lambda x, tile, lane, **_: None,
)

Draw = Random


def chance(rng: Draw, p: float) -> bool:
    return rng.random() < p


def tma_ring(rng: Draw) -> Schedule:
    """Producer by TMA, consumer warps that fold; announcements, fences and releases are drawn."""
    k = ScheduleBuilder("tma_ring")
    stages, steps = rng.randint(1, 3), rng.randint(1, 5)
    warps, copies = rng.choice([1, 1, 2]), rng.choice([1, 1, 2])
    style, wide = rng.randrange(4), chance(rng, 0.2)
    source = k.global_tensor("source", (steps * copies, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    ring = k.smem_tile("ring", (copies, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=2 if style == 3 else 1, stages=stages)
    empty = k.mbarriers("empty", count=warps * (32 if wide else 1), stages=stages)
    x = written(k, "x", registers=1)
    _init(k, rng, full, empty)
    with k.specialize():
        with k.role("consumer", warps=warps):
            state = k.pipeline_state(stages)
            with k.loop(steps) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box((i * copies, 0), (copies, 32))
                tile = ring[state.stage]
                k.mem.compute(FOLD, x.all, tile.expecting(meant) if chance(rng, 0.8) else tile)
                if chance(rng, 0.9):
                    k.fence.proxy_async(rng.choice(["shared", "shared", "all"]))
                _release(k, rng, empty[state.stage], wide)
                state.advance()
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True, name="p")
            with k.loop(steps, name="j") as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                b = full[state.stage]

                def load(c: int, i=i, b=b, stage=state.stage) -> None:  # type: ignore[no-untyped-def]
                    k.tma.load(ring[stage].box((c, 0), (1, 32)), rows, (i * copies + c, 0), b)

                if style == 0:
                    k.mbarrier.arrive_expect_tx(b, 128 * copies)
                if style == 1:
                    k.mbarrier.expect_tx(b, 128 * copies)
                for c in range(copies):
                    if style == 2 and c == 0:
                        k.mbarrier.arrive_expect_tx(b, 128)
                    elif style == 2:
                        k.mbarrier.expect_tx(b, 128)
                    load(c)
                if style == 1:
                    k.mbarrier.arrive(b)
                if style == 3:
                    k.mbarrier.arrive_expect_tx(b, 128 * copies)
                    k.mbarrier.arrive(b)
                state.advance()
    return k.finish()


def _init(k: ScheduleBuilder, rng: Draw, *arrays) -> None:  # type: ignore[no-untyped-def]
    with k.elect_thread():
        k.mbarrier.init_all(*arrays)
        if chance(rng, 0.95):
            rng.choice([k.fence.mbarrier_init, k.fence.proxy_async])()
    k.bar.sync()


def _release(k: ScheduleBuilder, rng: Draw, empty, wide: bool) -> None:  # type: ignore[no-untyped-def]
    if wide:
        k.mbarrier.arrive(empty)
        return
    if chance(rng, 0.9):
        k.bar.warp_sync()
    with k.elect():
        k.mbarrier.arrive(empty)


def wgmma_ring(rng: Draw) -> Schedule:
    """One or two warpgroups multiply what a producer loads, with some groups in flight."""
    k = ScheduleBuilder("wgmma_ring")
    stages, steps = rng.randint(1, 3), rng.randint(1, 4)
    lag, groups = rng.choice([0, 0, 1, 1, 2]), rng.choice([1, 1, 1, 2])
    slices = rng.choice([1, 1, 2])
    a = k.global_tensor("a", (64, 16 * slices * steps), "bf16")
    a_map = k.tensor_map("a_map", a, box=(64, 16 * slices), swizzle=32 * slices)
    tile = k.smem_tile("tile", (64, 16 * slices), "bf16", stages=stages, swizzle=32 * slices)
    acc = k.accumulator("acc", n=64)
    out = k.global_tensor("out", (64 * groups, 64), "f32", output=True)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=groups, stages=stages)
    _init(k, rng, full, empty)
    with k.specialize():
        with k.role("math", warps=4 * groups):
            state, done = k.pipeline_state(stages), k.pipeline_state(stages, name="done")
            with k.loop(steps) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                k.wgmma.fence()
                meant = a.box((0, i * 16 * slices), (64, 16 * slices))
                view = tile[state.stage].expecting(meant)
                for s in range(slices):
                    part = view.box((0, 16 * s), (64, 16))
                    k.wgmma.mma(acc, part, part, accumulate=1 if s else i != 0)
                k.wgmma.commit_group()
                k.wgmma.wait_group(lag)
                with k.when(i >= lag):
                    with k.when(k.warp_in_role % 4 == 0), k.elect():
                        k.mbarrier.arrive(empty[done.stage])
                    done.advance()
                state.advance()
            if chance(rng, 0.9):
                k.wgmma.wait_group(0)
            group = k.warp_in_role // 4 if chance(rng, 0.95) else 0
            k.mem.store_accumulator(out, (64 * group, 0), acc)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True, name="p")
            with k.loop(steps, name="j") as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 64 * 32 * slices)
                where = (0, i * 16 * slices)
                k.tma.load(tile[state.stage], a_map, where, full[state.stage])
                state.advance()
    return k.finish()


def rendezvous(rng: Draw) -> Schedule:
    """Warps that meet on mbarriers and take turns at a buffer."""
    k = ScheduleBuilder("rendezvous")
    warps, rounds = rng.choice([2, 2, 3]), rng.randint(1, 4)
    stages, wide = rng.choice([1, 1, 2]), chance(rng, 0.3)
    tile = k.smem_tile("tile", (1, 32), "f32", stages=stages)
    x = written(k, "x", registers=1)
    bars = k.mbarriers("meet", count=warps * (32 if wide else 1), stages=stages)
    turns = chance(rng, 0.7)
    _init(k, rng, bars)
    with k.specialize(), k.role("all", warps=warps):
        state = k.pipeline_state(stages)
        with k.loop(rounds) as i:
            if turns:
                with k.when(k.warp_in_role == i % warps):
                    k.mem.st_shared(tile[state.stage].box((0, k.lane), (1, 1)), x.all)
            if wide:
                k.mbarrier.arrive(bars[state.stage])
            else:
                if chance(rng, 0.9):
                    k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(bars[state.stage])
            k.mbarrier.wait(bars[state.stage], state.phase)
            if turns and chance(rng, 0.5):
                with k.when(k.warp_in_role == (i + 1) % warps):
                    k.mem.ld_shared(x.all, tile[state.stage].box((0, k.lane), (1, 1)))
            state.advance()
    return k.finish()


def named(rng: Draw) -> Schedule:
    """Two roles that hand a buffer to and fro by bar.sync and bar.arrive."""
    k = ScheduleBuilder("named")
    rounds, readers = rng.randint(1, 4), rng.choice([1, 1, 2])
    threads = 32 * (1 + readers)
    tile = k.smem_tile("tile", (1, 32), "f32")
    x = written(k, "x", registers=1)
    filled, freed = (
        k.named_barrier(name, id=i, threads=threads) for i, name in ((1, "filled"), (2, "freed"))
    )
    arrive = chance(rng, 0.7)
    mine = tile[0].box((0, k.lane), (1, 1))
    with k.specialize():
        with k.role("writer", warps=1), k.loop(rounds, name="i") as i:
            with k.when(i > 0):
                k.bar.sync(freed)
            k.mem.st_shared(mine, x.all)
            if arrive:
                k.bar.arrive(filled)
            else:
                k.bar.sync(filled)
        with k.role("reader", warps=readers), k.loop(rounds, name="j") as j:
            k.bar.sync(filled)
            k.mem.ld_shared(x.all, mine)
            with k.when(j < rounds - 1):
                if chance(rng, 0.7):
                    k.bar.arrive(freed)
                else:
                    k.bar.sync(freed)
    return k.finish()


Generator = Callable[[Random], Schedule]
