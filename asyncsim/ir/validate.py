"""Well-formedness of a finished schedule: one small rule per function, run by ``finish()``.

Each rule yields ScheduleError values; the first one is raised. Constraints that hardware breaks in
silence (descriptors, alignment) carry a Rule, so that ``check`` reports them as findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier, NamedBarrier, SmemTile, Swizzle, TensorMap
from asyncsim.ir.op import Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.swizzle import REPEAT_BYTES
from asyncsim.rules import Rule

MAX_SMEM_BYTES = 232_448  # opt-in limit of a CTA on sm_90 and sm_100 (227 KB)

Check = Callable[[Schedule], Iterator[ScheduleError]]


def validate(schedule: Schedule) -> None:
    """Raise the first ScheduleError of a malformed schedule."""
    for check in CHECKS:
        for error in check(schedule):
            raise error


def _block_size(s: Schedule) -> Iterator[ScheduleError]:
    if s.threads > 1024:
        yield ScheduleError(
            f"{s.warps} warps are {s.threads} threads", fix="at most 1024 (32 warps)"
        )
    owned = sum(r.warps for r in s.roles())
    if owned > s.warps:
        yield ScheduleError(f"roles own {owned} warps of {s.warps}", fix="enlarge the block")


def _shared_memory(s: Schedule) -> Iterator[ScheduleError]:
    if s.smem_bytes > MAX_SMEM_BYTES:
        largest = max(s.of_kind(SmemTile), key=lambda t: t.stages * t.stage_stride)
        room = MAX_SMEM_BYTES - (s.smem_bytes - largest.stages * largest.stage_stride)
        fits = max(0, room // largest.stage_stride)
        yield ScheduleError(
            f"{s.smem_bytes} bytes of shared memory, a CTA may have {MAX_SMEM_BYTES}",
            fix=f"tile {largest.name!r} takes {largest.stage_stride} bytes a stage: "
            + (f"use at most {fits} stages" if fits else "make it smaller"),
            loc=largest.loc,
            rule=Rule.SMEM_OVER_BUDGET,
        )


def _tile_alignment(s: Schedule) -> Iterator[ScheduleError]:
    for tile in s.of_kind(SmemTile):
        repeat = REPEAT_BYTES[tile.swizzle]
        if tile.align % repeat or tile.align & (tile.align - 1):
            yield ScheduleError(
                f"tile {tile.name!r} is aligned to {tile.align} bytes, its swizzle repeats every "
                f"{repeat}",
                fix=f"align it to a power of two, at least {repeat}",
                loc=tile.loc,
                rule=Rule.ALIGNMENT,
            )
        row = tile.shape[-1] * tile.dtype.bytes
        if tile.swizzle is not Swizzle.NONE and row != tile.swizzle.value:
            yield ScheduleError(
                f"tile {tile.name!r} has rows of {row} bytes under a {tile.swizzle.value}-byte "
                "swizzle",
                fix="make a row exactly as long as the swizzle",
                loc=tile.loc,
                rule=Rule.ALIGNMENT,
            )


def _tensor_maps(s: Schedule) -> Iterator[ScheduleError]:
    """cuTensorMapEncodeTiled's constraints, which fail at launch or give wrong data in silence."""
    for m in s.of_kind(TensorMap):
        t = s.tensor(m.tensor)

        def bad(what: str, fix: str, m: TensorMap = m) -> ScheduleError:
            return ScheduleError(
                f"tensor map {m.name!r}: {what}", fix=fix, loc=m.loc, rule=Rule.TENSOR_MAP
            )

        if len(m.box) != len(t.shape):
            yield bad(
                f"box of {len(m.box)} dimensions, tensor of {len(t.shape)}", "make them equal"
            )
            continue
        if not 1 <= len(m.box) <= 5:
            yield bad(f"rank {len(m.box)}", "a map has 1 to 5 dimensions")
        if t.strides[-1] != 1:
            yield bad(f"inner stride {t.strides[-1]}", "the innermost dimension must be contiguous")
        for stride in t.strides[:-1]:
            if stride * t.dtype.bytes % 16:
                yield bad(
                    f"stride of {stride * t.dtype.bytes} bytes", "strides are multiples of 16 bytes"
                )
        if max(m.box) > 256:
            yield bad(f"box {m.box}", "each extent is at most 256")
        inner = m.box[-1] * t.dtype.bytes
        if inner % 16:
            yield bad(f"inner extent of {inner} bytes", "it must be a multiple of 16 bytes")
        if m.swizzle is not Swizzle.NONE and inner > m.swizzle.value:
            yield bad(
                f"inner extent of {inner} bytes over the {m.swizzle.value}-byte swizzle",
                "split the box or widen the swizzle",
            )


