"""What asynchronous copies and their groups do in an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import assert_never

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.boxes import Slices, clip_box, fetches, of_lane
from asyncsim.evaluate.cta import Blocked, Cta, Flight
from asyncsim.evaluate.operands import (
    Operands,
    box_slices,
)
from asyncsim.evaluate.pixels import Fetch
from asyncsim.evaluate.sync_ops import Step, owner_of, ranks_of_mask, stage_of
from asyncsim.ir import op as ops
from asyncsim.ir.op import CopyOp, GroupKind, ReduceOp, SmemView
from asyncsim.rules import Rule
from asyncsim.stream.operands import Values
from asyncsim.sync import MbarrierState


def copy_step(op: CopyOp, use: Operands, warp: int, cta: Cta) -> Step:
    match op:
        case ops.CpAsync():
            return _cp_async(op, use, warp, cta)
        case ops.CpAsyncMbarrierArrive():
            return _track(op, use, warp, cta)
        case ops.TmaLoad():
            return _tma_load(op, use, cta)
        case ops.TmaStore():
            return _tma_store(op, use, warp, cta)
        case ops.CommitGroup(kind=kind):
            return lambda v: _commit(cta, warp, kind, use.observers)
        case ops.WaitGroup():
            return lambda v: _wait_group(op, cta, warp, use.observers)
        case _ as unreachable:
            assert_never(unreachable)


def tile_stage(view: SmemView, use: Operands, cta: Cta) -> Callable[[Values], Array]:
    """The stage of a tile that a view lies in, as an array of the tile's shape."""
    owner, stage = owner_of(view.rank, use, cta), use.value(view.stage)

    def array(values: Values) -> Array:
        index, tile = stage(values), owner(values).tiles[view.tile]
        if not 0 <= index < len(tile):
            raise ScheduleError(
                f"tile {view.tile}[{index}] of {len(tile)} stages",
                fix=f"the stage must be 0..{len(tile) - 1}",
                loc=use.op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )
        found: Array = tile[index]
        return found

    return array


def _cp_async(op: ops.CpAsync, use: Operands, warp: int, cta: Cta) -> Step:
    """The elements of a lane go from its source to its destination box; the rest is zero."""
    tensor = cta.tensors[op.src.tensor]
    stage = tile_stage(op.dst, use, cta)
    to = use.elements(op.dst, cta.schedule.tile(op.dst.tile).shape)
    elements = np.arange(prod(op.dst.shape))
    source_of = use.elements(op.src, tensor.shape if op.src_bytes is None else None)
    kept = None if op.src_bytes is None else use.lane_values((op.src_bytes,))

    def step(values: Values) -> None:
        into, at, source = stage(values), to(values), source_of(values)
        if kept is None:
            flight = Flight(op, lambda: into.__setitem__(at, tensor[source]))
        else:
            (bytes_,) = kept(values)
            keep = elements * tensor.itemsize < np.reshape(bytes_, (-1, 1))
            flight = Flight(op, lambda: into.__setitem__(at, _masked(op, tensor, source, keep)))
        for queue in cta.queues(warp, GroupKind.CP_ASYNC, use.observers):
            queue.issue(flight)
        cta.launch(flight)

    return step


def _track(op: ops.CpAsyncMbarrierArrive, use: Operands, warp: int, cta: Cta) -> Step:
    """The arrivals are in flight until the copies before them have landed."""
    barrier = stage_of(op.mbarrier, use, cta)

    def step(values: Values) -> None:
        state, before = barrier(values), []
        for queue in cta.queues(warp, GroupKind.CP_ASYNC, use.observers):
            flights = [f for group in (*queue.pending(), queue.open) for f in group]
            before += [f for f in flights if isinstance(f, Flight) and not f.landed]
            queue.open[:] = [f for f in queue.open if f in before]
        if not op.noinc:
            state.add_pending(use.lanes)

        def effect() -> None:
            for flight in before:
                flight.land()
            for _ in range(use.lanes):
                state.arrive()

        cta.launch(Flight(op, effect))

    return step


def _masked(op: ops.CpAsync, tensor: Array, index: tuple[Array, ...], keep: Array) -> Array:
    """The kept elements of the source, zero elsewhere; what is not kept may lie outside."""
    inside = np.broadcast_to(True, np.broadcast_shapes(keep.shape, *(i.shape for i in index)))
    clipped = []
    for i, extent in zip(index, tensor.shape, strict=True):
        inside = inside & (i >= 0) & (i < extent)
        clipped.append(np.clip(i, 0, extent - 1))
    if np.any(keep & ~inside):
        raise ScheduleError(
            f"cp.async reads outside {op.src.tensor} of shape {tensor.shape}",
            fix="reduce src_bytes there",
            loc=op.loc,
            rule=Rule.OUT_OF_BOUNDS,
        )
    filled: Array = np.where(keep & inside, tensor[tuple(clipped)], tensor.dtype.type(0))
    return filled


