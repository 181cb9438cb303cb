"""Tensor maps and tensor copies: exact messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asyncsim import OobFill, Rule, ScheduleBuilder, ScheduleError
from asyncsim.ir.decl import TensorMap
from asyncsim.ir.validate import validate
from tests.ir.wellformed import barrier, error_of, expect


def tensor_map(k, shape=(64, 64), box=(8, 32), dtype="f32", strides=None, **kw):
    return k.tensor_map("m", k.global_tensor("t", shape, dtype, strides=strides), box=box, **kw)


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"box": (8,)}, "box of 1 dimensions, tensor of 2", "make them equal"),
        ({"shape": (2,) * 6, "box": (2,) * 6}, "rank 6", "a map has 1 to 5 dimensions"),
        ({"strides": (1, 64)}, "inner stride 64", "the innermost dimension must be contiguous"),
        ({"strides": (66, 1)}, "stride of 264 bytes", "strides are multiples of 16 bytes"),
        (
            {"strides": (1 << 38, 1)},
            "stride of 1099511627776 bytes",
            "strides are positive and below 2^40 bytes",
        ),
        ({"strides": (0, 1)}, "stride of 0 bytes", "strides are positive and below 2^40 bytes"),
        ({"box": (257, 4), "shape": (512, 4)}, "box (257, 4)", "each extent is at most 256"),
        ({"box": (8, 3)}, "inner extent of 12 bytes", "it must be a multiple of 16 bytes"),
        (
            {"box": (8, 64), "swizzle": 128},
            "inner extent of 256 bytes over the 128-byte swizzle",
            "split the box or widen the swizzle",
        ),
        (
            {"dtype": "u32", "oob_fill": OobFill.NAN},
            "NaN fill for u32",
            "integers can be filled with zero only",
        ),
        (
            {"l2_promotion_bytes": 100},
            "L2 promotion of 100 bytes",
            "use 0, 64, 128 or 256",
        ),
        (
            {"shape": ((1 << 32) + 1, 4), "box": (8, 4)},
            "tensor of shape (4294967297, 4)",
            "each extent is at most 2^32",
        ),
    ],
)
def test_tensor_map_constraints(options, what, fix):
    expect(lambda k: tensor_map(k, **options), f"tensor map 'm': {what}", fix, Rule.TENSOR_MAP)


def test_element_strides_of_a_map():
    k = ScheduleBuilder("strides")
    tensor_map(k)
    s = k.finish()
    decls = tuple(
        replace(d, element_strides=(1, 9)) if isinstance(d, TensorMap) else d for d in s.decls
    )
    with pytest.raises(ScheduleError) as caught:
        validate(replace(s, decls=decls, _by_name={}))
    assert caught.value.message == "tensor map 'm': element strides (1, 9)"
    assert caught.value.fix == "each is 1 to 8"


def load(k, *, tile=(8, 32), at=None, box=(8, 32), swizzle=0, map_swizzle=0, dtype="f32"):
    m = tensor_map(k, box=box, swizzle=map_swizzle)
    s = k.smem_tile("s", tile, dtype, swizzle=swizzle)
    view = s[0] if at is None else s[0].box(at, box)
    k.tma.load(view, m, (0, 0), barrier(k)[0])


def test_box_and_view_agree():
    expect(
        lambda k: load(k, tile=(16, 32)),
        "s view of shape (16, 32) f32, map 'm' has a box of (8, 32) f32",
        "make view and box equal",
        Rule.TENSOR_MAP,
    )
    expect(
        lambda k: load(k, dtype="u32"),
        "s view of shape (8, 32) u32, map 'm' has a box of (8, 32) f32",
        "make view and box equal",
        Rule.TENSOR_MAP,
    )


def test_swizzle_of_tile_and_map_agree():
    expect(
        lambda k: load(k, swizzle=128),
        "tile 's' has swizzle 128, map 'm' 0",
        "give both the same swizzle",
        Rule.TENSOR_MAP,
    )


def test_box_is_written_without_gaps():
    expect(
        lambda k: load(k, tile=(8, 64), at=(0, 0)),
        "box of (8, 32) inside tile 's' of (8, 64): a tensor copy writes it without gaps",
        "give it whole rows of the tile, or a tile of its own",
        Rule.TENSOR_MAP,
    )


def test_box_starts_where_the_swizzle_does():
    expect(
        lambda k: load(k, tile=(16, 32), at=(4, 0), swizzle=128, map_swizzle=128),
        "TmaLoad: the start in 's' is never a multiple of 1024 bytes",
        "the instruction needs it: move the start, or lay the data out so",
        Rule.ALIGNMENT,
    )
    k = ScheduleBuilder("good")
    load(k, tile=(16, 32), at=(8, 0), swizzle=128, map_swizzle=128)
    k.finish()


def test_store_is_checked_like_a_load():
    def build(k):
        k.tma.store(tensor_map(k), (0, 0), k.smem_tile("s", (8, 32), "f32", swizzle=128)[0])

    assert error_of(build).message == "tile 's' has swizzle 128, map 'm' 0"
