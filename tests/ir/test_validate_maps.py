"""Tensor maps that are not plain boxes of a plain tensor: exact messages, and what check finds."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError, check, predict
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.hw.render import render
from tests.ir.wellformed import error_of, expect


def sliced(k, shape=(4, 16, 64), box=(1, 8, 4), strides=None, **kw):
    kw = {"interleave": 16, **kw}
    return k.tensor_map("m", k.global_tensor("t", shape, "f32", strides=strides), box=box, **kw)


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        (
            {"shape": (16, 64), "box": (8, 4)},
            "interleave and rank 2",
            "interleaved maps have 3 to 5 dimensions",
        ),
        (
            {"interleave": 32, "box": (1, 8, 8), "swizzle": 128},
            "slices of 32 bytes with swizzle 128",
            "they need the 32-byte swizzle",
        ),
        (
            {"interleave": 32, "box": (1, 8, 4), "swizzle": 32},
            "inner extent of 16 bytes",
            "it must be a multiple of 32 bytes",
        ),
        (
            {"interleave": 32, "box": (1, 8, 8), "swizzle": 32, "strides": (1024, 68, 1)},
            "stride of 272 bytes",
            "strides are multiples of 32 bytes",
        ),
        ({"box": (1, 8, 8)}, "32 bytes of channels in slices of 16", "load slice by slice"),
    ],
)
def test_constraints_of_interleaved_maps(options, what, fix):
    expect(lambda k: sliced(k, **options), f"tensor map 'm': {what}", fix, Rule.TENSOR_MAP)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_slices_of_16_bytes_with_any_swizzle(swizzle):
    k = ScheduleBuilder("good")
    sliced(k, swizzle=swizzle)
    k.finish()


def test_interleave_is_16_or_32_bytes():
    error = error_of(lambda k: sliced(k, interleave=8))
    assert (error.message, error.fix) == ("interleave 8", "use 0, 16 or 32 (bytes)")


def test_a_tensor_lies_in_one_layout():
    def two_maps(k):
        t = k.global_tensor("t", (4, 16, 64), "f32")
        k.tensor_map("plain", t, box=(1, 8, 4))
        k.tensor_map("m", t, box=(1, 8, 4), interleave=16)

    expect(
        two_maps,
        "tensor maps 'm' and 'plain' of 't' interleave differently",
        "a tensor lies in one layout: give all its maps the same interleave",
        Rule.TENSOR_MAP,
    )

    def plain_access(k):
        t = k.global_tensor("t", (4, 16, 64), "f32")
        k.tensor_map("m", t, box=(1, 8, 4), interleave=16)
        k.mem.ld_global(k.fragment("x", registers=1).all, t.box((0, 0, k.lane), (1, 1, 1)))

    expect(
        plain_access,
        "LdGlobal of 't', which map 'm' interleaves",
        "access an interleaved tensor by its tensor maps only",
        Rule.TENSOR_MAP,
    )


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
    tile = k.smem_tile("tile", (1, 8, 4), "f32")
    copied(k, sliced(k), tile, (0, 8, 4), size)
    return k.finish()


def test_check_counts_the_bytes_of_a_slice():
    assert check(slice_copy(128)).verdict.value == "clean"
    assert [f.rule for f in check(slice_copy(256)).findings] == [Rule.TX_BYTES_MISMATCH]


def test_readers_that_do_not_know_interleaved_maps():
    s = slice_copy(128)
    for reader, run in (
        ("simulate", lambda: predict(s, "h200")),
        ("evaluate", lambda: evaluate(s, make_inputs(s, seed=0))),
        ("render", lambda: render(s, "sm_90a")),
    ):
        with pytest.raises(ScheduleError) as error:
            run()
        assert error.value.message == (f"{reader} does not know interleaved tensor maps ('m') yet")


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
            "it takes a map of 2 dimensions, without interleave, whose box is one row",
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
