"""Regions are exact sets of bytes: against brute force over every byte's address."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsim.ir.decl import Mbarrier, SmemTile, Swizzle
from asyncsim.ir.dtype import DType
from asyncsim.memory.region import (
    GlobalBox,
    RegisterRegion,
    SmemRegion,
    mbarrier_region,
    tile_region,
)
from asyncsim.memory.swizzle import REPEAT_BYTES, swizzled

CHUNKS = {Swizzle.NONE: 1, Swizzle.B32: 2, Swizzle.B64: 4, Swizzle.B128: 8}


def physical(address: int, mode: Swizzle) -> int:
    """A byte's place: its 16-byte chunk within the span is XORed with the 128-byte row."""
    chunk, byte = divmod(address, 16)
    span, place = divmod(chunk, CHUNKS[mode])
    return 16 * (span * CHUNKS[mode] + (place ^ (address // 128 % CHUNKS[mode]))) + byte


def tile(shape, dtype, mode, *, offset=0, stages=1, align=None) -> SmemTile:
    return SmemTile(
        name="t",
        shape=shape,
        dtype=dtype,
        stages=stages,
        swizzle=mode,
        align=align or max(128, REPEAT_BYTES[mode]),
        offset=offset,
    )


def brute(t: SmemTile, stage: int, start, shape) -> set[int]:
    """The bytes of a box, element by element."""
    strides = [t.dtype.bytes]
    for extent in reversed(t.shape[1:]):
        strides.insert(0, strides[0] * extent)
    base = t.offset + stage * t.stage_stride
    found = set()
    for index in product(*(range(a, a + n) for a, n in zip(start, shape, strict=True))):
        element = base + sum(i * s for i, s in zip(index, strides, strict=True))
        found |= {physical(element + b, t.swizzle) for b in range(t.dtype.bytes)}
    return found


def bytes_of(region: SmemRegion) -> set[int]:
    return {region.low + i for i in range(region.mask.bit_length()) if region.mask >> i & 1}


@pytest.mark.parametrize("mode", list(Swizzle))
def test_swizzle_permutes_chunks_inside_its_repeat(mode):
    repeat = REPEAT_BYTES[mode]
    for base in (0, 3 * repeat, 8 * 1024):
        addresses = range(base, base + repeat)
        images = [swizzled(a, mode) for a in addresses]
        assert images == [physical(a, mode) for a in addresses]
        assert sorted(images) == list(addresses)


@pytest.mark.parametrize("k0", [0, 16, 32, 48])
@pytest.mark.parametrize("stage", [0, 2])
def test_a_128_byte_swizzled_k_slice_is_exact_to_the_byte(k0, stage):
    t = tile((128, 64), DType.BF16, Swizzle.B128, offset=4096, stages=3)
    region = tile_region(t, 0, stage, (64, k0), (64, 16))
    assert region.bytes == 64 * 16 * 2
    assert bytes_of(region) == brute(t, stage, (64, k0), (64, 16))


def test_disjoint_k_slices_of_one_stage_do_not_overlap_and_cover_it_together():
    t = tile((64, 64), DType.BF16, Swizzle.B128)
    slices = [tile_region(t, 0, 0, (0, k), (64, 16)) for k in range(0, 64, 16)]
    whole = tile_region(t, 0, 0, (0, 0), (64, 64))
    for i, a in enumerate(slices):
        assert whole.covers(a)
        for b in slices[i + 1 :]:
            assert not a.overlaps(b)
            assert bytes_of(a).isdisjoint(bytes_of(b))
    assert set().union(*map(bytes_of, slices)) == bytes_of(whole) == set(range(64 * 128))


@st.composite
def boxes(draw):
    mode = draw(st.sampled_from(list(Swizzle)))
    dtype = draw(st.sampled_from([DType.U8, DType.BF16, DType.F32]))
    columns = mode.value // dtype.bytes if mode.value else draw(st.integers(1, 24))
    shape = (draw(st.integers(1, 24)), columns)
    if draw(st.booleans()):
        shape = (draw(st.integers(1, 3)), *shape)
    stages = draw(st.integers(1, 3))
    repeat = REPEAT_BYTES[mode]
    t = tile(shape, dtype, mode, offset=max(128, repeat) * draw(st.integers(0, 5)), stages=stages)
    box = []
    for _ in range(2):
        extent = [draw(st.integers(1, n)) for n in shape]
        start = tuple(draw(st.integers(0, n - e)) for n, e in zip(shape, extent, strict=True))
        box.append((draw(st.integers(0, stages - 1)), start, tuple(extent)))
    return t, box


@settings(max_examples=150, deadline=None)
@given(boxes())
def test_any_box_of_any_swizzle_is_exact_and_overlap_and_cover_follow_the_bytes(case):
    t, ((stage_a, start_a, shape_a), (stage_b, start_b, shape_b)) = case
    a = tile_region(t, 0, stage_a, start_a, shape_a)
    b = tile_region(t, 0, stage_b, start_b, shape_b)
    bytes_a, bytes_b = brute(t, stage_a, start_a, shape_a), brute(t, stage_b, start_b, shape_b)
    assert bytes_of(a) == bytes_a
    assert bytes_of(b) == bytes_b
    assert a.overlaps(b) is b.overlaps(a) is (not bytes_a.isdisjoint(bytes_b))
    assert a.covers(b) is (bytes_b <= bytes_a)


REGIONS = st.builds(
    SmemRegion,
    owner=st.integers(0, 1),
    name=st.just("x"),
    low=st.integers(0, 24),
    mask=st.integers(1, (1 << 20) - 1).map(lambda m: m | 1),
)


@given(REGIONS, REGIONS, REGIONS)
def test_overlap_and_cover_are_set_algebra(a, b, c):
    same = a.owner == b.owner
    assert a.overlaps(b) is (same and not bytes_of(a).isdisjoint(bytes_of(b)))
    assert a.covers(b) is (same and bytes_of(b) <= bytes_of(a))
    assert a.covers(a)
    assert a.overlaps(a)
    if a.covers(b) and b.covers(c):
        assert a.covers(c)
    if a.covers(b) and b.overlaps(c):
        assert a.overlaps(c)


def test_regions_of_different_ctas_and_kinds_never_overlap():
    smem = SmemRegion(0, "x", 0, 0xFF)
    box = GlobalBox("x", (0,), (8,))
    registers = RegisterRegion(0, 0, "x", 0xFF)
    regions = [smem, SmemRegion(1, "x", 0, 0xFF), box, GlobalBox("y", (0,), (8,)), registers]
    regions += [RegisterRegion(0, 1, "x", 0xFF), RegisterRegion(1, 0, "x", 0xFF)]
    for i, a in enumerate(regions):
        for j, b in enumerate(regions):
            assert a.overlaps(b) is (i == j)
            assert a.covers(b) is (i == j)


BOXES = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4), st.integers(1, 4)).map(
    lambda v: GlobalBox("g", v[:2], v[2:])
)


@given(BOXES, BOXES)
def test_global_boxes_are_sets_of_elements(a, b):
    def elements(box):
        return set(product(*(range(s, s + n) for s, n in zip(box.start, box.shape, strict=True))))

    assert a.elements == len(elements(a))
    assert a.overlaps(b) is (not elements(a).isdisjoint(elements(b)))
    assert a.covers(b) is (elements(b) <= elements(a))


def test_registers_overlap_bit_by_bit():
    low, high = RegisterRegion(0, 0, "acc", 0b0011), RegisterRegion(0, 0, "acc", 0b1100)
    both = RegisterRegion(0, 0, "acc", 0b1111)
    assert not low.overlaps(high)
    assert both.overlaps(low)
    assert both.covers(high)
    assert not high.covers(both)


def test_mbarriers_are_eight_bytes_each():
    b = Mbarrier(name="full", count=1, stages=4, offset=65536)
    assert bytes_of(mbarrier_region(b, 0, 3)) == set(range(65536 + 24, 65536 + 32))


def test_regions_print_what_they_are():
    assert str(SmemRegion(0, "ring", 128, 0xFFFF)) == "ring[128..143]"
    assert str(GlobalBox("a", (0, 64), (128, 16))) == "a[0:128, 64:80]"
    assert str(RegisterRegion(0, 3, "acc", 1)) == "acc registers of warp 3"
