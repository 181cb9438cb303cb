"""mma_gemm: the multistage GEMM of Ampere on tensor cores, D = A B^T, bf16 in and fp32 out.

A (M, K) and B (N, K) are row-major. Four warps make 128x128 results, 64x64 each, from tiles of 64
of K in a cp.async ring. A warp loads the fragments of one k-slice of 16 by ldmatrix while it
multiplies those of the slice before (mma.sync), from two sets of registers; the first slice of the
next tile comes with the last products of this one, behind a wait and the only block barrier of a
tile. Behind that barrier the stage of the tile before is refilled: A with the second products, B
with the third, so that no load of fragments stands behind all copies; with one tile ahead at once,
since the wait is for them. Edges are filled with zeros.
"""

from __future__ import annotations

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Rule,
    ScheduleBuilder,
    ScheduleError,
    Value,
    Work,
)
from asyncsim.build.handles import GlobalHandle, SmemHandle, TileView
from asyncsim.build.value import Index
from asyncsim.build.var import Var_
from asyncsim.ir.decl import Fill
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Stages, Twin, scenario
from asyncsim.scenarios.distance import copies_ahead

ARCHS = ("sm_80", "sm_90a", "sm_100a")
BLOCK, DEPTH, THREADS = 128, 64, 128
WARP, SLICE, CHUNK = 64, 16, 8  # results of a warp each way; of K: a product, 16 bytes
BLOCKS_M, BLOCKS_N = WARP // 16, WARP // 8  # products of a warp for one slice
SUMS = 4 * BLOCKS_M * BLOCKS_N

TWINS = (
    Twin(
        name="commit_if_copied",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="commit only when something was copied: the last tiles are not waited for",
    ),
    Twin(
        name="wait_too_loose",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="wait_group(distance) leaves the tile that is read next pending",
    ),
    Twin(
        name="no_barrier",
        rule=Rule.MISSING_BLOCK_BARRIER,
        summary="no block barrier after the wait: it covers the thread's own copies only",
    ),
    Twin(
        name="refill_same_stage",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="the stage that is read is refilled, with no block barrier in between",
    ),
    Twin(
        name="swizzled_twice",
        rule=Rule.WRONG_TILE,
        summary="the rows of A are swizzled by hand, in a tile that is swizzled already",
    ),
)

