"""Tiles, fragments, plain accesses and cp.async: exact messages."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder
from tests.ir.wellformed import error_of, expect


def test_tile_alignment_follows_its_swizzle():
    expect(
        lambda k: k.smem_tile("t", (8, 64), "bf16", swizzle=128, align=512),
        "tile 't' is aligned to 512 bytes, its swizzle repeats every 1024",
        "align it to a power of two, at least 1024",
        Rule.ALIGNMENT,
    )
    expect(
        lambda k: k.smem_tile("t", (8, 64), "bf16", align=384),
        "tile 't' is aligned to 384 bytes, its swizzle repeats every 16",
        "align it to a power of two, at least 16",
        Rule.ALIGNMENT,
    )


def test_alignment_of_zero():
    error = error_of(lambda k: k.smem_tile("t", (8, 64), "bf16", align=0))
    assert error.message == "tile 't' has alignment 0"


def test_swizzled_rows_are_as_long_as_the_swizzle():
    expect(
        lambda k: k.smem_tile("t", (8, 64), "f32", swizzle=128),
        "tile 't' has rows of 256 bytes under a 128-byte swizzle",
        "make a row exactly as long as the swizzle",
        Rule.ALIGNMENT,
    )


@pytest.mark.parametrize("registers", [0, 256])
def test_fragment_sizes(registers):
    expect(
        lambda k: k.fragment("x", registers=registers),
        f"fragment 'x' has {registers} registers",
        "a thread has 1 to 255",
    )


@pytest.mark.parametrize(("first", "count"), [(3, 2), (-1, 1), (4, 1), (0, 0)])
def test_fragment_parts(first, count):
    def build(k):
        out = k.global_tensor("out", (64, 4), "f32", output=True)
        x = k.fragment("x", registers=4)
        k.mem.st_global(out.box((k.lane, 0), (1, max(count, 1))), x.part(first, count))

    expect(
        build,
        f"registers {first}..{first + count - 1} of fragment 'x', which has 4",
        "stay in 0..3",
        Rule.OUT_OF_BOUNDS,
    )


def test_views_that_leave_their_tile():
    def build(k, stage, shape):
        x = k.fragment("x", registers=1)
        t = k.smem_tile("t", (4, 1), "f32", stages=2)
        with k.loop(2) as i:
            k.mem.ld_shared(x.all, t[stage].box((i, 0), shape))

    fix = "stages 0..1, shape (4, 1)"
    expect(
        lambda k: build(k, 2, (1, 1)),
        "LdShared: a view of tile 't' leaves it in stage 2",
        fix,
        Rule.OUT_OF_BOUNDS,
    )
    expect(
        lambda k: build(k, 0, (5, 1)),
        "LdShared: a view of tile 't' leaves it in dimension 0",
        fix,
        Rule.OUT_OF_BOUNDS,
    )


def test_box_of_a_plain_access_that_leaves_its_tensor():
    def build(k):
        t = k.global_tensor("t", (8, 8), "f32")
        k.mem.ld_global(k.fragment("x", registers=2).all, t.box((k.block_idx, 7), (1, 2)))

    expect(
        build,
        "LdGlobal: a box of 't' leaves it in dimension 1",
        "its shape is (8, 8)",
        Rule.OUT_OF_BOUNDS,
    )


def test_loads_and_stores_move_bits():
    def build(k, registers, dtype):
        out = k.global_tensor("out", (64, 4), "f32", output=True)
        x = k.fragment("x", registers=registers, dtype=dtype)
        k.mem.st_global(out.box((k.lane, 0), (1, 2)), x.all)

    expect(
        lambda k: build(k, 4, "f32"),
        "StGlobal of 2 elements and 4 registers",
        "a lane moves one element a register",
    )
    expect(
        lambda k: build(k, 2, "u32"),
        "StGlobal of f32 elements and u32 registers",
        "ld and st move bits: convert in a compute, or give both the same type",
    )


def cp_async(k, *, dst=(0, 0), src=(0, 0), shape=(1, 4), bytes=16, dtype="f32", **kw):
    tile = k.smem_tile("tile", (64, 32), "f32")
    source = k.global_tensor("source", (64, 33) if kw.pop("odd", False) else (64, 32), dtype)
    k.cp_async.copy(tile[0].box(dst, shape), source.box(src, shape), bytes=bytes, **kw)


def test_cp_async_copies_exactly_its_bytes():
    expect(
        lambda k: cp_async(k, shape=(1, 8)),
        "cp.async of 16 bytes with a box of 32 bytes in 'tile'",
        "one instruction of a lane copies exactly its bytes",
    )


def test_cp_async_keeps_the_type():
    expect(
        lambda k: cp_async(k, dtype="u32"),
        "cp.async from u32 'source' to f32 'tile'",
        "give both the same type",
    )


def test_cp_async_keeps_at_most_its_bytes():
    expect(
        lambda k: cp_async(k, src_bytes=20),
        "cp.async with src_bytes 20 of 16",
        "keep 0 to 16 bytes; the rest is zero",
        Rule.OUT_OF_BOUNDS,
    )


def test_cp_async_boxes_are_one_run():
    expect(
        lambda k: cp_async(k, shape=(2, 2)),
        "cp.async: the box in 'tile' is not one run of bytes",
        "copy along the innermost dimension",
        Rule.ALIGNMENT,
    )


FIX = "the instruction needs it: move the start, or lay the data out so"


def test_cp_async_addresses_that_are_never_aligned():
    expect(
        lambda k: cp_async(k, dst=(k.lane, 2)),
        "CpAsync: the start in 'tile' is never a multiple of 16 bytes",
        FIX,
        Rule.ALIGNMENT,
    )
    expect(
        lambda k: cp_async(k, src=(k.lane * 4, 4 * k.block_idx % 8 + 1), odd=True),
        "CpAsync: the start in 'source' is never a multiple of 16 bytes",
        FIX,
        Rule.ALIGNMENT,
    )


def test_cp_async_addresses_that_may_be_aligned_are_not_accused():
    k = ScheduleBuilder("good")
    cp_async(k, src=(k.block_idx, k.lane), dst=(k.lane, 4 * k.warp_in_role))
    k.finish()
