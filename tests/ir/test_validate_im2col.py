"""Maps and loads of pixels: exact messages, and what check finds."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError, check, predict
from asyncsim.build.handles import GlobalHandle
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.hw.render import render
from asyncsim.ir.text import schedule_text
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


def strided(k, steps=(2, 1), output=False):
    t = k.global_tensor("t", (64, 32), "f32", output=output)
    return k.tensor_map("m", t, box=(16, 32), element_strides=steps)


def test_element_strides():
    k = ScheduleBuilder("strided")
    m, s = strided(k, (3, 1)), k.smem_tile("s", (6, 32), "f32")
    k.tma.load(s[0], m, (0, 0), barrier(k)[0])
    assert "box 16x32, every 3x1" in schedule_text(k.finish())
    expect(
        lambda k: strided(k, (2,)), "tensor map 'm': 1 element strides", "give 2, one per dimension"
    )
    for make, steps, what in (
        (strided, (1, 2), "the innermost dimension"),
        (lambda k, s: image(k, element_strides=s), (2, 1, 1, 1), "batch and channels"),
        (lambda k, s: image(k, element_strides=s), (1, 1, 1, 2), "batch and channels"),
    ):
        expect(
            lambda k, make=make, steps=steps: make(k, steps),
            f"tensor map 'm': element strides {steps}",
            f"{what} can leave nothing out",
            Rule.TENSOR_MAP,
        )


def test_strides_are_for_loads_of_what_stays_as_it_is():
    def load(k, m, expecting=False):
        s, x = k.smem_tile("s", (8, 32), "f32"), k.fragment("x", registers=1)
        k.tma.load(s[0], m, (0, 0), barrier(k)[0])
        t = GlobalHandle(m.tensor)
        if expecting:
            k.mem.ld_shared(x.all, s[0].box((0, k.lane), (1, 1)).expecting(t.box((0, 0), (1, 1))))
        else:
            k.mem.st_global(t.box((0, k.lane), (1, 1)), x.all)

    def store(k):
        m, s = strided(k, output=True), k.smem_tile("s", (8, 32), "f32")
        with k.elect_thread():
            k.tma.store(m, (0, 0), s[0])

    expect(
        lambda k: load(k, strided(k, output=True)),
        "StGlobal to 't', from which map with element strides 'm' loads",
        "read by it what the kernel does not write",
    )
    expect(
        lambda k: load(k, strided(k), expecting=True),
        "LdShared expects a box in 's', which map with element strides 'm' fills",
        "leave out .expecting(...): what it brings is no box",
    )
    expect(
        store,
        "TmaStore by map 'm', which has element strides",
        "store by a map without: strides are for loads",
        Rule.TENSOR_MAP,
    )
    expect(
        lambda k: k.tma.load(
            k.smem_tile("s", (16, 32), "f32")[0], strided(k), (0, 0), barrier(k)[0]
        ),
        "s view of shape (16, 32) f32, map 'm' has a box of (8, 32) f32",
        "make view and box equal",
        Rule.TENSOR_MAP,
    )


def movable(k, output=False):
    t = k.global_tensor("t", (64, 32), "f32", output=output)
    m = k.tensor_map("m", t, box=(8, 32), in_global=True)
    return m, k.smem_tile("s", (8, 32), "f32"), GlobalHandle(t.decl)


def moved(k, m, **what):
    with k.elect_thread():
        k.tma.replace(m, **what)


@pytest.mark.parametrize(
    ("what", "message", "fix"),
    [
        (
            {"field": "swizzle_mode", "value": 1},
            "tensormap.replace of 'swizzle_mode' by another value",
            "give values for global_address and global_dim; others are written as at first",
        ),
        (
            {"field": "global_dim", "value": 8, "dim": 2},
            "tensormap.replace of dimension 2",
            "the tensor has dimensions 0 to 1",
        ),
    ],
)
def test_what_replace_cannot_write(what, message, fix):
    expect(lambda k: moved(k, movable(k)[0], **what), message, fix)


def test_text_of_changes():
    k = ScheduleBuilder("changes")
    m, _, _ = movable(k)
    moved(k, m, value=k.block_idx * 8)
    moved(k, m, field="global_dim", value=5)
    text = schedule_text(k.finish())
    assert "tensormap.replace.tile.global_address.global.b1024 m, block_idx.x * 8" in text
    assert "tensormap.replace.tile.global_dim.global.b1024 m, 0, 5" in text


def test_where_a_map_that_moves_reads_is_not_followed():
    """So nothing writes its tensor, it stores nothing, and no read says what it expects."""

    def load(k, then):
        m, s, t = movable(k, output=True)
        moved(k, m, value=8)
        k.tma.load(s[0], m, (0, 0), barrier(k)[0])
        then(k, m, s, t, k.fragment("x", registers=1))

    def written(k, m, s, t, x):
        k.mem.st_global(t.box((0, k.lane), (1, 1)), x.all)

    def meant(k, m, s, t, x):
        k.mem.ld_shared(x.all, s[0].box((0, k.lane), (1, 1)).expecting(t.box((0, 0), (1, 1))))

    def stored(k, m, s, t, x):
        with k.elect_thread():
            k.tma.store(m, (0, 0), s[0])

    expect(
        lambda k: load(k, written),
        "StGlobal to 't', from which map 'm', which the kernel moves, loads",
        "read by it what the kernel does not write",
    )
    expect(
        lambda k: load(k, meant),
        "LdShared expects a box in 's', which map 'm', which the kernel moves, fills",
        "leave out .expecting(...): what it brings is no box",
    )
    expect(
        lambda k: load(k, stored),
        "TmaStore to 't', from which map 'm', which the kernel moves, loads",
        "read by it what the kernel does not write",
    )

    def store_alone(k):
        m, s, _ = movable(k, output=True)
        moved(k, m, value=8)
        stored(k, m, s, None, None)

    expect(
        store_alone,
        "TmaStore by map 'm', whose address or extents change",
        "store by a map that stays: where such a store goes is not followed",
        Rule.TENSOR_MAP,
    )


def test_readers_that_do_not_know_loads_along_w():
    s = along_w("im2col::w").finish()
    for reader, run in (
        ("simulate", lambda: predict(s, "b200")),
        ("evaluate", lambda: evaluate(s, make_inputs(s, seed=0))),
        ("render", lambda: render(s, "sm_100a")),
    ):
        with pytest.raises(ScheduleError) as error:
            run()
        assert error.value.message == f"{reader} does not know im2col::w tensor maps ('m') yet"


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


WIDE = {"im2col::w": (16, 1), "im2col::w::128": (128, 4)}  # pixels, and rows for each of a halo


def wide_map(k, mode="im2col::w", **kw):
    options = {"pixels": WIDE[mode][0], "lower": (-1,), "upper": (0,), "swizzle": 128} | kw
    return image(k, mode=mode, **options)


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"lower": (0, 0)}, "corners (0, 0) and (0,)", "each has 1 number, for W alone"),
        (
            {"lower": (-32769,)},
            "corners (-32769,) and (0,)",
            "in im2col::w each number is -32768 to 32767",
        ),
        ({"lower": (8,)}, "no pixels between corners (8,) and (0,)", "move them apart"),
        ({"swizzle": 0}, "im2col::w with swizzle 0", "use the 64- or 128-byte swizzle"),
        (
            {"swizzle": 32, "channels": 8},
            "im2col::w with swizzle 32",
            "use the 64- or 128-byte swizzle",
        ),
        (
            {"mode": "im2col::w::128", "pixels": 64},
            "64 pixels by im2col::w::128",
            "it brings 128: say so",
        ),
    ],
)
def test_constraints_of_maps_along_w(options, what, fix):
    message = f"tensor map 'm': {what}"
    expect(lambda k: wide_map(k, **options), message, fix, Rule.TENSOR_MAP, archs=("sm_100a",))


def along_w(mode, *, halo=0, offset=0, rows=None, size=None, archs=("sm_100a",)):
    """One load along W with a halo, and a read of its last row."""
    k = ScheduleBuilder("along_w", archs=archs)
    k.block(1)
    pixels, runs = WIDE[mode]
    have = pixels + runs * (0 if halo is None else halo) if rows is None else rows
    m, s = wide_map(k, mode), k.smem_tile("s", (have, 32), "f32", swizzle=128)
    full, x = k.mbarriers("full", count=1), k.fragment("x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], have * 128 if size is None else size)
        k.tma.load_im2col(s[0], m, (0, 3, -1, 0), (offset,), full[0], halo=halo)
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    k.mem.ld_shared(x.all, s[0].box((have - 1, k.lane), (1, 1)))
    return k


@pytest.mark.parametrize(("mode", "most"), [("im2col::w", 511), ("im2col::w::128", 31)])
def test_halos_and_offsets_along_w(mode, most):
    for halo, offset in ((0, 0), (most, 31)):
        assert check(along_w(mode, halo=halo, offset=offset).finish()).verdict.value == "clean"
    for halo in (-1, most + 1):
        expect(
            lambda k, halo=halo: along_w(mode, halo=halo).finish(),
            f"{mode} load with a halo of {halo}",
            f"halos are 0 to {most}",
            Rule.TENSOR_MAP,
        )
    expect(
        lambda k: along_w(mode, offset=32).finish(),
        "im2col::w load with offset 32",
        "there offsets are 0 to 31",
        Rule.TENSOR_MAP,
    )


@pytest.mark.parametrize("mode", WIDE)
def test_the_halo_counts_in_rows_and_bytes(mode):
    pixels, runs = WIDE[mode]
    expect(
        lambda k: along_w(mode, halo=2, rows=pixels).finish(),
        f"s view of shape ({pixels}, 32) f32, map 'm' has {pixels + 2 * runs} rows of "
        f"({pixels}, 32) f32",
        f"make the view ({pixels + 2 * runs}, 32)",
        Rule.TENSOR_MAP,
    )
    (finding,) = check(along_w(mode, halo=2, size=pixels * 128).finish()).findings
    assert finding.rule is Rule.TX_BYTES_MISMATCH


def test_only_loads_along_w_have_a_halo():
    expect(
        lambda k: along_w("im2col::w", halo=None, rows=16).finish(),
        "a load by im2col::w map 'm' without a halo",
        "say halo=, 0 for none",
        Rule.TENSOR_MAP,
    )

    def through_space(k):
        m, s = image(k), k.smem_tile("s", (16, 32), "f32")
        k.tma.load_im2col(s[0], m, (0, 0, 0, 0), (0, 0), barrier(k)[0], halo=1)

    expect(
        through_space,
        "a load by im2col map 'm' with a halo",
        "leave out halo=",
        Rule.TENSOR_MAP,
        archs=("sm_100a",),
    )
    expect(
        lambda k: k.tma.load_im2col(
            k.smem_tile("s", (16, 32), "f32", swizzle=128)[0],
            wide_map(k),
            (0, 0, 0, 0),
            (0, 0),
            barrier(k)[0],
            halo=0,
        ),
        "2 offsets along W",
        "give one",
        Rule.TENSOR_MAP,
        archs=("sm_100a",),
    )


def test_the_modes_along_w_are_blackwells():
    error = error_of(lambda k: along_w("im2col::w", archs=("sm_90a",)).finish())
    assert error.message == "TmaLoad does not exist on sm_90a, which the schedule declares"
    error = error_of(lambda k: image(k, mode="im2col::h"))
    assert error.message == "im2col mode 'im2col::h'"
    assert error.fix == "use one of im2col, im2col::w, im2col::w::128"