def _tma_operands(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if isinstance(op, ops.TmaLoad):
            view = op.dst
        elif isinstance(op, ops.TmaStore):
            view = op.src
        else:
            continue
        tile, m = s.tile(view.tile), s.tensor_map(op.tensor_map)
        t = s.tensor(m.tensor)
        if view.shape != m.box or tile.dtype is not t.dtype:
            yield ScheduleError(
                f"{view.tile} view of shape {view.shape} {tile.dtype.value}, map {m.name!r} has a "
                f"box of {m.box} {t.dtype.value}",
                fix="make view and box equal",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        if tile.swizzle is not m.swizzle:
            yield ScheduleError(
                f"tile {tile.name!r} has swizzle {tile.swizzle.value}, map {m.name!r} "
                f"{m.swizzle.value}",
                fix="give both the same swizzle",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )


def _warpgroups(s: Schedule) -> Iterator[ScheduleError]:
    from asyncsim.ir.schedule import statements

    for role in s.roles():
        used = [o for o in statements(role.body) if isinstance(o, ops.OpBase)]
        if any(o.scope is Scope.WARPGROUP for o in used) and (
            role.first_warp % 4 or role.warps % 4
        ):
            yield ScheduleError(
                f"role {role.name!r} uses wgmma with {role.warps} warps from warp "
                f"{role.first_warp}",
                loc=role.loc,
                fix="a warpgroup is 4 warps and starts at a multiple of 4: put it first or pad",
            )


def _named_barriers(s: Schedule) -> Iterator[ScheduleError]:
    for b in s.of_kind(NamedBarrier):
        if b.threads % 32 or not 32 <= b.threads <= s.threads:
            yield ScheduleError(
                f"named barrier {b.name!r} counts {b.threads} threads of {s.threads}",
                fix="use a multiple of 32, at most the block",
                loc=b.loc,
            )


def _wgmma_operands(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if isinstance(op, ops.WgmmaMmaAsync):
            for view in (op.a, op.b):
                tile = s.tile(view.tile)
                if tile.swizzle is Swizzle.NONE:
                    yield ScheduleError(
                        f"wgmma operand {view.tile!r} has no swizzle",
                        fix="declare the tile and its map with swizzle=32, 64 or 128",
                        loc=op.loc,
                        rule=Rule.ALIGNMENT,
                    )


def _mbarriers_initialised(s: Schedule) -> Iterator[ScheduleError]:
    initialised = {o.mbarrier.name for o in s.ops() if isinstance(o, ops.MbarrierInit)}
    for b in s.of_kind(Mbarrier):
        if b.name not in initialised:
            yield ScheduleError(
                f"mbarrier {b.name!r} is never initialised",
                loc=b.loc,
                rule=Rule.USE_BEFORE_INIT,
                fix="add k.mbarrier.init_all(...) in an elected thread before the block barrier",
            )


CHECKS: tuple[Check, ...] = (
    _block_size,
    _shared_memory,
    _tile_alignment,
    _tensor_maps,
    _tma_operands,
    _warpgroups,
    _named_barriers,
    _wgmma_operands,
    _mbarriers_initialised,
)
