"""sgemm_cp_async: register-tiled fp32 GEMM on a cp.async ring, D = alpha A B + beta C.

A (M, K) and B (K, N) are row-major. A block of 256 threads makes 128x128 results; a stage holds a
128x8 tile of A and an 8x128 tile of B, of which every thread copies 16 bytes each. The pipeline is
that of cp_async_multistage: wait for all but the newest groups, block barrier, refill, compute;
with ``distance = stages`` the refill comes last, after a second block barrier.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.build.value import Index, maximum
from asyncsim.ir.decl import Fill
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Stages, Twin, scenario
from asyncsim.scenarios.distance import copies_ahead
from asyncsim.scenarios.sgemm_step import (
    BLOCK,
    CLEAR,
    DEPTH,
    OLD,
    OUTER_PRODUCTS,
    RESULTS,
    SCALE,
    SCALE_AND_ADD,
    THREADS,
    result_places,
)

ARCHS = ("sm_80", "sm_90a", "sm_100a")
TWINS = (
    Twin(
        name="commit_if_copied",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="commit only when something was copied: the last steps wait for too little",
    ),
    Twin(
        name="wait_too_loose",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="wait_group(distance) leaves the tiles that are read pending",
    ),
    Twin(
        name="no_barrier",
        rule=Rule.MISSING_BLOCK_BARRIER,
        summary="no block barrier after the wait: it covers the thread's own copies only",
    ),
    Twin(
        name="prologue_overrun",
        rule=Rule.OUT_OF_BOUNDS,
        summary="the prologue copies tiles of A that do not exist",
        params={"k": 8},
        launch=False,
    ),
    Twin(
        name="refill_same_stage",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="distance = stages refills the stage just read, without a second block barrier",
    ),
    Twin(
        name="swapped_k",
        rule=Rule.WRONG_TILE,
        summary="B is copied one step behind A",
    ),
)


@scenario(
    summary="register-tiled SGEMM: cp.async ring, 128x128x8 tiles, 8x8 results a thread",
    archs=ARCHS,
    twins=TWINS,
)
def sgemm_cp_async(
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    stages: Stages = 3,
    distance: int = 0,
    alpha: int = 1,
    beta: int = 0,
    twin: str = "",
) -> Schedule:
    for name, size, block in (("m", m, BLOCK), ("n", n, BLOCK), ("k", k, DEPTH)):
        if size < block or size % block:
            raise ScheduleError(f"{name} = {size}", fix=f"give a multiple of {block}")
    no_second_barrier = twin == "refill_same_stage"
    ahead = copies_ahead(stages, stages if no_second_barrier else distance)
    b = ScheduleBuilder("sgemm_cp_async", archs=ARCHS)
    steps = b.arg("steps", k // DEPTH)
    scale, scale_c = b.arg("alpha", alpha), b.arg("beta", beta)
    a_global = b.global_tensor("a", (m, k), "f32", fill=Fill.SMALL)
    b_global = b.global_tensor("b", (k, n), "f32", fill=Fill.SMALL)
    c_global = b.global_tensor("c", (m, n), "f32", fill=Fill.SMALL) if beta else None
    d_global = b.global_tensor("d", (m, n), "f32", output=True)
    a_tile = b.smem_tile("a_tile", (BLOCK, DEPTH), "f32", stages=stages)
    b_tile = b.smem_tile("b_tile", (DEPTH, BLOCK), "f32", stages=stages)
    acc = b.fragment("acc", registers=RESULTS)
    b.grid(m // BLOCK, n // BLOCK)
    b.block(THREADS // 32, ctas_per_sm=2)
    row0, col0 = b.block_idx * BLOCK, b.block_idx_y * BLOCK

    def copy_a(stage: Index, step: Index) -> None:
        b.cp_async.copy_tile(a_tile[stage], a_global, (row0, step * DEPTH), threads=THREADS)

    def copy_b(stage: Index, step: Index) -> None:
        meant = maximum(step - 1, 0) if twin == "swapped_k" else step
        b.cp_async.copy_tile(b_tile[stage], b_global, (meant * DEPTH, col0), threads=THREADS)

    def copy_and_commit(stage: Index, step: Index) -> None:
        with b.when(step < steps):
            copy_a(stage, step)
            copy_b(stage, step)
            if twin == "commit_if_copied":
                b.cp_async.commit_group()
        if twin != "commit_if_copied":
            b.cp_async.commit_group()

    for s in range(ahead):
        if twin == "prologue_overrun":
            copy_a(s, s)
            with b.when(s < steps):
                copy_b(s, s)
            b.cp_async.commit_group()
        else:
            copy_and_commit(s, s)
    b.mem.compute(CLEAR, acc.all)
    read, write = b.var("read_stage", 0), b.var("write_stage", ahead % stages)
    with b.loop(steps, name="t") as t:
        b.cp_async.wait_group(ahead if twin == "wait_too_loose" else ahead - 1)
        if twin != "no_barrier":
            b.bar.sync()
        if ahead < stages:
            copy_and_commit(write, t + ahead)
        meant_a = a_global.box((row0, t * DEPTH), (BLOCK, DEPTH))
        meant_b = b_global.box((t * DEPTH, col0), (DEPTH, BLOCK))
        b.mem.compute(
            OUTER_PRODUCTS,
            acc.all,
            a_tile[read].expecting(meant_a),
            b_tile[read].expecting(meant_b),
        )
        if ahead == stages:
            if not no_second_barrier:
                b.bar.sync()
            copy_and_commit(write, t + ahead)
        for var in (read, write):
            var.set(var + 1)
            with b.when(var == stages):
                var.set(0)

    if c_global is None:
        b.mem.compute(SCALE, acc.all, scale)
    else:
        old = b.fragment("old", registers=OLD)
    places = result_places(b, row0, col0)
    for first in range(0, RESULTS, OLD):
        chunk = list(enumerate(places[first // 4 : (first + OLD) // 4]))
        if c_global is not None:
            for i, place in chunk:
                b.mem.ld_global(old.part(4 * i, 4), c_global.box(place, (1, 4)))
            b.mem.compute(SCALE_AND_ADD, acc.part(first, OLD), old.all, scale, scale_c)
        for i, place in chunk:
            b.mem.st_global(d_global.box(place, (1, 4)), acc.part(first + 4 * i, 4))
    return b.finish()
