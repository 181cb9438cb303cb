"""What tcgen05 ops do in an evaluation.

mma, cp, shift and commit of a thread complete in order, some time after their issue; loads and
stores of a warp at its wait at the latest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.copy_ops import tile_stage
from asyncsim.evaluate.cta import Blocked, Cta, Flight
from asyncsim.evaluate.operands import Operands, box_slices
from asyncsim.evaluate.sync_ops import Step, ranks_of_mask, stage_of
from asyncsim.evaluate.tcgen05_mma import (
    is_folded,
    lanes_of_rows,
    numbers,
    packed,
    products,
    scale_bytes,
)
from asyncsim.evaluate.tensor_memory import Place, place_of
from asyncsim.ir import op as ops
from asyncsim.ir.op import SmemView, Tcgen05Op, TmemView
from asyncsim.ir.tcgen05 import LANES, WARP_LANES, CpShape, MmaKind, Tcgen05Access
from asyncsim.rules import Rule
from asyncsim.stream.operands import Values
from asyncsim.sync import MbarrierState

Operand = Callable[[Values], Callable[[], Array]]
"""Finds an operand at the issue; what it returns reads it, at the completion."""


def tcgen05_step(op: Tcgen05Op, use: Operands, warp: int, cta: Cta) -> Step:
    match op:
        case ops.Tcgen05Alloc():
            return _alloc(op, cta)
        case ops.Tcgen05Dealloc():
            return _dealloc(op, cta)
        case ops.Tcgen05RelinquishAllocPermit():
            return lambda v: cta.tensor_memory.allocator.relinquish(0)
        case ops.Tcgen05Mma():
            return _mma(op, use, warp, cta)
        case ops.Tcgen05Commit():
            return _commit(op, use, warp, cta)
        case ops.Tcgen05Cp():
            return _cp(op, use, warp, cta)
        case ops.Tcgen05Shift():
            return _shift(op, use, warp, cta)
        case ops.Tcgen05Ld():
            return _ld(op, use, warp, cta)
        case ops.Tcgen05St():
            return _st(op, use, warp, cta)
        case ops.Tcgen05Wait(what=what):
            return lambda v: _land(cta.accesses(warp, what))
        case ops.Tcgen05Fence():
            return lambda v: None  # one op after the other: they are in order already
        case _ as unreachable:
            assert_never(unreachable)


# -- allocation --------------------------------------------------------------------------------


def _word(cta: Cta, view: SmemView) -> Array:
    found: Array = cta.tiles[view.tile][0].reshape(-1)
    return found


def _alloc(op: ops.Tcgen05Alloc, cta: Cta) -> Step:
    memory, word = cta.tensor_memory, _word(cta, op.address)

    def take() -> bool:
        first = memory.allocator.alloc(0, op.columns)
        if first is not None:
            word[0] = first
        return first is not None

    def why() -> str:
        return f"{op.columns} columns are not free: {memory.allocator.used} of 512 are allocated"

    return _together(op, cta, take, why)


def _dealloc(op: ops.Tcgen05Dealloc, cta: Cta) -> Step:
    def free() -> bool:
        first = int(_word(cta, op.address)[0]) + op.offset
        cta.tensor_memory.allocator.dealloc(0, first, op.columns)
        return True

    return _together(op, cta, free, lambda: "")


def _together(
    op: ops.Tcgen05Alloc | ops.Tcgen05Dealloc,
    cta: Cta,
    done: Callable[[], bool],
    why: Callable[[], str],
) -> Step:
    """A step that ends when it is ``done``, which of a pair is tried when both CTAs are there."""
    if op.cta_group == 1:
        return lambda v: None if done() else Blocked(op, done, why)
    cluster = cta.cluster
    rank = cluster.ctas.index(cta)

    def step(values: Values) -> Blocked | None:
        turn = cluster.come(rank, op.id)

        def ready() -> bool:
            return cluster.turns(rank ^ 1, op.id) > turn and done()

        def missing() -> str:
            there = cluster.turns(rank ^ 1, op.id) > turn
            return why() if there else f"CTA {rank ^ 1} of the pair has not come to it"

        return None if ready() else Blocked(op, ready, missing)

    return step


# -- the tensor pipe ---------------------------------------------------------------------------


def _owners(cta: Cta, cta_group: int) -> tuple[Cta, ...]:
    """The CTAs of the group, by rank."""
    if cta_group == 1:
        return (cta,)
    first = cta.cluster.ctas.index(cta) & ~1
    return tuple(cta.cluster.ctas[first : first + 2])


def _place(view: TmemView, use: Operands, cta: Cta) -> Callable[[Values], Place]:
    """Where a view lies: in every CTA of the group at the address that the own word holds."""
    word = cta.tiles[cta.schedule.tmem_tile(view.tile).address][0].reshape(-1)
    return place_of(view, use, cta.schedule, lambda: int(word[0]))


def _operand(view: SmemView | TmemView, use: Operands, cta: Cta, owner: Cta) -> Operand:
    """The elements of A or B (rows or lanes, elements) in one CTA."""
    if isinstance(view, TmemView):
        at, dtype = _place(view, use, cta), cta.schedule.tmem_tile(view.tile).dtype

        def in_tensor_memory(values: Values) -> Callable[[], Array]:
            cells = owner.tensor_memory.box(at(values), view.shape)
            return lambda: packed(cells, dtype)

        return in_tensor_memory
    stage, start = tile_stage(view, use, owner), use.window(view, _extent(view, cta))

    def in_shared_memory(values: Values) -> Callable[[], Array]:
        part = stage(values)[box_slices(start(values), view.shape)]
        return lambda: part

    return in_shared_memory


def _extent(view: SmemView, cta: Cta) -> tuple[int, ...]:
    return cta.schedule.tile(view.tile).shape


def _mma(op: ops.Tcgen05Mma, use: Operands, warp: int, cta: Cta) -> Step:
    owners = _owners(cta, op.cta_group)
    of_a = [_operand(op.a, use, cta, owner) for owner in owners]
    of_b = [_operand(op.b, use, cta, owner) for owner in owners]
    d, keep = _place(op.d, use, cta), use.value(op.accumulate)
    scales = [_scales(op, use, cta, owner) for owner in owners]
    kind = np.int32 if op.kind is MmaKind.I8 else np.float32

    def step(values: Values) -> None:
        a, b = [of(values) for of in of_a], [of(values) for of in of_b]
        sums = [o.tensor_memory.box(d(values), op.d.shape).view(kind) for o in owners]
        factors = [s(values) if s is not None else None for s in scales]
        accumulate = keep(values)

        def effect() -> None:
            right = numbers(np.concatenate([read() for read in b]), op.kind)
            for read, into, scale in zip(a, sums, factors, strict=True):
                given = (scale[0](), scale[1]()) if scale is not None else None
                _add(op, numbers(read(), op.kind), right, given, into, bool(accumulate))

        cta.issue(warp, Flight(op, effect))

    return step


def _scales(
    op: ops.Tcgen05Mma, use: Operands, cta: Cta, owner: Cta
) -> Callable[[Values], tuple[Callable[[], Array], Callable[[], Array]]] | None:
    if op.scale_a is None or op.scale_b is None:
        return None
    views = (op.scale_a, op.m // op.cta_group, op.scale_a_id), (op.scale_b, op.n, op.scale_b_id)
    found = [(_place(v, use, cta), v.shape, rows, first) for v, rows, first in views]

    def scales(values: Values) -> tuple[Callable[[], Array], Callable[[], Array]]:
        def of(index: int) -> Callable[[], Array]:
            at, shape, rows, first = found[index]
            cells = owner.tensor_memory.box(at(values), shape)
            return lambda: scale_bytes(op, cells, rows, first)

        return of(0), of(1)

    return scales


def _add(
    op: ops.Tcgen05Mma,
    a: Array,
    b: Array,
    scales: tuple[Array, Array] | None,
    into: Array,
    accumulate: bool,
) -> None:
    """The product of one CTA's rows to its lanes."""
    lanes = lanes_of_rows(op)
    halves = [(lanes, b)]
    if is_folded(op):
        halves = [(lanes, b[: op.n // 2]), (lanes + LANES // 2, b[op.n // 2 :])]
    for at, columns in halves:
        rows = a[at] if a.shape[0] == LANES else a
        product = products(op, rows, columns, scales)
        into[at] = into[at] + product if accumulate else product


def _commit(op: ops.Tcgen05Commit, use: Operands, warp: int, cta: Cta) -> Step:
    own = stage_of(op.mbarrier, use, cta)
    mask = None if op.multicast is None else use.value(op.multicast)
    peers = [stage_of(op.mbarrier, use, peer) for peer in cta.cluster.ctas]

    def step(values: Values) -> None:
        if mask is None:
            reached = [own(values)]
        else:
            reached = [peers[r](values) for r in ranks_of_mask(mask(values), len(peers), op)]

        def effect(reached: list[MbarrierState] = reached) -> None:
            for state in reached:
                state.arrive()

        cta.issue(warp, Flight(op, effect))

    return step


def _cp(op: ops.Tcgen05Cp, use: Operands, warp: int, cta: Cta) -> Step:
    owners = _owners(cta, op.cta_group)
    sources = [_operand(op.src, use, cta, owner) for owner in owners]
    at, lanes = _place(op.dst, use, cta), _cp_rows(op.shape)

    def step(values: Values) -> None:
        reads = [source(values) for source in sources]
        targets = [o.tensor_memory.box(at(values), op.dst.shape) for o in owners]

        def effect() -> None:
            for read, into in zip(reads, targets, strict=True):
                raw = np.ascontiguousarray(read()).reshape(-1).view(np.uint32)
                into[...] = raw.reshape(op.shape.rows, op.shape.columns)[lanes]

        cta.issue(warp, Flight(op, effect))

    return step


def _cp_rows(shape: CpShape) -> Array:
    """The row that each lane gets: warps repeat rows as the shape says."""
    lanes = np.arange(shape.lanes)
    match shape:
        case CpShape.S64X128B_02_13:
            return lanes % 64
        case CpShape.S64X128B_01_23:
            return lanes // 64 * WARP_LANES + lanes % WARP_LANES
        case CpShape.S32X128B:
            return lanes % WARP_LANES
        case _:
            return lanes


def _shift(op: ops.Tcgen05Shift, use: Operands, warp: int, cta: Cta) -> Step:
    at = _place(op.tile, use, cta)

    def step(values: Values) -> None:
        place, owners = at(values), _owners(cta, op.cta_group)
        boxes = [o.tensor_memory.box(place, op.tile.shape) for o in owners]

        def effect() -> None:
            for box in boxes:
                box[1:] = box[:-1].copy()

        cta.issue(warp, Flight(op, effect))

    return step


# -- loads and stores --------------------------------------------------------------------------


def _own_lanes(view: TmemView, use: Operands, warp: int, cta: Cta) -> Callable[[Values], Array]:
    at, own = _place(view, use, cta), WARP_LANES * (warp % 4)

    def box(values: Values) -> Array:
        place = at(values)
        if place[0] != own:
            raise ScheduleError(
                f"{type(use.op).__name__}: warp {warp} of the block accesses lanes {place[0]}.."
                f"{place[0] + WARP_LANES - 1} of {view.tile!r}",
                loc=use.op.loc,
                rule=Rule.TMEM_LANES,
                fix=f"its lanes are {own}..{own + WARP_LANES - 1}: 32 * (warp of the block % 4)",
            )
        return cta.tensor_memory.box(place, view.shape)

    return box


def _ld(op: ops.Tcgen05Ld, use: Operands, warp: int, cta: Cta) -> Step:
    box = _own_lanes(op.src, use, warp, cta)

    def step(values: Values) -> None:
        source = box(values)

        def effect() -> None:
            registers = cta.registers(op.dst, warp)
            registers[...] = source.view(registers.dtype)

        _access(cta, warp, Tcgen05Access.LD, Flight(op, effect))

    return step


def _st(op: ops.Tcgen05St, use: Operands, warp: int, cta: Cta) -> Step:
    box = _own_lanes(op.dst, use, warp, cta)

    def step(values: Values) -> None:
        into, data = box(values), cta.registers(op.src, warp).copy()

        def effect() -> None:
            into[...] = data.view(np.uint32)

        _access(cta, warp, Tcgen05Access.ST, Flight(op, effect))

    return step


def _access(cta: Cta, warp: int, what: Tcgen05Access, flight: Flight) -> None:
    cta.accesses(warp, what).append(flight)
    cta.launch(flight)


def _land(flights: list[Flight]) -> None:
    for flight in flights:
        flight.land()
    flights.clear()
