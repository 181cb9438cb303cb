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
