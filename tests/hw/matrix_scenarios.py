"""ldmatrix, stmatrix and mma.sync of every form, in kernels whose data can be checked."""

from __future__ import annotations

from asyncsim import AccessMode, ComputeDef, ComputeOperand, Fill, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import scenario

ARCHS = ("sm_90a",)
PAIRS = (
    *(("bf16", "bf16"), ("f16", "f16"), ("tf32", "tf32")),
    *(("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e4m3", "e5m2")),
    *(("i8", "i8"), ("u8", "i8"), ("i8", "u8"), ("u8", "u8")),
)
BYTES = {"bf16": 2, "f16": 2, "tf32": 4}

CLEAR = ComputeDef(
    name="clear",
    operands=(ComputeOperand(name="acc", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=8),
    cuda="for (auto& x : acc) x = 0;",
    numpy=lambda acc, **_: acc.fill(0),
)


@scenario(summary="8x8 blocks through registers, as they are or transposed", archs=ARCHS)
def through_registers(
    *, num: int = 4, load_trans: int = 0, store_trans: int = 0, warps: int = 3, swizzle: int = 64
) -> Schedule:
    """Four blocks of each warp, ``num`` at a time; a row has them side by side."""
    k = ScheduleBuilder("through_registers", archs=ARCHS)
    k.block(warps)
    shape = (8 * warps, 32)
    source = k.global_tensor("source", shape, "bf16")
    out = k.global_tensor("out", shape, "bf16", output=True)
    before = k.smem_tile("before", shape, "bf16", swizzle=swizzle)
    after = k.smem_tile("after", shape, "bf16", swizzle=swizzle)
    blocks = k.matrices("blocks", num, "bf16")
    x = k.fragment("x", registers=8, dtype="bf16")
    first, lane = 8 * k.warp_in_role, k.lane
    k.cp_async.copy_tile(before[0], source, (0, 0), threads=32 * warps)
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.bar.warp_sync()
    for i in range(0, 4, num):
        at = first + lane % 8, 8 * i + lane // 8 % num * 8
        meant = source.box(at, (1, 8))
        row = before[0].box(at, (1, 8)).expecting(meant)
        k.ldmatrix(blocks.all, row, trans=bool(load_trans))
        k.stmatrix(after[0].box(at, (1, 8)), blocks.all, trans=bool(store_trans))
    k.bar.warp_sync()
    chunk = (first + lane // 4, lane % 4 * 8)
    k.mem.ld_shared(x.all, after[0].box(chunk, (1, 8)))
    k.mem.st_global(out.box(chunk, (1, 8)), x.all)
    return k.finish()


@scenario(summary="one m16n8 product of each warp, by every pair of types", archs=ARCHS)
def products(*, pair: int = 0, steps: int = 3, warps: int = 2) -> Schedule:
    """``pair``: of types, by number. A and B lie as they do in memory, K along the rows."""
    k = ScheduleBuilder("products", archs=ARCHS)
    k.block(warps)
    a_type, b_type = PAIRS[pair]
    size = BYTES.get(a_type, 1)
    row, depth = 16 // size, 32 // size * steps
    sums = "i32" if size == 1 and a_type[0] in "iu" else "f32"
    a_global = k.global_tensor("a", (16 * warps, depth), a_type, fill=Fill.SMALL)
    b_global = k.global_tensor("b", (8 * warps, depth), b_type, fill=Fill.SMALL)
    out = k.global_tensor("out", (16 * warps, 8), sums, output=True)
    a_tile = k.smem_tile("a_tile", (16 * warps, depth), a_type)
    b_tile = k.smem_tile("b_tile", (8 * warps, depth), b_type)
    a, b = k.matrices("fa", 4, a_type), k.matrices("fb", 2, b_type)
    acc = k.fragment("acc", registers=4, dtype=sums)
    warp, lane = k.warp_in_role, k.lane
    for i in range(steps):
        at = 16 * warp + lane % 16, 2 * i * row + lane // 16 * row
        k.cp_async.copy(a_tile[0].box(at, (1, row)), a_global.box(at, (1, row)))
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    words = k.fragment("words", registers=row // 4 * 2, dtype=b_type)
    for i in range(steps):
        at = 8 * warp + lane // 4, 2 * i * row + lane % 4 * (row // 2)
        k.mem.ld_global(words.all, b_global.box(at, (1, row // 2)))
        k.mem.st_shared(b_tile[0].box(at, (1, row // 2)), words.all)
    k.bar.warp_sync()
    k.mem.compute(CLEAR, acc.all)
    for i in range(steps):
        at = 16 * warp + lane % 16, 2 * i * row + lane // 16 * row
        k.ldmatrix(a.all, a_tile[0].box(at, (1, row)).expecting(a_global.box(at, (1, row))))
        k.ldmatrix(
            b.all, b_tile[0].box((8 * warp + lane % 8, (2 * i + lane // 8 % 2) * row), (1, row))
        )
        k.mma.sync(acc.all, a.all, b.all)
    for r in (0, 2):
        place = (16 * warp + lane // 4 + 4 * r, lane % 4 * 2)
        k.mem.st_global(out.box(place, (1, 2)), acc.part(r, 2))
    return k.finish()
