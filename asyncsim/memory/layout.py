"""Shared-memory layout: one allocator, run by ``finish()``.

Tiles first, in order of declaration, each stage aligned; then the mbarriers. The dynamic shared
memory of a CTA is assumed to start at a multiple of 1024 bytes.
"""

from __future__ import annotations

from dataclasses import replace

from asyncsim.ir.decl import Decl, Mbarrier, SmemTile


def place(decls: tuple[Decl, ...]) -> tuple[tuple[Decl, ...], int]:
    """Declarations with their offsets set, and the bytes of shared memory they need."""
    offsets: dict[str, int] = {}
    end = 0
    for tile in (d for d in decls if isinstance(d, SmemTile)):
        end = -(-end // tile.align) * tile.align
        offsets[tile.name] = end
        end += tile.stage_stride * (tile.stages - 1) + tile.stage_bytes
    for barrier in (d for d in decls if isinstance(d, Mbarrier)):
        end = -(-end // 8) * 8
        offsets[barrier.name] = end
        end += 8 * barrier.stages
    placed = tuple(
        replace(d, offset=offsets[d.name]) if isinstance(d, SmemTile | Mbarrier) else d
        for d in decls
    )
    return placed, end
