"""Maps with element strides, and maps that the kernel changes: exact messages."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder
from asyncsim.build.handles import GlobalHandle
from asyncsim.ir.text import schedule_text
from tests.ir.test_validate_im2col import image
from tests.ir.wellformed import barrier, expect


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
