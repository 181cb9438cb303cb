"""Small schedules for the simulator's tests, and machines with changed numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import Machine, load_machine
from asyncsim.scenarios.tile_hash import HASH_INIT, TILE_HASH

H200 = load_machine("h200")


def with_numbers(machine: Machine, **groups: dict[str, Any]) -> Machine:
    """The machine with fields of groups replaced: ``with_numbers(m, tma={"issue_cycles": 5})``."""
    changed = {
        name: replace(
            getattr(machine, name),
            **{k: Fraction(v) if k.endswith(("cycles", "cycle")) else v for k, v in values.items()},
        )
        for name, values in groups.items()
    }
    return replace(machine, **changed)


def ring(
    *,
    stages: int,
    tiles: int,
    ffma: int = 0,
    ctas: int = 1,
    consumers: int = 4,
    rows: int = 128,
    wrap: int = 0,
    converged_producer: bool = False,
    fence: bool = False,
) -> Schedule:
    """A TMA ring: boxes of ``rows`` rows of 128 bytes; after ``wrap`` tiles a CTA starts again with
    its first one (0: never). ``converged_producer``: all lanes loop and wait, one issues."""
    k = ScheduleBuilder("ring", archs=("sm_90a",))
    n = k.arg("tiles", tiles)
    span = wrap or tiles
    source = k.global_tensor("source", (max(1, ctas * span) * rows, 32), "f32")
    result = k.global_tensor("result", (ctas, consumers * 32), "u32", output=True)
    source_map = k.tensor_map("source_map", source, box=(rows, 32))
    tile = k.smem_tile("tile", (rows, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=consumers, stages=stages)
    hash_, unit = k.fragment("hash", registers=1, dtype="u32"), k.fragment("unit", registers=2)
    k.grid(ctas)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=consumers):
            k.mem.compute(HASH_INIT, hash_.all, unit.all, n)
            state = k.pipeline_state(stages)
            with k.loop(n):
                k.mbarrier.wait(full[state.stage], state.phase)
                k.mem.compute(TILE_HASH, hash_.all, unit.all, tile[state.stage], ffma)
                if fence:
                    k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(empty[state.stage])
                state.advance()
            k.mem.st_global(result.box((k.block_idx, k.thread_in_role), (1, 1)), hash_.all)
        with k.role("producer", warps=1):
            if converged_producer:
                _produce(k, n, span, stages, full, empty, tile, source_map, rows, inside=True)
            else:
                with k.elect():
                    _produce(k, n, span, stages, full, empty, tile, source_map, rows, inside=False)
    return k.finish()


def _produce(  # type: ignore[no-untyped-def]
    k, n, span, stages, full, empty, tile, source_map, rows, *, inside: bool
) -> None:
    state = k.pipeline_state(stages, producer=True)
    with k.loop(n) as i:
        k.mbarrier.wait(empty[state.stage], state.phase)

        def copy() -> None:
            k.mbarrier.arrive_expect_tx(full[state.stage], rows * 128)
            at = ((k.block_idx * span + i % span) * rows, 0)
            k.tma.load(tile[state.stage], source_map, at, full[state.stage])

        if inside:
            with k.elect():
                copy()
        else:
            copy()
        state.advance()


def products(*, n: int, groups: int, per_group: int, wait: int, warpgroups: int = 1) -> Schedule:
    """Warpgroups that issue ``groups`` groups of wgmma on operands that are never loaded."""
    k = ScheduleBuilder("products", archs=("sm_90a",))
    a = k.smem_tile("a", (64, 64), "bf16", swizzle=128)
    b = k.smem_tile("b", (n, 64), "bf16", swizzle=128)
    accumulators = [k.accumulator(f"acc{w}", n=n) for w in range(warpgroups)]
    with k.specialize():
        for w in range(warpgroups):
            with k.role(f"math{w}", warps=4), k.loop(groups, name=f"g{w}"):
                k.wgmma.fence()
                for i in range(per_group):
                    at = (0, 16 * (i % 4))
                    k.wgmma.mma(accumulators[w], a[0].box(at, (64, 16)), b[0].box(at, (n, 16)))
                k.wgmma.commit_group()
                k.wgmma.wait_group(wait)
    return k.finish()
