"""The launch: threads, grid, roles, shared memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import Mbarrier, SmemTile
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.layout import place
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
    ring = [t for t in tiles if t.stages == largest.stages]
    names = " and ".join(repr(t.name) for t in ring)
    takes = f"tile {names} takes" if len(ring) == 1 else f"tiles {names} take"
    each = sum(t.stage_stride for t in ring)
    if beside := [t for t in tiles if t not in ring and t.stages * t.stage_stride >= 1024]:
        others = " and ".join(f"{t.name!r} ({t.stages * t.stage_stride})" for t in beside)
        takes = f"beside {others} {takes}"
    fits = _stages_that_fit(s, largest.stages)
    least = "make it smaller" if len(ring) == 1 else "make them smaller"
    yield ScheduleError(
        message,
        fix=f"{takes} {each} bytes a stage: " + (f"use at most {fits} stages" if fits else least),
        loc=largest.loc,
        rule=Rule.SMEM_OVER_BUDGET,
    )


def _stages_that_fit(s: Schedule, stages: int) -> int:
    """How many stages there is room for if all that has ``stages`` of them, mbarriers too, gets
    fewer; 0 if not even one."""

    def needed(fewer: int) -> int:
        decls = (
            replace(d, stages=fewer)
            if isinstance(d, SmemTile | Mbarrier) and d.stages == stages
            else d
            for d in s.decls
        )
        return place(tuple(decls))[1]

    return bisect_right(range(1, stages), MAX_SMEM_BYTES, key=needed)


CHECKS = (_block_size, _grid, _shared_memory)
