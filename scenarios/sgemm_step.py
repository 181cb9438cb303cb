"""The arithmetic of sgemm_cp_async: 8x8 results a thread, 128x128 a block of 8 warps.

Warps stand 4 by 2 and take 32x64 results each. Lanes stand 4 by 8, in the order that lets
neighbours share addresses: the port serves a 16-byte load in two wavefronts when lanes i and i^1
(for B), or i and i^2 (for A), read the same place. A thread's rows are 4 apart, so that the rows
of A that a warp reads at once lie in different banks; its columns are two runs of 4.
"""

from __future__ import annotations

from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Value, Work

BLOCK, DEPTH, THREADS = 128, 8, 256
RESULTS, OLD = 64, 16  # registers: all results, and those of C that are held at once
_LOADS = 8 * 2 + 2 * DEPTH  # of 16 bytes: 8 rows of A twice, two runs of each row of B
_OTHERS = 64  # addresses, stages and the loop around it, as compiled
_WAVEFRONT_BYTES = 128

CLEAR = ComputeDef(
    name="clear",
    operands=(ComputeOperand(name="acc", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=RESULTS),
    cuda="""
        #pragma unroll
        for (int i = 0; i < 64; ++i) acc[i] = 0.0f;
    """,
    numpy=lambda acc, **_: acc.fill(0),
)

OUTER_PRODUCTS = ComputeDef(
    name="outer_products",
    operands=(
        ComputeOperand(name="acc", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="a", kind="smem"),
        ComputeOperand(name="b", kind="smem"),
    ),
    work=lambda: Work(
        ffma_along=RESULTS * DEPTH,
        alu=_OTHERS,
        lds=_LOADS,
        lds_bytes=_LOADS * 2 * _WAVEFRONT_BYTES,
        chain_ffma=DEPTH,
        chain_lds=1,
    ),
    cuda="""
        const int row = thread_in_role / 64 * 32 + lane / 16 * 2 + lane % 2;
        const int col = thread_in_role / 32 % 2 * 64 + lane / 2 % 8 * 4;
        #pragma unroll
        for (int k4 = 0; k4 < 8; k4 += 4) {
          float4 rows[8];
          #pragma unroll
          for (int i = 0; i < 8; ++i) rows[i] = *(const float4*)&a(row + 4 * i, k4);
          #pragma unroll
          for (int j = 0; j < 4; ++j) {
            const float4 left = *(const float4*)&b(k4 + j, col);
            const float4 right = *(const float4*)&b(k4 + j, col + 32);
            #pragma unroll
            for (int i = 0; i < 8; ++i) {
              const float4 r = rows[i];
              const float x = j == 0 ? r.x : j == 1 ? r.y : j == 2 ? r.z : r.w;
              acc[8 * i + 0] = __fmaf_rn(x, left.x, acc[8 * i + 0]);
              acc[8 * i + 1] = __fmaf_rn(x, left.y, acc[8 * i + 1]);
              acc[8 * i + 2] = __fmaf_rn(x, left.z, acc[8 * i + 2]);
              acc[8 * i + 3] = __fmaf_rn(x, left.w, acc[8 * i + 3]);
              acc[8 * i + 4] = __fmaf_rn(x, right.x, acc[8 * i + 4]);
              acc[8 * i + 5] = __fmaf_rn(x, right.y, acc[8 * i + 5]);
              acc[8 * i + 6] = __fmaf_rn(x, right.z, acc[8 * i + 6]);
              acc[8 * i + 7] = __fmaf_rn(x, right.w, acc[8 * i + 7]);
            }
          }
        }
    """,
    numpy=lambda **kw: _outer_products(**kw),
)

SCALE = ComputeDef(
    name="scale",
    operands=(
        ComputeOperand(name="acc", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="alpha", kind="int"),
    ),
    work=lambda alpha: Work(ffma=RESULTS, cvt=1),
    cuda="""
        #pragma unroll
        for (int i = 0; i < 64; ++i) acc[i] *= (float)alpha;
    """,
    numpy=lambda acc, alpha, **_: acc.__imul__(alpha),
)

SCALE_AND_ADD = ComputeDef(
    name="scale_and_add",
    operands=(
        ComputeOperand(name="acc", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="old", kind="fragment"),
        ComputeOperand(name="alpha", kind="int"),
        ComputeOperand(name="beta", kind="int"),
    ),
    work=lambda alpha, beta: Work(ffma=2 * OLD, cvt=2),
    cuda="""
        #pragma unroll
        for (int i = 0; i < 16; ++i) acc[i] = (float)alpha * acc[i] + (float)beta * old[i];
    """,
    numpy=lambda acc, old, alpha, beta, **_: acc.__setitem__(..., alpha * acc + beta * old),
)


def _outer_products(acc: Any, a: Any, b: Any, lane: Any, thread_in_role: Any, **_: Any) -> None:
    import numpy as np

    row = thread_in_role // 64 * 32 + lane // 16 * 2 + lane % 2
    col = thread_in_role // 32 % 2 * 64 + lane // 2 % 8 * 4
    rows = row[:, None] + 4 * np.arange(8)
    cols = col[:, None] + np.r_[0:4, 32:36]
    acc += np.einsum("lik,klj->lij", a[rows], b[:, cols]).reshape(acc.shape)


def result_places(k: ScheduleBuilder, row0: Value, col0: Value) -> list[tuple[Value, Value]]:
    """Row and column of each run of 4 registers of a thread's results, in order, for a block whose
    first result stands at ``row0``, ``col0``."""
    row = row0 + k.warp_in_role // 2 * 32 + k.lane // 16 * 2 + k.lane % 2
    col = col0 + k.warp_in_role % 2 * 64 + k.lane // 2 % 8 * 4
    return [(row + 4 * i, col + 32 * j) for i in range(8) for j in range(2)]
