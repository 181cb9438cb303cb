"""Tensor maps of every form, in kernels that write down what a load brings: boxes that hang over,
of 1 to 5 dimensions, with every swizzle, with strides, of slices; pixels (im2col)."""

from __future__ import annotations

from math import prod

from asyncsim import OobFill, ScheduleBuilder
from asyncsim.build.handles import FragmentHandle, GlobalHandle, TileView
from asyncsim.build.value import Value
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import scenario

ARCHS = ("sm_90a",)
TYPES = ("f32", "bf16", "f16", "i32", "u32", "u8", "i8", "e4m3", "e5m2")
BYTES = {"f32": 4, "i32": 4, "u32": 4, "bf16": 2, "f16": 2}
STARTS = (-2, 0, 3)


def registers(k: ScheduleBuilder, tile: TileView) -> FragmentHandle:
    """Of each lane, for a part of a row of the tile."""
    return k.fragment("x", registers=max(1, tile.decl.shape[-1] // 32), dtype=tile.decl.dtype)


def dump(
    k: ScheduleBuilder, x: FragmentHandle, tile: TileView, out: GlobalHandle, at: Value
) -> None:
    """Each lane stores elements of the tile, row by row, to rows of ``out`` from ``at`` on."""
    *rows, inner = tile.decl.shape
    wide = x.decl.registers
    lanes = inner // wide  # of a row
    with k.loop(-(-prod(rows) * lanes // 32)) as step:
        row = (step * 32 + k.lane) // lanes
        column = k.lane % lanes * wide
        place: list[Value | int] = []
        left = row
        for extent in reversed(rows):
            place.insert(0, left % extent)
            left = left // extent
        k.mem.ld_shared(x.all, tile.box((*place, column), (*(1 for _ in rows), wide)))
        k.mem.st_global(out.box((at + row, column), (1, wide)), x.all)


@scenario(summary="boxes that hang over a tensor, written down", archs=ARCHS)
def boxes(
    *,
    rank: int = 2,
    type: int = 0,
    swizzle: int = 0,
    nan: int = 0,
    promotion: int = 128,
    stride: int = 1,
) -> Schedule:
    """CTA i loads the box at STARTS[i] in each dimension but the last, in which it is as long as
    the swizzle spans, or 128 bytes; of one dimension, the box at 8 times that."""
    k = ScheduleBuilder("boxes", archs=ARCHS)
    dtype = TYPES[type]
    row = (swizzle or 128) // BYTES.get(dtype, 1)
    width = row if rank == 1 else row + 16
    shape = (*(6 for _ in range(rank - 1)), width)
    box = (*(4 for _ in range(rank - 1)), row)
    steps = (*(stride for _ in range(rank - 1)), 1)
    held = (*(-(-4 // stride) for _ in range(rank - 1)), row)
    k.grid(len(STARTS))
    k.block(1)
    source = k.global_tensor("source", shape, dtype)
    out = k.global_tensor("out", (len(STARTS) * prod(held[:-1]), row), dtype, output=True)
    source_map = k.tensor_map(
        "source_map",
        source,
        box=box,
        swizzle=swizzle,
        oob_fill=OobFill.NAN if nan else OobFill.ZERO,
        l2_promotion_bytes=promotion,
        element_strides=steps,
    )
    tile = k.smem_tile("tile", held, dtype, swizzle=swizzle, align=1024)[0]
    full = k.mbarriers("full", count=1)
    first = k.block_idx * 5 // 2 - 2  # -2, 0, 3
    corner = (*(first for _ in range(rank - 1)), first * 8 if rank == 1 else 0)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], prod(held) * BYTES.get(dtype, 1))
        k.tma.load(tile, source_map, corner, full[0])
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    dump(k, registers(k, tile), tile, out, k.block_idx * prod(held[:-1]))
    return k.finish()


@scenario(summary="boxes of slices that hang over a tensor, written down", archs=ARCHS)
def slices(
    *,
    rank: int = 3,
    interleave: int = 16,
    type: int = 0,
    swizzle: int = 0,
    width: int = 8,
    nan: int = 0,
    stride: int = 1,
) -> Schedule:
    """CTA i loads the box at STARTS[i] in each dimension, ``width`` slices in the last one that the
    map counts and one of the channels' slices; rows of slices have gaps between them."""
    k = ScheduleBuilder("slices", archs=ARCHS)
    dtype, outer = TYPES[type], rank - 1
    slice = interleave // BYTES.get(dtype, 1)
    shape = (*(6 for _ in range(outer)), 9, slice)
    strides = [1, slice, 11 * slice]
    for extent in shape[1:outer]:
        strides.append((extent + 1) * strides[-1])
    box = (4, 1, *(4 for _ in range(outer - 2)), width, slice)
    steps = (stride, 1, *(stride for _ in range(outer - 1)), 1)
    held = tuple(-(-n // s) for n, s in zip(box, steps, strict=True))
    rows = prod(held[:-1])
    k.grid(len(STARTS))
    k.block(1)
    source = k.global_tensor("source", shape, dtype, strides=strides[::-1])
    out = k.global_tensor("out", (len(STARTS) * rows, slice), dtype, output=True)
    source_map = k.tensor_map(
        "source_map",
        source,
        box=box,
        swizzle=swizzle,
        oob_fill=OobFill.NAN if nan else OobFill.ZERO,
        element_strides=steps,
        interleave=interleave,
    )
    tile = k.smem_tile("tile", held, dtype, swizzle=swizzle, align=1024)[0]
    full = k.mbarriers("full", count=1)
    first = k.block_idx * 5 // 2 - 2  # -2, 0, 3
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], tile.decl.stage_bytes)
        k.tma.load(tile, source_map, (*(first for _ in range(rank)), 0), full[0])
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    dump(k, registers(k, tile), tile, out, k.block_idx * rows)
    return k.finish()


@scenario(summary="slices of each image moved by one place, and added to some", archs=ARCHS)
def shifted(*, interleave: int = 16, swizzle: int = 0, adds: int = 0) -> Schedule:
    """A CTA loads a slice of an image's channels from before its left edge on and stores it one
    place further right, from the edge on; what hangs over on the right is left out."""
    k = ScheduleBuilder("shifted", archs=ARCHS)
    slice = interleave // 4
    shape, box = (3, 2, 4, 5, slice), (1, 1, 4, 8, slice)
    k.grid(6)
    k.block(1)
    source = k.global_tensor("source", shape, "i32")
    out = k.global_tensor("out", shape, "i32", output=True)
    image = k.block_idx // 2, k.block_idx % 2
    form = {"box": box, "swizzle": swizzle, "interleave": interleave}
    source_map = k.tensor_map("source_map", source, **form)
    out_map = k.tensor_map("out_map", out, **form)
    tile = k.smem_tile("tile", box, "i32", swizzle=swizzle, align=1024)[0]
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], tile.decl.stage_bytes)
        k.tma.load(tile, source_map, (*image, 0, -1, 0), full[0])
        k.mbarrier.wait(full[0], 0)
        if adds:
            k.tma.reduce(out_map, (*image, 0, 0, 0), tile, op="add")
        else:
            k.tma.store(out_map, (*image, 0, 0, 0), tile)
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    return k.finish()


@scenario(summary="pixels of an image, of every place of a filter, written down", archs=ARCHS)
def pixels(
    *,
    space: int = 2,
    size: int = 5,
    batch: int = 2,
    channels: int = 32,
    brought: int = 16,
    filter: int = 3,
    stride: int = 1,
    swizzle: int = 0,
    type: int = 0,
    nan: int = 0,
) -> Schedule:
    """``space``: its dimensions. Without a stride the image is padded so that each pixel has one
    result; CTA i writes down ``brought`` of them for each place of the filter."""
    k = ScheduleBuilder("pixels", archs=ARCHS)
    dtype, pad = TYPES[type], filter // 2
    shape = (batch, *(size + d for d in range(space)), channels)
    results = [-(-(n - (filter - 1) + 2 * pad) // stride) for n in shape[1:-1]]
    ctas = -(-batch * prod(results) // brought)
    taps = filter**space
    source = k.global_tensor("source", shape, dtype)
    out = k.global_tensor("out", (ctas * taps * brought, channels), dtype, output=True)
    source_map = k.im2col_map(
        "source_map",
        source,
        pixels=brought,
        channels=channels,
        lower=(-pad,) * space,
        upper=(pad - (filter - 1),) * space,
        swizzle=swizzle,
        oob_fill=OobFill.NAN if nan else OobFill.ZERO,
        element_strides=(1, *(stride for _ in results), 1),
    )
    tile = k.smem_tile("tile", (brought, channels), dtype, swizzle=swizzle, align=1024)[0]
    full, x = k.mbarriers("full", count=1), registers(k, tile)
    k.grid(ctas)
    k.block(1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    first = k.block_idx * brought
    start: list[Value | int] = []
    left = first
    for n in reversed(results):
        start.insert(0, left % n * stride - pad)
        left = left // n
    for tap in range(taps):
        places = tuple(tap // filter ** (space - 1 - d) % filter for d in range(space))
        with k.elect_thread():
            k.mbarrier.arrive_expect_tx(full[0], tile.decl.stage_bytes)
            k.tma.load_im2col(tile, source_map, (left, *start, 0), places, full[0])
        k.mbarrier.wait(full[0], tap % 2)
        dump(k, x, tile, out, (k.block_idx * taps + tap) * brought)
        k.fence.proxy_async("shared")
        k.bar.sync()
    return k.finish()


@scenario(summary="pixels along the rows of images, with halos, written down", archs=("sm_100a",))
def rows(
    *,
    many: int = 0,
    space: int = 2,
    halo: int = 2,
    stride: int = 1,
    lower: int = -1,
    upper: int = 0,
    offset: int = 0,
    swizzle: int = 128,
    left: int = 0,
    nan: int = 0,
) -> Schedule:
    """CTA i begins ``left`` strides before row i of image i; ``many``: 128, im2col::w::128."""
    k = ScheduleBuilder("rows", archs=("sm_100a",))
    pixels, channels = 128 if many else 24, swizzle // 4
    shape = (9, *(3 + d for d in range(space - 1)), 10, channels)
    source = k.global_tensor("source", shape, "f32")
    source_map = k.im2col_map(
        "source_map",
        source,
        pixels=pixels,
        channels=channels,
        lower=(lower,),
        upper=(upper,),
        swizzle=swizzle,
        oob_fill=OobFill.NAN if nan else OobFill.ZERO,
        element_strides=(*(1 for _ in range(space)), stride, 1),
        mode="im2col::w::128" if many else "im2col::w",
    )
    held = pixels + (4 if many else 1) * halo
    out = k.global_tensor("out", (3 * held, channels), "f32", output=True)
    tile = k.smem_tile("tile", (held, channels), "f32", swizzle=swizzle, align=1024)[0]
    full = k.mbarriers("full", count=1)
    k.grid(3)
    k.block(1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], tile.decl.stage_bytes)
        start = (*(k.block_idx for _ in range(space)), lower - stride * left, 0)
        k.tma.load_im2col(tile, source_map, start, (offset,), full[0], halo=halo)
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    dump(k, registers(k, tile), tile, out, k.block_idx * held)
    return k.finish()


@scenario(summary="a map that each CTA moves from group to group of rows", archs=ARCHS)
def moving(*, ctas: int = 3, groups: int = 4, rows: int = 6, short: int = 0) -> Schedule:
    """Group g of a CTA has ``rows`` - ``short`` * g rows: behind them are zeros."""
    k = ScheduleBuilder("moving", archs=ARCHS)
    k.grid(ctas)
    k.block(1)
    source = k.global_tensor("source", (ctas * groups * rows, 32), "i32")
    out = k.global_tensor("out", (ctas * groups * 8, 32), "i32", output=True)
    source_map = k.tensor_map("source_map", source, box=(8, 32), in_global=True)
    out_map = k.tensor_map("out_map", out, box=(8, 32))
    tile, full = k.smem_tile("tile", (8, 32), "i32")[0], k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.tma.replace(source_map, field="global_dim", dim=0, value=1)
        with k.loop(groups) as g:
            group = k.block_idx * groups + g
            k.tma.replace(source_map, value=group * rows)
            k.tma.replace(source_map, field="global_dim", dim=0, value=rows - short * g)
            k.fence.tensormap_release()
            k.fence.tensormap_acquire(source_map)
            k.mbarrier.arrive_expect_tx(full[0], 1024)
            k.tma.load(tile, source_map, (0, 0), full[0])
            k.mbarrier.wait(full[0], g % 2)
            k.tma.store(out_map, (group * 8, 0), tile)
            k.bulk.commit_group()
            k.bulk.wait_group(0)
            k.tma.replace(source_map, field="global_dim", dim=0, value=1)
    return k.finish()
