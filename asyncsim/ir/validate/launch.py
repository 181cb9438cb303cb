"""The launch: threads, grid, roles, shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import SmemTile
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule

MAX_SMEM_BYTES = 232_448  # opt-in limit of a CTA on sm_90 and sm_100 (227 KB)
MAX_WARPS = 32
MAX_CTAS_PER_SM = 32
MAX_GRID = (2**31 - 1, 65_535, 65_535)


def _block_size(s: Schedule) -> Iterator[ScheduleError]:
    if not 1 <= s.warps <= MAX_WARPS:
        yield ScheduleError(
            f"{s.warps} warps are {s.threads} threads", fix="a block has 1 to 32 warps"
        )
    owned = sum(r.warps for r in s.roles())
    if owned > s.warps:
        yield ScheduleError(f"roles own {owned} warps of {s.warps}", fix="enlarge the block")
    if not 1 <= s.ctas_per_sm <= MAX_CTAS_PER_SM:
        yield ScheduleError(f"{s.ctas_per_sm} CTAs per SM", fix="the launch bound is 1 to 32")


def _grid(s: Schedule) -> Iterator[ScheduleError]:
    for axis, n, limit in zip("xyz", s.grid, MAX_GRID, strict=True):
        if n > limit:
            yield ScheduleError(f"grid of {n} CTAs in {axis}", fix=f"at most {limit}")


def _shared_memory(s: Schedule) -> Iterator[ScheduleError]:
    if s.smem_bytes <= MAX_SMEM_BYTES:
        return
    message = f"{s.smem_bytes} bytes of shared memory, a CTA may have {MAX_SMEM_BYTES}"
    tiles = s.of_kind(SmemTile)
    if not tiles:
        yield ScheduleError(message, fix="use fewer mbarriers", rule=Rule.SMEM_OVER_BUDGET)
        return
    largest = max(tiles, key=lambda t: t.stages * t.stage_stride)
    room = MAX_SMEM_BYTES - (s.smem_bytes - largest.stages * largest.stage_stride)
    fits = max(0, room // largest.stage_stride)
    yield ScheduleError(
        message,
        fix=f"tile {largest.name!r} takes {largest.stage_stride} bytes a stage: "
        + (f"use at most {fits} stages" if fits else "make it smaller"),
        loc=largest.loc,
        rule=Rule.SMEM_OVER_BUDGET,
    )


CHECKS = (_block_size, _grid, _shared_memory)
