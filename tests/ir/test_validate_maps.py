"""Tensor maps that are not plain boxes of a plain tensor: exact messages, and what check finds."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, check
from tests.ir.wellformed import barrier, error_of, expect


def sliced(k, shape=(4, 2, 16, 4), box=(1, 1, 8, 4), strides=None, **kw):
    kw = {"interleave": 16, **kw}
    return k.tensor_map("m", k.global_tensor("t", shape, "f32", strides=strides), box=box, **kw)


WIDE = {"interleave": 32, "shape": (4, 2, 16, 8), "box": (1, 1, 8, 8)}


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        (
            {"shape": (2, 16, 4), "box": (1, 8, 4)},
            "interleave and rank 3",
            "there are 3 to 5 dimensions before that of a slice",
        ),
        (
            {"shape": (4, 2, 2, 2, 2, 16, 4), "box": (1, 1, 1, 1, 1, 8, 4)},
            "interleave and rank 7",
            "there are 3 to 5 dimensions before that of a slice",
        ),
        (
            WIDE | {"swizzle": 128},
            "slices of 32 bytes with swizzle 128",
            "they need the 32-byte swizzle",
        ),
        (
            {"interleave": 32, "swizzle": 32},
            "slices of 32 bytes, a last dimension of 4 f32 and 4 of them in the box",
            "the last dimension, of tensor and box, is one slice",
        ),
        (
            {"shape": (4, 2, 16, 8), "box": (1, 1, 8, 4)},
            "slices of 16 bytes, a last dimension of 8 f32 and 4 of them in the box",
            "the last dimension, of tensor and box, is one slice",
        ),
        (
            {"strides": (256, 128, 8, 1)},
            "slices of 16 bytes, 32 bytes apart",
            "along the dimension before the last they lie side by side",
        ),
        (
            WIDE | {"swizzle": 32, "strides": (264, 132, 8, 1)},
            "stride of 528 bytes",
            "strides are multiples of 32 bytes",
        ),
        (
            {"box": (1, 2, 8, 4)},
            "box (1, 2, 8, 4) of slices",
            "of the second dimension, that of the channels' slices, a copy takes 1",
        ),
        (
            {"box": (1, 1, 6, 4)},
            "box of 6 slices of f32",
            "the driver wants a multiple of 4 of them",
        ),
        (
            {"element_strides": (1, 1, 1, 2)},
            "element strides (1, 1, 1, 2)",
            "the innermost dimension can leave nothing out",
        ),
    ],
)
def test_constraints_of_interleaved_maps(options, what, fix):
    expect(lambda k: sliced(k, **options), f"tensor map 'm': {what}", fix, Rule.TENSOR_MAP)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_slices_of_16_bytes_with_any_swizzle(swizzle):
    k = ScheduleBuilder("good")
    sliced(k, swizzle=swizzle, element_strides=(1, 1, 2, 1))
    k.finish()


def test_interleave_is_16_or_32_bytes():
    error = error_of(lambda k: sliced(k, interleave=8))
    assert (error.message, error.fix) == ("interleave 8", "use 0, 16 or 32 (bytes)")


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_copy_begins_with_a_slice(rank):
    """A load, a store or a prefetch by one that begins inside it."""

    def inside(k):
        m, place = sliced(k), (0, 0, 0, 2)
        tile = k.smem_tile("tile", (1, 1, 8, 4), "f32")[0]
        if rank == 1:
            k.tma.load(tile, m, place, barrier(k)[0])
        elif rank == 2:
            k.tma.store(m, place, tile)
        else:
            k.tma.prefetch(m, place)

    op = {1: "TmaLoad", 2: "TmaStore", 3: "TmaPrefetch"}[rank]
    expect(
        inside,
        f"{op} by interleaved map 'm' begins inside a slice",
        "give 0 as the last coordinate: a copy takes whole slices",
        Rule.TENSOR_MAP,
    )


@pytest.mark.parametrize("reduce", [None, "add"])
def test_slices_are_not_written_before_the_tensor(reduce):
    """It traps, whichever the dimension; a load from there is filled, the far end is clipped."""

    def write(k, place):
        m, tile = sliced(k), k.smem_tile("tile", (1, 1, 8, 4), "f32")[0]
        with k.elect_thread():
            if reduce:
                k.tma.reduce(m, place(k), tile, op=reduce)
            else:
                k.tma.store(m, place(k), tile)

    for d, place in (
        (2, lambda k: (0, 0, -8, 0)),
        (0, lambda k: (k.block_idx - 1, 0, 0, 0)),
        (1, lambda k: (0, -k.block_idx, 0, 0)),
    ):
        expect(
            lambda k, place=place: write(k, place),
            f"TmaStore by interleaved map 'm' begins before the tensor in dimension {d}, "
            "for all that is known",
            "give a coordinate without minus signs: of the block, of loop variables",
            Rule.TENSOR_MAP,
        )
    k = ScheduleBuilder("inside")
    k.block(1)
    k.grid(4)
    with k.loop(2) as i:
        write(k, lambda k: (k.block_idx % 4, i, 8 * i + 12, 0))
    k.finish()


def test_the_swizzle_of_slices_is_that_of_their_bytes():
    """Slices of 16 bytes lie side by side under a swizzle of 128; other rows fill it."""

    def tile_of(k, m):
        tile = k.smem_tile("tile", (1, 1, 8, 4), "f32", swizzle=128, align=1024)
        k.tma.load(tile[0], m, (0, 0, 0, 0), barrier(k)[0])

    k = ScheduleBuilder("slices")
    tile_of(k, sliced(k, swizzle=128))
    k.finish()
    expect(
        lambda k: tile_of(k, sliced(k, swizzle=128, interleave=0)),
        "tile 'tile' has rows of 16 bytes under a 128-byte swizzle",
        "make a row exactly as long as the swizzle",
        Rule.ALIGNMENT,
    )


def test_a_slice_is_not_a_dimension_that_a_map_changes():
    def replaced(k):
        with k.elect_thread():
            k.tma.replace(sliced(k, in_global=True), field="global_dim", dim=3, value=1)

    expect(replaced, "tensormap.replace of dimension 3", "the tensor has dimensions 0 to 2", None)


def copied(k, m, tile, start, size):
    """A copy by one thread into a tile, and its wait."""
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], size)
        k.tma.load(tile[0], m, start, full[0])
        k.mbarrier.wait(full[0], 0)


def slice_copy(size):
    k = ScheduleBuilder("slices")
    k.block(1)
    tile = k.smem_tile("tile", (1, 1, 8, 4), "f32")
    copied(k, sliced(k), tile, (0, 1, 8, 0), size)
    return k.finish()


def test_check_counts_the_bytes_of_a_slice():
    assert check(slice_copy(128)).verdict.value == "clean"
    assert [f.rule for f in check(slice_copy(256)).findings] == [Rule.TX_BYTES_MISMATCH]


SM_100A = ("sm_100a",)


def row_map(k, box=(1, 32), output=False):
    return k.tensor_map("m", k.global_tensor("t", (64, 32), "f32", output=output), box=box)


def gather(k, *, tile=(4, 32), box=(1, 32), rows=(0, 9, 3, 3), elect=True):
    m, s = row_map(k, box), k.smem_tile("s", tile, "f32")
    full = k.mbarriers("full", count=1)
    if not elect:
        k.tma.gather4(s[0], m, rows, 0, full[0])
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.tma.gather4(s[0], m, rows, 0, full[0])


@pytest.mark.parametrize(
    ("options", "message", "fix", "rule"),
    [
        (
            {"box": (4, 32)},
            "gather4 by map 'm' with a box of (4, 32)",
            "it takes a map of 2 dimensions whose box is one row",
            Rule.TENSOR_MAP,
        ),
        (
            {"tile": (1, 32)},
            "s view of shape (1, 32) f32, map 'm' has 4 rows of (1, 32) f32",
            "make the view (4, 32)",
            Rule.TENSOR_MAP,
        ),
        (
            {"elect": False},
            "gather4 by several lanes",
            "put it into k.elect() or k.elect_thread()",
            None,
        ),
        ({"rows": (1, 2, 3)}, "3 rows", "gather4 and scatter4 take 4", None),
    ],
)
def test_what_gather4_takes(options, message, fix, rule):
    expect(lambda k: gather(k, **options), message, fix, rule, archs=SM_100A)


def test_gather4_begins_with_sm_100a():
    expect(
        gather,
        "TmaLoad does not exist on sm_90a, which the schedule declares",
        "declare archs among sm_100a, sm_103a",
    )


SOURCES = (5, 40, 5, 63)


def rows_copied(*, size=512, meant=SOURCES, targets=(0, 9, 3, 1)):
    """Four rows of one tensor, gathered, read by the threads, and scattered to another."""
    k = ScheduleBuilder("rows", archs=SM_100A)
    k.block(1)
    source = k.global_tensor("t", (64, 32), "f32")
    target = k.global_tensor("u", (64, 32), "f32", output=True)
    m, out = k.tensor_map("m", source, box=(1, 32)), k.tensor_map("out", target, box=(1, 32))
    s = k.smem_tile("s", (8, 32), "f32")
    full, x = k.mbarriers("full", count=1), k.fragment("x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], size)
        k.tma.gather4(s[0].box((4, 0), (4, 32)), m, SOURCES, 0, full[0])
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    for i, row in enumerate(meant):
        there = s[0].box((4 + i, 0), (1, 32)).expecting(source.box((row, 0), (1, 32)))
        k.mem.ld_shared(x.all, there.box((0, k.lane), (1, 1)))
    with k.elect_thread():
        k.tma.scatter4(out, targets, 0, s[0].box((4, 0), (4, 32)))
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    return k.finish()


def rules(schedule):
    return [f.rule for f in check(schedule).findings]


def test_gathered_rows_are_what_is_read():
    assert check(rows_copied()).verdict.value == "clean"
    assert rules(rows_copied(meant=(5, 40, 6, 63))) == [Rule.WRONG_TILE]


def test_bytes_of_four_rows_count():
    assert rules(rows_copied(size=128)) == [Rule.TX_BYTES_MISMATCH]


def test_rows_of_a_scatter_are_apart():
    schedule = rows_copied(targets=(0, 9, 3, 9))
    (finding,) = check(schedule).findings
    assert finding.rule is Rule.WRITE_WRITE_RACE
    assert finding.message == ("TMA scatter s -> u writes u[9:10, 0:32] twice: which stays is open")
    assert check(rows_copied(targets=(0, 64, 3, 64))).verdict.value == "clean"  # both outside


def scattered(*rows):
    """Each of four CTAs scatters to rows of its own: functions of its index."""
    k = ScheduleBuilder("scattered", archs=SM_100A)
    k.block(1)
    k.grid(4)
    out, s, x = (
        row_map(k, output=True),
        k.smem_tile("s", (4, 32), "f32"),
        k.fragment("x", registers=1),
    )
    k.mem.ld_global(x.all, k.global_tensor("v", (1, 32), "f32").box((0, k.lane), (1, 1)))
    for row in range(4):
        k.mem.st_shared(s[0].box((row, k.lane), (1, 1)), x.all)
    k.fence.proxy_async("shared")
    k.bar.warp_sync()
    with k.elect_thread():
        k.tma.scatter4(out, tuple(row(k.block_idx) for row in rows), 0, s[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    return k.finish()


def test_rows_of_other_ctas():
    alike = [lambda b, i=i: 4 * b + i for i in range(4)]
    assert check(scattered(*alike)).verdict.value == "clean"
    shared = [*alike[:3], lambda b: 4 * b + 4]
    assert rules(scattered(*shared)) == [Rule.GLOBAL_WRITE_OVERLAP]
    apart = [lambda b: b, lambda b: 4 + 2 * b, lambda b: 11 - 2 * b, lambda b: 60 + b]
    assert check(scattered(*apart)).verdict.value == "clean"
    crossing = [lambda b: b, lambda b: 4 + 2 * b, lambda b: 10 - 2 * b, lambda b: 60 + b]
    assert rules(scattered(*crossing)) == [Rule.GLOBAL_WRITE_OVERLAP]


def multicast_rows(meant):
    """CTA 0 gathers four rows for both CTAs of a cluster."""
    k = ScheduleBuilder("rows", archs=SM_100A)
    k.grid(2)
    k.cluster(2)
    k.block(1)
    source = k.global_tensor("t", (64, 32), "f32")
    m, s = k.tensor_map("m", source, box=(1, 32)), k.smem_tile("s", (4, 32), "f32")
    full, x = k.mbarriers("full", count=1), k.fragment("x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 512)
    k.cluster_barrier.sync()
    with k.when(k.cta_rank == 0), k.elect_thread():
        k.tma.gather4(s[0], m, SOURCES, 0, full[0], multicast=3)
    k.mbarrier.wait(full[0], 0)
    there = s[0].box((2, 0), (1, 32)).expecting(source.box((meant, 0), (1, 32)))
    k.mem.ld_shared(x.all, there.box((0, k.lane), (1, 1)))
    k.cluster_barrier.sync()
    return k.finish()


def test_gathered_rows_reach_every_cta():
    assert check(multicast_rows(SOURCES[2])).verdict.value == "clean"
    assert set(rules(multicast_rows(SOURCES[1]))) == {Rule.WRONG_TILE}


@pytest.mark.parametrize("op", ["TmaLoad", "TmaStore", "TmaPrefetch"])
@pytest.mark.parametrize("column", [1, 2, -1, 31])
def test_an_innermost_coordinate_is_a_multiple_of_16_bytes(op, column):
    """An H200 traps on others, wherever the box lies."""

    def copy(k, column):
        k.block(1)
        m = k.tensor_map("m", k.global_tensor("t", (8, 64), "f32", output=True), box=(8, 32))
        tile = k.smem_tile("tile", (8, 32), "f32")[0]
        if op == "TmaLoad":
            k.tma.load(tile, m, (1, column), barrier(k)[0])
        elif op == "TmaStore":
            k.tma.store(m, (1, column), tile)
        else:
            k.tma.prefetch(m, (1, column))

    expect(
        lambda k: copy(k, column),
        f"{op}: the start in 't' is never a multiple of 16 bytes",
        "the instruction needs it: move the start, or lay the data out so",
        Rule.ALIGNMENT,
    )
    copy(good := ScheduleBuilder("good"), 4 * column)
    good.finish()


def test_innermost_coordinates_that_a_stream_decides():
    k = ScheduleBuilder("late")
    k.block(1)
    m = k.tensor_map("m", k.global_tensor("t", (8, 64), "f32"), box=(8, 32))
    with k.loop(3) as i:
        k.tma.prefetch(m, (0, 2 * i))
    result = check(k.finish())
    (finding,) = result.findings
    assert finding.rule is Rule.ALIGNMENT
    assert finding.message == ("TmaPrefetch: the start in 't' is 8 bytes, no multiple of 16")