CLEAR = ComputeDef(
    name="clear",
    operands=(ComputeOperand(name="acc", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=SUMS),
    cuda="""
        #pragma unroll
        for (int i = 0; i < 128; ++i) acc[i] = 0.0f;
    """,
    numpy=lambda acc, **_: acc.fill(0),
)


@scenario(
    summary="bf16 GEMM by mma.sync: cp.async ring, ldmatrix, fragments in two sets of registers",
    archs=ARCHS,
    twins=TWINS,
)
def mma_gemm(
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    stages: Stages = 3,
    distance: int = 0,
    twin: str = "",
) -> Schedule:
    for name, size, multiple in (("m", m, 1), ("n", n, 2), ("k", k, CHUNK)):
        if size < multiple or size % multiple:
            raise ScheduleError(f"{name} = {size}", fix=f"give a multiple of {multiple}")
    if stages < 2:
        raise ScheduleError(
            f"stages = {stages}", fix="give at least 2: one is filled while another is read"
        )
    ahead = copies_ahead(stages, stages if twin == "refill_same_stage" else distance)
    if ahead == stages and twin != "refill_same_stage":
        raise ScheduleError(f"distance = {distance}", fix=f"stay below the {stages} stages")
    b = ScheduleBuilder("mma_gemm", archs=ARCHS)
    steps = b.arg("steps", -(-k // DEPTH))
    a_global = b.global_tensor("a", (m, k), "bf16", fill=Fill.SMALL)
    b_global = b.global_tensor("b", (n, k), "bf16", fill=Fill.SMALL)
    d_global = b.global_tensor("d", (m, n), "f32", output=True)
    a_tile = b.smem_tile("a_tile", (BLOCK, DEPTH), "bf16", stages=stages, swizzle=128)
    b_tile = b.smem_tile("b_tile", (BLOCK, DEPTH), "bf16", stages=stages, swizzle=128)
    a_sets = [b.matrices(f"a{i}", 4 * BLOCKS_M, "bf16") for i in (0, 1)]
    b_sets = [b.matrices(f"b{i}", 2 * BLOCKS_N, "bf16") for i in (0, 1)]
    acc = b.fragment("acc", registers=SUMS)
    b.grid(-(-m // BLOCK), -(-n // BLOCK))
    b.block(THREADS // 32, ctas_per_sm=2)
    row0, col0 = b.block_idx * BLOCK, b.block_idx_y * BLOCK
    warp_row, warp_col = b.warp_in_role % 2 * WARP, b.warp_in_role // 2 * WARP
    lane = b.lane

    def copy(tile: SmemHandle, stage: Index, source: GlobalHandle, row: Value, step: Index) -> None:
        if source.decl.shape[0] % BLOCK == 0 and k % DEPTH == 0:
            b.cp_async.copy_tile(tile[stage], source, (row, step * DEPTH), threads=THREADS)
            return
        for turn in range(BLOCK * DEPTH // CHUNK // THREADS):
            chunk = b.thread_in_role + turn * THREADS
            r, c = chunk // (DEPTH // CHUNK), chunk % (DEPTH // CHUNK) * CHUNK
            inside = (row + r < source.decl.shape[0]) * (step * DEPTH + c < k)
            box = source.box((row + r, step * DEPTH + c), (1, CHUNK))
            b.cp_async.copy(tile[stage].box((r, c), (1, CHUNK)), box, src_bytes=16 * inside)

    def copy_a(stage: Index, step: Index) -> None:
        with b.when(step < steps):
            copy(a_tile, stage, a_global, row0, step)

    def copy_b_and_commit(stage: Index, step: Index) -> None:
        with b.when(step < steps):
            copy(b_tile, stage, b_global, col0, step)
            if twin == "commit_if_copied":
                b.cp_async.commit_group()
        if twin != "commit_if_copied":
            b.cp_async.commit_group()

    def wait_for_tile() -> None:
        b.cp_async.wait_group(ahead if twin == "wait_too_loose" else ahead - 1)
        if twin != "no_barrier":
            b.bar.sync()

    def rows_of(
        tile: SmemHandle,
        stage: Index,
        source: GlobalHandle,
        row: Value,
        step: Index,
        r: Value,
        c: Value,
    ) -> TileView:
        """The lane's 16 bytes of a tile, where the fragment has row ``r`` and column ``c``."""
        meant = source.box((row + r, step * DEPTH + c), (1, CHUNK))
        if twin == "swizzled_twice" and tile is a_tile:
            c = (c // CHUNK ^ r % 8) * CHUNK
        return tile[stage].box((r, c), (1, CHUNK)).expecting(meant)

    def load(which: int, stage: Index, step: Index, slice_: int) -> None:
        """The fragments of one k-slice: A 16 rows at a time, B 16 columns of D."""
        for i in range(BLOCKS_M):
            r, c = warp_row + 16 * i + lane % 16, slice_ * SLICE + lane // 16 * CHUNK
            at = rows_of(a_tile, stage, a_global, row0, step, r, c)
            b.ldmatrix(a_sets[which].matrices(4 * i, 4), at)
        for j in range(0, BLOCKS_N, 2):
            r = warp_col + 8 * j + lane // 16 * 8 + lane % 8
            c = slice_ * SLICE + lane // 8 % 2 * CHUNK
            at = rows_of(b_tile, stage, b_global, col0, step, r, c)
            b.ldmatrix(b_sets[which].matrices(2 * j, 4), at)

    def multiply(which: int) -> None:
        for i in range(BLOCKS_M):
            for j in range(BLOCKS_N):
                column = j if i % 2 == 0 else BLOCKS_N - 1 - j  # the last B is at hand
                left, right = (
                    a_sets[which].matrices(4 * i, 4),
                    b_sets[which].matrices(2 * column, 2),
                )
                b.mma.sync(acc.part(4 * (i * BLOCKS_N + column), 4), left, right)

    for s in range(ahead):
        copy_a(s, s)
        copy_b_and_commit(s, s)
    b.mem.compute(CLEAR, acc.all)
    read, write = b.var("read_stage", 0), b.var("write_stage", ahead % stages)
    wait_for_tile()
    load(0, read, 0, 0)
    slices = DEPTH // SLICE
    copied = (0, 0) if ahead == 1 else (1, 2)  # with which products A and B are copied
    with b.loop(steps, name="t") as t:
        for s in range(slices):
            if s + 1 < slices:
                load((s + 1) % 2, read, t, s + 1)
            else:
                _advance(b, read, stages)
                with b.when(t + 1 < steps):
                    wait_for_tile()
                    load(0, read, t + 1, 0)
            if s == copied[0]:
                copy_a(write, t + ahead)
            if s == copied[1]:
                copy_b_and_commit(write, t + ahead)
                _advance(b, write, stages)
            multiply(s % 2)

    clip = bool(m % BLOCK or n % BLOCK)
    for i in range(BLOCKS_M):
        for j in range(BLOCKS_N):
            for half in (0, 1):
                r = row0 + warp_row + 16 * i + 8 * half + lane // 4
                c = col0 + warp_col + 8 * j + lane % 4 * 2
                sums = acc.part(4 * (i * BLOCKS_N + j) + 2 * half, 2)
                b.mem.st_global(d_global.box((r, c), (1, 2)), sums, clip=clip)
    return b.finish()


def _advance(b: ScheduleBuilder, stage: Var_, stages: int) -> None:
    stage.set(stage + 1)
    with b.when(stage == stages):
        stage.set(0)
