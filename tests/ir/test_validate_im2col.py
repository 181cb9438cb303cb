"""Maps and loads of pixels: exact messages, and what check finds."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, check
from asyncsim.build.handles import GlobalHandle
from tests.ir.wellformed import barrier, error_of, expect

SHAPES = {3: (2, 8, 32), 4: (2, 8, 8, 32), 5: (2, 8, 8, 8, 32)}
RANGES = {3: (-32768, 32767), 4: (-128, 127), 5: (-16, 15)}
OFFSETS = {3: 65535, 4: 255, 5: 31}


def image(k, shape=SHAPES[4], pixels=16, channels=32, lower=(-1, -1), upper=(-1, -1), **kw):
    t = k.global_tensor("t", shape, "f32", output=kw.pop("output", False))
    corners = {"lower": lower, "upper": upper}
    return k.im2col_map("m", t, pixels=pixels, channels=channels, **corners, **kw)


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"shape": (8, 32)}, "im2col of rank 2", "the tensor has 3 to 5 dimensions"),
        ({"shape": (1,) * 5 + (32,)}, "im2col of rank 6", "the tensor has 3 to 5 dimensions"),
        ({"pixels": 1025}, "1025 pixels", "a load brings at most 1024"),
        ({"channels": 260}, "260 channels", "a load brings at most 256"),
        ({"channels": 3}, "inner extent of 12 bytes", "it must be a multiple of 16 bytes"),
        (
            {"swizzle": 64},
            "inner extent of 128 bytes over the 64-byte swizzle",
            "split the box or widen the swizzle",
        ),
        (
            {"lower": (0,)},
            "corners (0,) and (-1, -1)",
            "each has 2 numbers, for the dimensions between batch and channels",
        ),
        (
            {"lower": (0, 2), "upper": (0, -6)},
            "no pixels between corners (0, 2) and (0, -6)",
            "move them apart",
        ),
    ],
)
def test_constraints_of_im2col_maps(options, what, fix):
    expect(lambda k: image(k, **options), f"tensor map 'm': {what}", fix, Rule.TENSOR_MAP)


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_ranges_of_corners(rank):
    low, high = RANGES[rank]
    zeros, shape = (0,) * (rank - 2), (2, *(2 - low for _ in range(rank - 2)), 32)
    image(k := ScheduleBuilder("good"), shape, lower=(low,) * (rank - 2), upper=(low,) * (rank - 2))
    k.finish()
    image(k := ScheduleBuilder("good"), shape, lower=zeros, upper=(high,) * (rank - 2))
    k.finish()
    for lower, upper in (((low - 1,) * (rank - 2), zeros), (zeros, (high + 1,) * (rank - 2))):
        expect(
            lambda k, lower=lower, upper=upper: image(k, shape, lower=lower, upper=upper),
            f"tensor map 'm': corners {lower} and {upper}",
            f"at rank {rank} each number is {low} to {high}",
            Rule.TENSOR_MAP,
        )


def loaded(rank=4, offsets=None, *, size=2048, wait=True):
    """One load of 16 pixels of 32 channels, and its read."""
    k = ScheduleBuilder("pixels")
    k.block(1)
    ones = (1,) * (rank - 2)
    m = image(k, SHAPES[rank], lower=tuple(-i for i in ones), upper=tuple(-i for i in ones))
    s, full = k.smem_tile("s", (16, 32), "f32"), k.mbarriers("full", count=1)
    x = k.fragment("x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], size)
        k.tma.load_im2col(s[0], m, (0,) * rank, ones if offsets is None else offsets, full[0])
    k.bar.sync()
    if wait:
        k.mbarrier.wait(full[0], 0)
    k.mem.ld_shared(x.all, s[0].box((3, k.lane), (1, 1)))
    return k


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_offsets_of_a_load(rank):
    last = (OFFSETS[rank],) * (rank - 2)
    assert check(loaded(rank, last).finish()).verdict.value == "clean"
    expect(
        lambda k: loaded(rank, (OFFSETS[rank] + 1,) * (rank - 2)).finish(),
        f"im2col load with offset {OFFSETS[rank] + 1}",
        f"at rank {rank} offsets are 0 to {OFFSETS[rank]}",
        Rule.TENSOR_MAP,
    )
    expect(
        lambda k: loaded(rank, (0,) * (rank - 1)).finish(),
        f"{rank - 1} offsets for a tensor of rank {rank}",
        f"give {rank - 2}, one per dimension between batch and channels",
        Rule.TENSOR_MAP,
    )


def test_what_check_finds():
    def rules(k):
        return [f.rule for f in check(k.finish()).findings]

    assert rules(loaded()) == []
    assert rules(loaded(size=1024)) == [Rule.TX_BYTES_MISMATCH]
    assert rules(loaded(wait=False)) == [Rule.READ_BEFORE_ARRIVAL]


def test_an_offset_that_is_known_when_it_runs():
    k = ScheduleBuilder("filter")
    k.block(1)
    m, s = image(k), k.smem_tile("s", (16, 32), "f32")
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        with k.loop(2) as i:
            k.mbarrier.arrive_expect_tx(full[0], 2048)
            k.tma.load_im2col(s[0], m, (0, 0, 0, 0), (0, i * 256), full[0])
            k.mbarrier.wait(full[0], i % 2)
    (finding,) = check(k.finish()).findings
    assert finding.rule is Rule.TENSOR_MAP
    assert finding.message == "im2col load with offset 256"


def test_boxes_and_pixels_are_not_mixed_up():
    error = error_of(lambda k: k.tma.prefetch(image(k), (0, 0, 0, 0)))
    assert error.message == "'m' is an im2col map, which has no boxes"
    assert error.fix == "load by it with k.tma.load_im2col"

    def boxes(k):
        m = k.tensor_map("m", k.global_tensor("t", SHAPES[3], "f32"), box=(1, 1, 32))
        s = k.smem_tile("s", (1, 32), "f32")
        k.tma.load_im2col(s[0], m, (0, 0, 0), (0,), barrier(k)[0])

    error = error_of(boxes)
    assert (error.message, error.fix) == ("'m' is a map of boxes", "declare it with k.im2col_map")


def test_a_tensor_that_is_written_is_not_loaded_by_pixels():
    def build(k):
        m, s = image(k, output=True), k.smem_tile("s", (16, 32), "f32")
        k.tma.load_im2col(s[0], m, (0, 0, 0, 0), (0, 0), barrier(k)[0])
        x, t = k.fragment("x", registers=1), GlobalHandle(m.tensor)
        k.mem.st_global(t.box((0, 0, 0, k.lane), (1, 1, 1, 1)), x.all)

    expect(
        build,
        "StGlobal to 't', from which im2col map 'm' loads",
        "read by it what the kernel does not write",
    )


def test_no_read_expects_a_box_of_pixels():
    def build(k):
        m, s = image(k), k.smem_tile("s", (16, 32), "f32")
        k.tma.load_im2col(s[0], m, (0, 0, 0, 0), (0, 0), barrier(k)[0])
        x, u = k.fragment("x", registers=1), k.global_tensor("u", (16, 32), "f32")
        there = s[0].expecting(u.box((0, 0), (16, 32)))
        k.mem.ld_shared(x.all, there.box((0, k.lane), (1, 1)))

    expect(
        build,
        "LdShared expects a box in 's', which im2col map 'm' fills",
        "leave out .expecting(...): what it brings is no box",
    )
