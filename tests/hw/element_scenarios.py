"""wgmma of every element type, with A from shared memory or from registers: C = A B^T."""

from __future__ import annotations

from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.dtype import SUMS, DType
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import scenario

ARCHS = ("sm_90a",)
TYPES = tuple(d.value for d in SUMS)
ROW_BYTES = 128  # of a tile: four k-slices


def _at(lane: Any, word: int, size: int) -> tuple[Any, Any]:
    """Row and first column of a lane's register of A, among the 16 rows of its warp."""
    return lane // 4 + word % 2 * 8, (word // 2 * 16 + lane % 4 * 4) // size


def from_tile(size: int) -> ComputeDef:
    """Registers of A, with elements of ``size`` bytes, from the rows of a warp."""
    packed, words = 4 // size, ROW_BYTES // 8

    def numpy(p: Any, rows: Any, lane: Any, **_: Any) -> None:
        for e in range(words * packed):
            row, column = _at(lane, e // packed, size)
            p[:, e] = rows[row, column + e % packed]

    return ComputeDef(
        name=f"from_tile_{size}",
        operands=(
            ComputeOperand(name="p", kind="fragment", mode=AccessMode.WRITE),
            ComputeOperand(name="rows", kind="smem"),
        ),
        work=lambda: Work(lds_bytes=words * 128),
        cuda=f"""
            #pragma unroll
            for (int w = 0; w < {words}; ++w)
              p[w] = *(const u32*)&rows(lane / 4 + w % 2 * 8, (w / 2 * 16 + lane % 4 * 4) / {size});
        """,
        numpy=numpy,
    )


@scenario(summary="wgmma of two element types", archs=ARCHS)
def elements(*, a: int = 0, b: int = 0, n: int = 64, rs: int = 0, swizzle: int = 128) -> Schedule:
    """``a``, ``b``: indices of TYPES. ``rs``: A comes from registers."""
    k = ScheduleBuilder("elements", archs=ARCHS)
    k.grid(1)
    kinds = [DType(TYPES[i]) for i in (a, b)]
    size, sums = kinds[0].bytes, SUMS[kinds[0]].value
    panels, columns = ROW_BYTES // swizzle, swizzle // size
    tiles, maps = [], []
    for name, kind, rows in (("a", kinds[0], 64), ("b", kinds[1], n)):
        source = k.global_tensor(name, (rows, ROW_BYTES // size), kind)
        maps.append(k.tensor_map(f"{name}_map", source, box=(rows, columns), swizzle=swizzle))
        tiles.append(
            k.smem_tile(f"{name}_tile", (rows, columns), kind, stages=panels, swizzle=swizzle)
        )
    out = k.global_tensor("out", (64, n), sums, output=True)
    full = k.mbarriers("full", count=1)
    acc = k.accumulator("acc", n=n, dtype=sums)
    step, own = 32 // size, 16 // size
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("math", warps=4):
            k.mbarrier.wait(full[0], 0)
            left = None
            if rs:
                left = k.operand("left", k=columns, dtype=kinds[0])
                rows = tiles[0][0].box((k.warp_in_role * 16, 0), (16, columns))
                k.mem.compute(from_tile(size), left.all, rows)
            k.wgmma.fence()
            for i in range(ROW_BYTES // 32):
                panel, k0 = divmod(i * step, columns)
                k.wgmma.mma(
                    acc,
                    left.part(own * i, own) if left else tiles[0][panel].box((0, k0), (64, step)),
                    tiles[1][panel].box((0, k0), (n, step)),
                    accumulate=int(i > 0),
                )
            k.wgmma.commit_group()
            k.wgmma.wait_group(0)
            k.mem.store_accumulator(out, (0, 0), acc)
        with k.role("load", warps=1), k.elect():
            k.mbarrier.arrive_expect_tx(full[0], (64 + n) * ROW_BYTES)
            for tile, map_ in zip(tiles, maps, strict=True):
                for p in range(panels):
                    k.tma.load(tile[p], map_, (0, p * columns), full[0])
    return k.finish()
