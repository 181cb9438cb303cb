"""Maps and loads along w: exact messages."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, check
from tests.ir.test_validate_im2col import image
from tests.ir.wellformed import barrier, error_of, expect

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
