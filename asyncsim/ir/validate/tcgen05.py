"""Tensor memory and tcgen05: sizes, who executes what, shapes of copies and accesses."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import SmemTile, Swizzle, TmemTile
from asyncsim.ir.expr import Const
from asyncsim.ir.op import Scope, SmemView, TmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.tcgen05 import COLUMNS, LANES, WARP_LANES
from asyncsim.ir.validate.arch import BLACKWELL
from asyncsim.ir.validate.views import leaves, parts_of
from asyncsim.rules import Rule

_WORD_FIX = 'declare it with k.smem_tile(name, (1, 1), "u32")'
_ONE_THREAD = ops.Tcgen05Mma | ops.Tcgen05Commit | ops.Tcgen05Cp | ops.Tcgen05Shift
_GROUPED = _ONE_THREAD | ops.Tcgen05Alloc | ops.Tcgen05Dealloc | ops.Tcgen05RelinquishAllocPermit


def _tiles(s: Schedule) -> Iterator[ScheduleError]:
    for t in s.of_kind(TmemTile):
        if not _is_word(s, t.address):
            yield ScheduleError(
                f"tensor memory tile {t.name!r} finds its address in {t.address!r}, which is no "
                "single word of 32 bits",
                fix=_WORD_FIX,
                loc=t.loc,
            )
        if t.lanes not in (32, 64, LANES) or t.columns < 1 or t.column < 0:
            yield ScheduleError(
                f"tensor memory tile {t.name!r} of {t.lanes} lanes and {t.columns} columns from "
                f"column {t.column}",
                fix="32, 64 or 128 lanes, at least one column, from column 0 on",
                loc=t.loc,
            )
        end = t.column + t.stages * t.columns
        if end > COLUMNS:
            fits = max(0, COLUMNS - t.column) // t.columns if t.columns > 0 else 0
            yield ScheduleError(
                f"tensor memory tile {t.name!r} ends at column {end}",
                fix=f"tensor memory has {COLUMNS} columns: "
                + (
                    f"stages={fits} of {t.columns} fit from column {t.column} on"
                    if fits
                    else f"a stage may have {max(0, COLUMNS - t.column)} from column {t.column} on"
                ),
                loc=t.loc,
                rule=Rule.TMEM_CAPACITY,
            )


def _is_word(s: Schedule, name: str) -> bool:
    tiles = [t for t in s.of_kind(SmemTile) if t.name == name]
    return bool(tiles) and tiles[0].stages == 1 and tiles[0].stage_bytes == 4


def _allocations(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if not isinstance(op, ops.Tcgen05Alloc | ops.Tcgen05Dealloc):
            continue
        what = "alloc" if isinstance(op, ops.Tcgen05Alloc) else "dealloc"
        if not _is_word(s, op.address.tile):
            yield ScheduleError(
                f"tcgen05.{what} with its address in {op.address.tile!r}, which is no single word "
                "of 32 bits",
                fix=_WORD_FIX,
                loc=op.loc,
            )
        if not 32 <= op.columns <= COLUMNS or op.columns & (op.columns - 1):
            yield ScheduleError(
                f"tcgen05.{what} of {op.columns} columns",
                fix="a power of two from 32 to 512",
                loc=op.loc,
                rule=Rule.TMEM_ALLOC,
            )


def _words(s: Schedule) -> Iterator[ScheduleError]:
    """What stands in a word is an address: only tcgen05.alloc writes it."""
    words = {t.address for t in s.of_kind(TmemTile)}
    words |= {op.address.tile for op in s.ops() if isinstance(op, ops.Tcgen05Alloc)}
    for op in s.ops():
        if isinstance(op, ops.Tcgen05Alloc | ops.Tcgen05Dealloc | ops.LdShared):
            continue
        for view in parts_of(op, SmemView):
            if view.tile in words:
                yield ScheduleError(
                    f"{type(op).__name__} on {view.tile!r}, which holds the address of an "
                    "allocation of tensor memory",
                    fix="give it a tile of its own",
                    loc=op.loc,
                )


def _executors(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if isinstance(op, _ONE_THREAD) and op.scope is not Scope.ELECTED:
            yield ScheduleError(
                f"{type(op).__name__} is issued by one thread, and 32 lanes run it",
                fix="put it into `with k.elect():` or `with k.elect_thread():`",
                loc=op.loc,
            )


def _groups(s: Schedule) -> Iterator[ScheduleError]:
    used: set[int] = set()
    for op in s.ops():
        if not isinstance(op, _GROUPED):
            continue
        if op.cta_group not in (1, 2):
            yield ScheduleError(f"cta_group {op.cta_group}", fix="use 1 or 2", loc=op.loc)
        if op.cta_group == 2 and s.cluster_ctas % 2:
            yield ScheduleError(
                f"{type(op).__name__} of cta_group 2 in a cluster of {s.cluster_ctas}",
                fix="pairs are ranks 2i and 2i + 1: declare k.cluster(2)",
                loc=op.loc,
            )
        used.add(op.cta_group)
        if len(used) > 1:
            yield ScheduleError(
                f"{type(op).__name__} of cta_group {op.cta_group} in a kernel that uses the other",
                fix="all tcgen05 ops of a kernel have one cta_group",
                loc=op.loc,
                rule=Rule.CTA_GROUP,
            )
            return


def _views(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        for view in parts_of(op, TmemView):
            tile = s.tmem_tile(view.tile)
            outside = leaves(view.start, view.shape, (tile.lanes, tile.columns))
            bad_stage = isinstance(view.stage, Const) and not 0 <= view.stage.value < tile.stages
            if outside is not None or bad_stage:
                where = "its stages" if outside is None else ("lanes", "columns")[outside]
                yield ScheduleError(
                    f"{type(op).__name__}: a view of tile {view.tile!r} leaves it in {where}",
                    fix=f"stages 0..{tile.stages - 1}, {tile.lanes} lanes, {tile.columns} columns",
                    loc=op.loc,
                    rule=Rule.OUT_OF_BOUNDS,
                )


def _moves(s: Schedule) -> Iterator[ScheduleError]:
    """ld and st: 32 lanes, as many columns as registers of 32 bits."""
    for op in s.ops():
        match op:
            case ops.Tcgen05Ld(dst=regs, src=view) | ops.Tcgen05St(src=regs, dst=view):
                pass
            case _:
                continue
        n = regs.count
        if view.shape != (WARP_LANES, n) or not 1 <= n <= 128 or n & (n - 1):
            yield ScheduleError(
                f"{type(op).__name__} of {view.shape[0]} lanes x {view.shape[1]} columns and "
                f"{n} registers",
                fix="32 lanes, and a power of two up to 128 of columns and of registers",
                loc=op.loc,
            )
        dtype = s.fragment(regs.name).dtype
        if dtype.bytes != 4:
            yield ScheduleError(
                f"{type(op).__name__} with registers of {dtype.value}",
                fix="a register is a column of 32 bits: f32, i32 or u32",
                loc=op.loc,
            )


def _copies(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        match op:
            case ops.Tcgen05Cp(dst=view, src=source, shape=shape):
                size = _bytes(source, s)
                if view.shape != (shape.lanes, shape.columns) or size != shape.bytes:
                    yield ScheduleError(
                        f"tcgen05.cp.{shape.value} of {size} bytes to {view.shape[0]} lanes x "
                        f"{view.shape[1]} columns",
                        fix=f"it copies {shape.bytes} bytes to {shape.lanes} lanes x "
                        f"{shape.columns} columns",
                        loc=op.loc,
                    )
                elif not _is_described(source, 4 * shape.columns, s):
                    yield ScheduleError(
                        f"tcgen05.cp.{shape.value} from {source.tile!r}, whose rows no descriptor "
                        "finds",
                        fix="rows side by side of 16 bytes without a swizzle, or as wide as it",
                        loc=op.loc,
                        rule=Rule.ALIGNMENT,
                    )
            case ops.Tcgen05Shift(tile=view):
                lane = view.start[0]
                if view.shape != (32, 8) or (isinstance(lane, Const) and lane.value % 32):
                    yield ScheduleError(
                        f"tcgen05.shift of {view.shape[0]} lanes x {view.shape[1]} columns",
                        fix="32 lanes from a multiple of 32 on, 8 columns",
                        loc=op.loc,
                    )
            case _:
                pass


def _is_described(view: SmemView, row: int, s: Schedule) -> bool:
    """Whether a descriptor finds rows of so many bytes: eight lie together."""
    tile = s.tile(view.tile)
    if tile.swizzle is Swizzle.NONE:
        return row == 16 and view.shape[1:] == tile.shape[1:]
    width = tile.dtype.bytes
    return tile.shape[-1] * width == tile.swizzle.value and view.shape[-1] * width == row


def _bytes(view: SmemView, s: Schedule) -> int:
    size = s.tile(view.tile).dtype.bytes
    for extent in view.shape:
        size *= extent
    return size


def _remote_signals(s: Schedule) -> Iterator[ScheduleError]:
    """Only loads of cta_group 2 count their bytes on the barrier of another CTA."""
    lacking = [arch for arch in s.archs if arch not in BLACKWELL]
    for op in s.ops():
        if isinstance(op, ops.TmaLoad) and op.mbarrier.rank is not None and lacking:
            yield ScheduleError(
                f"a TMA load counts on an mbarrier of another CTA, on {', '.join(lacking)}",
                fix="before sm_100a, data and mbarrier are in the same CTA",
                loc=op.loc,
            )


CHECKS = (
    _tiles,
    _allocations,
    _words,
    _executors,
    _groups,
    _views,
    _moves,
    _copies,
    _remote_signals,
)
