"""fp8_gemm and mma_gemm: silent over their parameters, and sizes that they do not have."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleError
from asyncsim.scenarios.fp8_gemm import fp8_gemm
from asyncsim.scenarios.mma_gemm import mma_gemm
from tests.check.test_scenarios import assert_silent


@pytest.mark.parametrize("stages", range(1, 5))
@pytest.mark.parametrize("consumers", [1, 2])
def test_fp8_gemm_is_silent(stages: int, consumers: int) -> None:
    """Ragged in every dimension; one half or two a warpgroup; one, two, an odd number of tiles."""
    for i, steps in enumerate((1, stages, 2 * stages + 1)):
        sizes = {"m": 200, "n": 136, "k": 128 * steps - 9 * i, "block_n": 64 << i % 2}
        order = {"ctas": (4, 9, 1)[i], "band": i, "buffers": 1, "f32": i % 2}
        ring = {"stages": stages, "consumers": consumers, "block_m": 64 * consumers << i // 2}
        assert_silent(fp8_gemm, {**sizes, **order, **ring, "setmaxnreg": i % 2})


@pytest.mark.parametrize(
    ("params", "message", "fix"),
    [
        ({"k": 0}, "k = 0", "give at least 1"),
        ({"consumers": 3}, "consumers = 3", "use 1 or 2 consumer warpgroups"),
        ({"block_m": 64}, "block_m = 64", "two warpgroups take 128 or 256 rows"),
        (
            {"block_n": 256},
            "block_n = 256",
            "use 32, 64 or 128: a tile has one scale of B, for 128 columns",
        ),
        (
            {"block_n": 64},
            "block_n = 64 in bf16 with buffers = 2",
            "a tile is a whole number of rounds of 2 strips of 64 columns",
        ),
    ],
)
def test_sizes_that_fp8_gemm_does_not_have(params: dict[str, int], message: str, fix: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        fp8_gemm.build(params)
    assert (caught.value.message, caught.value.fix) == (message, fix)


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize(
    "sizes", [{"m": 128, "n": 128, "k": 64}, {"m": 72, "n": 90, "k": 328}], ids=str
)
def test_mma_gemm_is_silent(sizes: dict[str, int], stages: int) -> None:
    for distance in range(stages):
        assert_silent(mma_gemm, {**sizes, "stages": stages, "distance": distance})


@pytest.mark.parametrize(
    ("params", "message", "fix"),
    [
        ({"m": 0}, "m = 0", "give a multiple of 1"),
        ({"n": 129}, "n = 129", "give a multiple of 2"),
        ({"k": 100}, "k = 100", "give a multiple of 8"),
        ({"distance": 3}, "distance = 3", "stay below the 3 stages"),
        ({"stages": 1}, "stages = 1", "give at least 2: one is filled while another is read"),
    ],
)
def test_sizes_that_mma_gemm_does_not_have(params: dict[str, int], message: str, fix: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        mma_gemm.build(params)
    assert (caught.value.message, caught.value.fix) == (message, fix)
