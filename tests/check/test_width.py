"""An integer of the kernel has 32 bits; those of Python have more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from asyncsim import ScheduleBuilder, Value, minimum
from asyncsim.check import check
from asyncsim.check.width import too_wide
from asyncsim.ir.schedule import Schedule
from asyncsim.predict import Verdict


def rows(ctas: int, n: int) -> Schedule:
    """Row ``block_idx * n // n`` of a tensor: always a row, but not always on a GPU."""
    k = ScheduleBuilder("rows")
    k.grid(ctas)
    factor = k.arg("n", n)
    source = k.global_tensor("source", (ctas, 32), "f32")
    result = k.global_tensor("result", (ctas, 32), "f32", output=True)
    r = k.fragment("r", registers=1)
    row = (k.block_idx * factor) // n
    k.mem.ld_global(r.all, source.box((row, k.lane), (1, 1)))
    k.mem.st_global(result.box((row, k.lane), (1, 1)), r.all)
    return k.finish()


def test_a_product_that_leaves_an_int_is_not_called_clean() -> None:
    assert check(rows(64, 1 << 25)).verdict is Verdict.CLEAN  # 63 * 2^25 < 2^31
    result = check(rows(65, 1 << 25))
    assert result.verdict is Verdict.INCOMPLETE and not result.findings
    assert result.note.startswith("block_idx.x * n at test_width.py:")
    assert result.note.endswith(
        " may reach 2,147,483,648, and an integer of the kernel has 32 bits"
    )


K = ScheduleBuilder("values")
N = K.arg("n", 1 << 30)
BIG = 1 << 30


@pytest.mark.parametrize(
    ("value", "wide"),
    [
        (N + BIG, "n + 1073741824"),
        (N + (BIG - 1), ""),
        (-N - BIG, ""),
        (-N - BIG - 1, "-n - 1073741824 - 1"),
        (N * 2 // 4, "n * 2"),
        (N // 4 * 2, ""),
        (K.lane << 27, "lane << 27"),
        ((K.lane & 7) << 27, ""),
        ((K.lane % 16) << 27, ""),
        ((K.lane >> 1) << 27, ""),
        (minimum(K.lane, 15) * (1 << 27), ""),
        ((K.lane < 16) * BIG, ""),
        ((K.lane | 16) * (1 << 26), ""),
        ((K.lane ^ 32) * (1 << 26), "(lane ^ 32) * 67108864"),
        (~N, ""),
        (N * (K.block_idx - 1), ""),
        (N * (K.block_idx - 3), "n * (block_idx.x - 3)"),
    ],
)
def test_the_bounds_of_a_term(value: Value, wide: str) -> None:
    k = ScheduleBuilder("values")
    k.grid(2)
    k.arg("n", 1 << 30)
    tile = k.smem_tile("tile", (1, 32), "f32")[0]
    r = k.fragment("r", registers=1)
    k.mem.ld_shared(r.all, tile.box((value * 0, 0), (1, 1)))
    found = too_wide(k.finish())
    assert (found or "").partition(" at test_width.py")[0] == wide


@pytest.mark.parametrize(
    ("shifted", "by"),
    [
        (lambda b: b >> (b + 31), 34),
        (lambda b: (b // 9) << (b + 35), 38),  # 0, but not where the shift is not defined
        (lambda b: (1 << (b + 70)) >> 70, 73),
        (lambda b: (1 << (b + 70)) % 4, 73),
        (lambda b: (b - 9) >> (b + 28), None),
    ],
)
def test_a_shift_by_more_bits_than_there_are_is_not_called_clean(
    shifted: Callable[[Value], Value], by: int | None
) -> None:
    """C++ leaves it open, whatever the result is in Python."""
    k = ScheduleBuilder("shifts")
    k.grid(4)
    source = k.global_tensor("source", (4, 32), "f32")
    result = k.global_tensor("result", (4, 32), "f32", output=True)
    r = k.fragment("r", registers=1)
    row = k.block_idx + shifted(k.block_idx) * 0
    k.mem.ld_global(r.all, source.box((k.block_idx, k.lane), (1, 1)))
    k.mem.st_global(result.box((row, k.lane), (1, 1)), r.all)
    found = check(k.finish())
    if by is None:
        assert found.verdict is Verdict.CLEAN
    else:
        assert found.verdict is Verdict.INCOMPLETE
        assert f" may shift by {by}, and an integer of the kernel has 32 bits" in found.note


def test_loop_variables_have_bounds_and_vars_have_none() -> None:
    k = ScheduleBuilder("loops")
    tile = k.smem_tile("tile", (1, 32), "f32")[0]
    r = k.fragment("r", registers=1)
    x = k.var("x", 5)
    with k.loop(4) as i, k.loop(i + 1) as j:
        x.set(x * 3)
        k.mem.ld_shared(r.all, tile.box((j * (1 << 29) * 0, 0), (1, 1)))
        k.mem.ld_shared(r.all, tile.box((j * (1 << 30) * 0, 0), (1, 1)))
    assert (too_wide(k.finish()) or "").startswith("i_2 * 1073741824 at ")


@pytest.mark.parametrize(
    ("step", "verdict"), [(10_737, Verdict.CLEAN), (10_738, Verdict.INCOMPLETE)]
)
def test_a_var_that_leaves_an_int_is_not_called_clean(step: int, verdict: Verdict) -> None:
    """Also in rounds that only repeat, which check passes over: 200,000 of them."""
    k = ScheduleBuilder("sums")
    source = k.global_tensor("source", (8, 32), "f32")
    r = k.fragment("r", registers=1)
    x = k.var("x", 0)
    with k.loop(200_000):
        x.set(x + step)
        k.mem.ld_global(r.all, source.box((x % 8, k.lane), (1, 1)))
    found = check(k.finish())
    assert found.verdict is verdict
    if verdict is Verdict.INCOMPLETE:
        assert found.note.startswith("x at test_width.py:")
        assert " becomes 2,147,492,620, and an integer of the kernel has 32 bits" in found.note
