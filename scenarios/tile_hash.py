"""The consumer's work in the ring scenarios: fold one element of every tile into a hash.

The hash depends on the tiles and on their order, so a stale or swapped tile shows in the result.
``ffma`` dependent FFMA on the element (times one, plus zero, unknown to the compiler) stand for
compute that takes time and keeps the value exact.
"""

from __future__ import annotations

from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, Work

HASH_INIT = ComputeDef(
    name="hash_init",
    operands=(
        ComputeOperand(name="hash", kind="fragment", mode=AccessMode.WRITE),
        ComputeOperand(name="unit", kind="fragment", mode=AccessMode.WRITE),
        ComputeOperand(name="tiles", kind="int"),
    ),
    work=lambda tiles: Work(alu=4),
    cuda="""
        hash[0] = 0u;
        unit[0] = tiles >= 0 ? 1.0f : 2.0f;
        unit[1] = tiles >= 0 ? 0.0f : 1.0f;
    """,
    numpy=lambda **kw: _hash_init(**kw),
)


def _hash_init(hash: Any, unit: Any, tiles: int, **_: Any) -> None:
    hash[:, 0] = 0
    unit[:, 0], unit[:, 1] = 1.0, 0.0


TILE_HASH = ComputeDef(
    name="tile_hash",
    operands=(
        ComputeOperand(name="hash", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="unit", kind="fragment"),
        ComputeOperand(name="tile", kind="smem"),
        ComputeOperand(name="ffma", kind="int"),
    ),
    work=lambda ffma: Work(
        ffma=ffma, alu=2, lds_bytes=128, chain_ffma=ffma, chain_alu=1, chain_lds=1
    ),
    cuda="""
        float x = tile((thread_in_role / 8 + 8) % tile_rows, thread_in_role % tile_cols);
        #pragma unroll
        for (int i = 0; i < ffma; ++i) x = __fmaf_rn(x, unit[0], unit[1]);
        hash[0] = hash[0] * 31u + __float_as_uint(x);
    """,
    numpy=lambda **kw: _tile_hash(**kw),
)


def _tile_hash(hash: Any, tile: Any, thread_in_role: Any, **_: Any) -> None:
    rows, cols = tile.shape
    x = tile[(thread_in_role // 8 + 8) % rows, thread_in_role % cols]
    hash[:, 0] = hash[:, 0] * 31 + x.view(hash.dtype)
