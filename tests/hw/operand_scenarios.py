"""wgmma with A from registers and with operands stored either way, in a kernel whose data can be
checked: (A W^T, rounded) V."""

from __future__ import annotations

from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import scenario

ARCHS = ("sm_90a",)


def _round(p: Any, s: Any, **_: Any) -> None:
    p[...] = s.astype(p.dtype)


def rounding(dtype: str) -> ComputeDef:
    """An accumulator becomes the A of the next product."""
    return ComputeDef(
        name=f"round_{dtype}",
        operands=(
            ComputeOperand(name="p", kind="fragment", mode=AccessMode.WRITE),
            ComputeOperand(name="s", kind="fragment"),
        ),
        work=lambda: Work(cvt=16),
        cuda=f"""
            #pragma unroll
            for (int i = 0; i < 16; ++i)
              asm("cvt.rn.{dtype}x2.f32 %0, %1, %2;"
                  : "=r"(p[i]) : "f"(s[2 * i + 1]), "f"(s[2 * i]));
        """,
        numpy=_round,
    )


@scenario(summary="two products, the first one's sums in registers for the second", archs=ARCHS)
def operands(
    *,
    f16: int = 0,
    trans_a: int = 0,
    trans_w: int = 0,
    panels: int = 2,
    swizzle: int = 128,
    rewrite: int = 0,
    unfenced: int = 0,
) -> Schedule:
    """``trans_a``, ``trans_w``: A and W are stored (K, 64), in panels. ``panels``: of V, which
    always is. ``rewrite``: registers of A change in flight; ``unfenced``: they change without a
    fence after it."""
    k = ScheduleBuilder("operands", archs=ARCHS)
    k.grid(1)
    dtype, span = "f16" if f16 else "bf16", swizzle // 2
    tiles, maps = {}, {}
    for name, transposed, side in (("a", trans_a, 64), ("w", trans_w, 64), ("v", 1, panels * span)):
        shape = (side // span, 64, span) if transposed else (1, 64, 64)
        mode = swizzle if transposed else 128
        tensor = k.global_tensor(name, shape, dtype)
        maps[name] = k.tensor_map(f"{name}_map", tensor, box=shape, swizzle=mode)
        tiles[name] = k.smem_tile(f"{name}_tile", shape, dtype, swizzle=mode)
    out = k.global_tensor("out", (64, panels * span), "f32", output=True)
    full = k.mbarriers("full", count=1)
    s, p = k.accumulator("s", n=64), k.operand("p", k=64, dtype=dtype)
    acc = k.accumulator("acc", n=panels * span)

    def k_slice(name: str, k0: int, transposed: int) -> Any:
        tile = tiles[name][0]
        if transposed:
            return tile.box((0, k0, 0), (tile.decl.shape[0], 16, span))
        return tile.box((0, 0, k0), (1, 64, 16))

    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("math", warps=4):
            k.mbarrier.wait(full[0], 0)
            k.wgmma.fence()
            for k0 in range(0, 64, 16):
                k.wgmma.mma(
                    s,
                    k_slice("a", k0, trans_a),
                    k_slice("w", k0, trans_w),
                    accumulate=int(k0 > 0),
                    trans_a=bool(trans_a),
                    trans_b=bool(trans_w),
                )
            k.wgmma.commit_group()
            k.wgmma.wait_group(0)
            k.mem.compute(rounding(dtype), p.all, s.all)
            if not unfenced:
                k.wgmma.fence()
            for i in range(4):
                v = k_slice("v", 16 * i, 1)
                k.wgmma.mma(acc, p.part(8 * i, 8), v, accumulate=int(i > 0), trans_b=True)
            k.wgmma.commit_group()
            if rewrite:
                k.mem.compute(rounding(dtype), p.all, s.all)
            k.wgmma.wait_group(0)
            k.mem.store_accumulator(out, (0, 0), acc)
        with k.role("load", warps=1), k.elect():
            loaded = sum(tile.decl.stage_bytes for tile in tiles.values())
            k.mbarrier.arrive_expect_tx(full[0], loaded)
            for name, tile in tiles.items():
                k.tma.load(tile[0], maps[name], (0, 0, 0), full[0])
    return k.finish()
