"""Bad input about Blackwell: each is one line that says what would fit."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsim import ScheduleBuilder, ScheduleError


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (
            "predict ws_gemm --machine b200",
            "ws_gemm is written for sm_90a; machine 'b200' is sm_100a; choose another --machine",
        ),
        (
            "predict bw_gemm --machine h200",
            "bw_gemm is written for sm_100a; machine 'h200' is sm_90a; choose another --machine",
        ),
        (
            "run bw_gemm",
            "bw_gemm is written for sm_100a; machine 'h200' is sm_90a; choose another --machine",
        ),
    ],
)
def test_of_another_architecture(cli: Any, argv: str, text: str) -> None:
    done = cli(*argv.split())
    assert (done.code, done.err) == (2, f"asyncsim: {text}\n")


@pytest.mark.parametrize(
    ("argv", "message", "repair"),
    [
        (
            "bw_gemm --slots 3",
            "slots = 3 of block_n = 256: 768 columns of tensor memory",
            "there are 512: use slots=2",
        ),
        (
            "bw_block_scaled --kind 2 --stages 9",
            "slots = 2 and stages = 9 are 544 columns of tensor memory",
            "there are 512: a slot takes 128, a stage 32",
        ),
    ],
)
def test_more_columns_than_there_are(cli: Any, argv: str, message: str, repair: str) -> None:
    done = cli("check", *argv.split())
    assert done.code == 1
    assert f"error TMEM_CAPACITY: {message}" in done.out
    assert f"repair: {repair}" in done.out


def test_an_odd_number_of_ctas_makes_no_pairs(cli: Any) -> None:
    done = cli("check", "bw_gemm_2cta", "--ctas", "3")
    assert "ctas = 3; pairs: give an even number, or 0" in done.out + done.err


@pytest.mark.parametrize(
    ("grid", "cluster", "text"),
    [
        (6, 4, "grid of 6 CTAs in x, clusters of 4; enlarge the grid to 8"),
        (32, 32, "a cluster of 32 CTAs; a cluster has at most 16"),
    ],
)
def test_clusters_that_do_not_fit(grid: int, cluster: int, text: str) -> None:
    k = ScheduleBuilder("clusters")
    k.grid(grid)
    k.cluster(cluster)
    k.bar.sync()
    with pytest.raises(ScheduleError) as caught:
        k.finish()
    assert str(caught.value) == text