def _tma_load(op: ops.TmaLoad, use: Operands, cta: Cta) -> Step:
    """A box a lane; multicast, it lands in every CTA of the mask, and counts on its barrier."""
    shape = op.dst.shape
    size = prod(shape) * cta.tensors[op.src.tensor].itemsize
    to = use.window(op.dst, cta.schedule.tile(op.dst.tile).shape)
    fetched, receivers = fetches(op, use, cta), receivers_of(op, use, cta)

    def land(target: Array, fetch: Fetch, state: MbarrierState) -> Callable[[], None]:
        def effect() -> None:
            fetch(target)
            state.complete_tx(size)

        return effect

    def step(values: Values) -> None:
        reached, targets = receivers(values), to(values)
        for lane, fetch in enumerate(fetched(values)):
            box = box_slices(of_lane(targets, lane), shape)
            for into, state in reached:
                cta.launch(Flight(op, land(into[box], fetch, state)))

    return step


def receivers_of(
    op: ops.LoadOp, use: Operands, cta: Cta
) -> Callable[[Values], list[tuple[Array, MbarrierState]]]:
    """The stage and the mbarrier of each CTA that a load reaches."""
    if op.multicast is None:
        stage, barrier = tile_stage(op.dst, use, cta), stage_of(op.mbarrier, use, cta)
        return lambda v: [(stage(v), barrier(v))]
    mask = use.value(op.multicast)
    places = [
        (tile_stage(op.dst, use, peer), stage_of(op.mbarrier, use, peer))
        for peer in cta.cluster.ctas
    ]

    def receivers(values: Values) -> list[tuple[Array, MbarrierState]]:
        reached = [places[rank] for rank in ranks_of_mask(mask(values), len(places), op)]
        return [(stage(values), barrier(values)) for stage, barrier in reached]

    return receivers


def _tma_store(op: ops.TmaStore, use: Operands, warp: int, cta: Cta) -> Step:
    combine = COMBINE[op.reduce]
    tensor = cta.tensors[op.dst.tensor]
    shape, height = op.dst.shape, op.dst.shape[0]
    stage = tile_stage(op.src, use, cta)
    start = use.window(op.src, cta.schedule.tile(op.src.tile).shape)
    to = [use.lane_values(box.start) for box in (op.dst, *op.rows)]  # scatter4: four rows

    def step(values: Values) -> None:
        out_of = stage(values)
        sources, targets = start(values), [box(values) for box in to]
        for lane in range(use.lanes):
            whole = out_of[box_slices(of_lane(sources, lane), op.src.shape)]
            moves = [
                (whole[i * height : (i + 1) * height] if op.rows else whole, target, part)
                for i, first in enumerate(targets)
                for target, part in (clip_box(of_lane(first, lane), shape, tensor.shape),)
            ]

            def effect(moves: list[tuple[Array, Slices, Slices]] = moves) -> None:
                for source, target, part in moves:
                    tensor[target] = combine(tensor[target], source[part])

            flight = Flight(op, effect)
            for queue in cta.queues(warp, GroupKind.BULK, use.observers):
                queue.issue(flight)
            cta.launch(flight)

    return step


def _commit(cta: Cta, warp: int, kind: GroupKind, observers: tuple[bool, ...]) -> None:
    for queue in cta.queues(warp, kind, observers):
        queue.commit()


def _wait_group(
    op: ops.WaitGroup, cta: Cta, warp: int, observers: tuple[bool, ...]
) -> Blocked | None:
    """Passes when every op of the covered groups has been issued by all who take part in it."""
    queues = cta.queues(warp, op.kind, observers)
    members = [
        flight
        for queue in queues
        for group in queue.retire(op.n)
        for flight in group
        if isinstance(flight, Flight)
    ]

    def ready() -> bool:
        if not all(flight.launched for flight in members):
            return False
        for flight in members:
            flight.land()
        return True

    if ready():
        return None
    return Blocked(op, ready, lambda: "not all four warps have issued the groups it covers")


COMBINE: dict[ReduceOp | None, Callable[[Array, Array], Array]] = {
    None: lambda old, new: new,
    ReduceOp.ADD: np.add,
    ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
    ReduceOp.AND: np.bitwise_and,
    ReduceOp.OR: np.bitwise_or,
    ReduceOp.XOR: np.bitwise_xor,
}
