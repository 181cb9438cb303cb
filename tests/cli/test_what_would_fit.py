"""Bad input about clusters, registers, memory and Blackwell: each says what would fit."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError, check
from asyncsim.catalog import find_scenario
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (
            "predict ws_gemm --machine b200",
            "ws_gemm is written for sm_90a; machine 'b200' is sm_100a; use --machine h100 or h200",
        ),
        (
            "predict bw_gemm --machine h200",
            "bw_gemm is written for sm_100a; machine 'h200' is sm_90a; use --machine b200",
        ),
        (
            "run bw_gemm",
            "bw_gemm is written for sm_100a; machine 'h200' is sm_90a; use --machine b200",
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


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (
            "cooperative_gemm --stages 5",
            "beside 'strips' (32768) tiles 'a_tile' and 'b_tile' take 49152 bytes a stage: "
            "use at most 4 stages",
        ),
        (
            "flash_attention --hdim 256 --stages 3",
            "beside 'q_tile' (65536) tiles 'k_tile' and 'v_tile' take 65536 bytes a stage: "
            "use at most 2 stages",
        ),
        (
            "bw_gemm --stages 6",
            "beside 'strips' (32768) tiles 'a_tile' and 'b_tile' take 49152 bytes a stage: "
            "use at most 4 stages",
        ),
    ],
)
def test_stages_that_do_not_fit_beside_the_epilogue(cli: Any, argv: str, text: str) -> None:
    done = cli("check", *argv.split())
    assert done.code == 1
    assert f"repair: {text}" in " ".join(done.out.split())


def test_the_stages_that_are_said_to_fit_do() -> None:
    for name, stages in (("cooperative_gemm", 4), ("bw_gemm", 4)):
        assert find_scenario(name).build({"stages": stages}).smem_bytes <= 232_448
    attention = find_scenario("flash_attention").build({"hdim": 256, "stages": 2})
    assert attention.smem_bytes <= 232_448


def pooled(inc: int, dec: int) -> Schedule:
    k = ScheduleBuilder("pooled")
    k.block(12)
    k.launch_bounds(1, maxnreg=168)
    with k.specialize():
        with k.role("consumer", warps=8):
            k.setmaxnreg.inc(inc)
        with k.role("producer", warps=4):
            k.setmaxnreg.dec(dec)
    return k.finish()


def test_registers_beyond_the_pool() -> None:
    (found,) = check(pooled(240, 40)).findings
    assert found.rule is Rule.REGISTER_POOL
    assert found.message.endswith(
        "2304 registers wanted, 256 of 64512 free, and nobody gives any back; beside what others "
        "hold, 232 fit all 8 warps of consumer"
    )
    assert check(pooled(232, 40)).verdict is Verdict.CLEAN


def test_registers_beyond_the_launch() -> None:
    k = ScheduleBuilder("launch")
    k.block(12)
    k.launch_bounds(1, maxnreg=176)
    k.bar.sync()
    with pytest.raises(ScheduleError) as caught:
        k.finish()
    assert str(caught.value) == (
        "maxnreg = 176 for 384 threads and 1 CTAs per SM; use a multiple of 8 from 24 to 168: "
        "an SM has 65,536 registers"
    )


@pytest.mark.parametrize(
    ("columns", "stages", "end", "fit"),
    [
        (256, 3, 768, "stages=2 of 256 fit from column 0 on"),
        (600, 1, 600, "a stage may have 512 from column 0 on"),
    ],
)
def test_tensor_memory_over_512_columns(columns: int, stages: int, end: int, fit: str) -> None:
    k = ScheduleBuilder("columns", archs=("sm_100a",))
    word = k.smem_tile("word", (1, 1), "u32")
    k.tmem_tile("acc", columns=columns, stages=stages, address=word)
    k.bar.sync()
    with pytest.raises(ScheduleError) as caught:
        k.finish()
    error = caught.value
    assert (error.message, error.fix, error.rule) == (
        f"tensor memory tile 'acc' ends at column {end}",
        f"tensor memory has 512 columns: {fit}",
        Rule.TMEM_CAPACITY,
    )


def masked(mask: int, *, computed: bool) -> Schedule:
    """Two CTAs, and a load to the ranks of a mask."""
    k = ScheduleBuilder("masked")
    k.grid(4)
    k.cluster(2)
    k.block(1)
    source_map = k.tensor_map("map", k.global_tensor("source", (64, 32), "f32"), box=(8, 32))
    tile, full = k.smem_tile("tile", (8, 32), "f32")[0], k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(full[0], 1024)
        to = (k.cta_rank + 1) * mask if computed else mask
        k.tma.load(tile, source_map, (0, 0), full[0], multicast=to)
    k.cluster_barrier.sync()
    return k.finish()


def test_masks_beyond_the_cluster() -> None:
    fix = "set at least one of the bits 0..1, and no other"
    with pytest.raises(ScheduleError) as caught:
        masked(5, computed=False)
    error = caught.value
    assert (error.message, error.fix, error.rule) == (
        "multicast mask 0x5 in a cluster of 2 CTAs",
        fix,
        Rule.OUT_OF_BOUNDS,
    )
    (found,) = check(masked(4, computed=True)).findings
    assert (found.rule, found.message, found.repair) == (
        Rule.OUT_OF_BOUNDS,
        "TmaLoad: multicast mask 0x4 in a cluster of 2 CTAs",
        fix,
    )
