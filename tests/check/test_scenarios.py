"""The built-in scenarios: each twin is named by its rule, each clean form is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncsim.catalog import builtin_scenarios
from asyncsim.check import check
from asyncsim.ir.validate import MAX_SMEM_BYTES
from asyncsim.predict.result import Verdict
from asyncsim.rules import Severity
from asyncsim.scenario import Scenario
from asyncsim.scenarios.bw_block_scaled import bw_block_scaled
from asyncsim.scenarios.bw_gemm import bw_gemm
from asyncsim.scenarios.bw_gemm_2cta import bw_gemm_2cta
from asyncsim.scenarios.cluster_sum import cluster_sum
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.dispatch import dispatch
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.multicast_gemm import multicast_gemm
from asyncsim.scenarios.pingpong_gemm import pingpong_gemm
from asyncsim.scenarios.sgemm_cp_async import sgemm_cp_async
from asyncsim.scenarios.sync_copy import sync_copy
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.scenarios.tma_im2col import tma_im2col
from asyncsim.scenarios.tma_reduce import tma_reduce
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm

SCENARIOS = builtin_scenarios()
SMALL = {
    "cluster_sum": {"clusters": 2, "rows": 8},
    "dispatch": {"ctas": 3, "rows": 12, "width": 64},
    "tma_im2col": {"batch": 2, "height": 9, "width": 9, "channels": 64, "filters": 72},
    "tma_reduce": {"ctas": 3, "tiles": 8},
    "ws_gemm": {"m": 256, "n": 256, "k": 1024},
    "bw_gemm": {"m": 512, "n": 128, "k": 192, "block_n": 128, "ctas": 2, "stages": 2},
    "bw_block_scaled": {"m": 256, "n": 256, "k": 512, "ctas": 2, "stages": 2},
    "bw_gemm_2cta": {"m": 512, "n": 256, "k": 192, "block_n": 128, "ctas": 2, "stages": 2},
    "atomic_gemm": {"m": 384, "n": 256, "k": 192, "ctas": 2, "stages": 2},
    "bw_persistent_clc": {"m": 384, "n": 256, "k": 192, "stages": 2},
    "cooperative_gemm": {"m": 512, "n": 512, "k": 320, "ctas": 2},
    "fp8_gemm": {"m": 256, "n": 256, "k": 640, "ctas": 2},
    "grouped_gemm": {"m": 256, "ragged": 60, "n": 256, "k": 320},
    "mma_gemm": {"m": 256, "n": 128, "k": 320},
    "split_k": {"m": 200, "n": 264, "k": 520, "splits": 3, "ctas": 4},
    "multicast_gemm": {"m": 256, "n": 512, "k": 320, "ctas": 2},
    "pingpong_gemm": {"m": 256, "n": 512, "k": 320, "ctas": 2},
    "sgemm_cp_async": {"m": 256, "n": 256, "k": 128},
    "tma_copy": {"m": 64, "n": 64},
    "flash_attention": {"seq": 256, "heads": 1, "hdim": 64, "block_n": 64},
}

TWINS = [(s, t.name) for s in SCENARIOS for t in s.twins]


def trips(stages: int) -> list[int]:
    """Trip counts around the number of stages."""
    return sorted({0, 1, 2, 3, stages - 1, stages, stages + 1, 2 * stages, 17})


def assert_silent(scenario: Scenario, params: dict[str, int]) -> None:
    result = check(scenario.build(params))
    assert (result.verdict, result.findings, result.certified, result.note) == (
        Verdict.CLEAN,
        (),
        True,
        "",
    ), (params, [f.message for f in result.findings])


def test_at_least_twelve_twins() -> None:
    assert len(TWINS) >= 12


@pytest.mark.parametrize(("scenario", "name"), TWINS, ids=[f"{s.name}-{n}" for s, n in TWINS])
def test_twin_is_named_by_its_rule_alone(scenario: Scenario, name: str) -> None:
    twin = scenario.twin(name)
    result = check(scenario.build({**SMALL.get(scenario.name, {}), **twin.params}, name))
    assert {(f.rule, f.severity) for f in result.findings} == {(twin.rule, twin.severity)}
    assert len(result.findings) <= 2
    error = twin.severity is Severity.ERROR
    assert result.verdict is (Verdict.FINDINGS if error else Verdict.CLEAN)
    assert result.under(strict=True) is Verdict.FINDINGS
    finding = result.findings[0]
    assert finding.message and finding.repair and finding.where
    assert finding.where[-1].loc is not None
    assert Path(finding.where[-1].loc.file).parent.name == "scenarios"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_default_is_clean(scenario: Scenario) -> None:
    assert_silent(scenario, SMALL.get(scenario.name, {}))


@pytest.mark.parametrize(
    "params",
    [
        {"seq": 320, "overlap": 0},
        {"seq": 320, "pingpong": 0},
        {"seq": 320, "overlap": 0, "pingpong": 0, "stages": 1},
        {"seq": 300, "causal": 1, "stages": 3},
        {"seq": 300, "heads": 2, "causal": 1, "overlap": 0, "hdim": 128},
        {"seq": 500, "causal": 1, "consumers": 3, "block_n": 128},
        {"seq": 200, "hdim": 256, "stages": 1},
        {"seq": 1, "heads": 3},
        {"seq": 300, "consumers": 1, "causal": 1},
        {"seq": 320, "setmaxnreg": 0},
    ],
    ids=str,
)
def test_flash_attention_is_silent(params: dict[str, int]) -> None:
    assert_silent(flash_attention, {**SMALL["flash_attention"], **params})


@pytest.mark.parametrize("stages", range(1, 9))
def test_tma_ring_is_silent(stages: int) -> None:
    sizes = (16, 1024, 16384, 65536)
    for i, tiles in enumerate(trips(stages)):
        tile_bytes = sizes[(stages + i) % len(sizes)]
        if tile_bytes * stages + 1024 > MAX_SMEM_BYTES:
            tile_bytes = 1024
        consumers = 1 + (i + stages) % 4
        params = {"stages": stages, "tiles": tiles, "consumers": consumers}
        assert_silent(tma_ring, {**params, "tile_bytes": tile_bytes})


@pytest.mark.parametrize("stages", range(1, 7))
def test_tma_ring_is_silent_at_every_distance(stages: int) -> None:
    for distance in range(1, stages + 1):
        for tiles in (0, 1, distance, stages + 1, 2 * stages + 2):
            sizes = {"tiles": tiles, "tile_bytes": 1024, "consumers": 1 + tiles % 3}
            assert_silent(tma_ring, {"stages": stages, "distance": distance, **sizes})


@pytest.mark.parametrize("stages", range(1, 6))
def test_ws_gemm_is_silent_at_every_distance(stages: int) -> None:
    for distance in range(1, stages + 1):
        for steps in (1, distance, 2 * stages + 1):
            sizes = {"m": 128, "n": 64, "k": 64 * steps, "block_n": 64}
            lag = int(distance > 1 and steps % 2 == 0)
            ring = {"stages": stages, "distance": distance, "lag": lag}
            assert_silent(ws_gemm, {**ring, **sizes})
            assert_silent(ws_gemm, {**ring, **sizes, "consumers": 2})


@pytest.mark.parametrize("stages", range(1, 5))
@pytest.mark.parametrize("setmaxnreg", [0, 1])
def test_cooperative_gemm_is_silent(stages: int, setmaxnreg: int) -> None:
    """Tiles of one step and of several, more CTAs than tiles, edge tiles, every raster order."""
    for i, steps in enumerate((1, stages, 2 * stages + 1)):
        sizes = {"m": 200, "n": 296, "k": 64 * steps - 8 * i, "block_n": 64 << i % 2}
        order = {"ctas": (1, 2, 9)[i], "band": i, "buffers": 1 + i % 2, "f32": i % 2}
        ring = {"stages": stages, "lag": int(stages > 1 and i < 2), "consumers": 1 + stages % 2}
        assert_silent(cooperative_gemm, {**sizes, **order, **ring, "setmaxnreg": setmaxnreg})


@pytest.mark.parametrize("cluster", [1, 2, 3, 5, 8, 16])
def test_cluster_sum_is_silent(cluster: int) -> None:
    for clusters in (1, 3):
        assert_silent(cluster_sum, {"cluster": cluster, "clusters": clusters, "rows": 8})


@pytest.mark.parametrize("stages", range(1, 6))
def test_tma_reduce_is_silent(stages: int) -> None:
    for i, tiles in enumerate(trips(stages)):
        sizes = {"tiles": tiles, "outputs": 1 + i % 3, "ctas": 1 + i % 4}
        assert_silent(tma_reduce, {"stages": stages, "op": i % 3, **sizes})


@pytest.mark.parametrize("stages", range(2, 7))
def test_dispatch_is_silent(stages: int) -> None:
    for i, rows in enumerate(trips(stages)):
        sizes = {"rows": rows, "experts": 1 + i % 5, "topk": 1 + (i % 5 > 1), "ctas": 1 + i % 3}
        assert_silent(dispatch, {"stages": stages, "width": 8, **sizes})


@pytest.mark.parametrize("stages", range(1, 5))
def test_tma_im2col_is_silent(stages: int) -> None:
    for size, batch in ((1, 1), (3, 2), (5, 1)):
        sizes = {"batch": batch, "height": 9, "width": 7 * batch, "size": size}
        more = {"channels": 64 * batch, "filters": 8 * stages, "block_n": 16}
        assert_silent(tma_im2col, {"stages": stages, **sizes, **more})


@pytest.mark.parametrize("cluster", [(2, 1), (1, 2), (2, 2), (4, 1)])
def test_multicast_gemm_is_silent(cluster: tuple[int, int]) -> None:
    """Clusters that hang over C, with tiles that lie outside of it."""
    shape = {"cluster_m": cluster[0], "cluster_n": cluster[1], "ctas": 8, "consumers": 1}
    for stages, steps in ((1, 3), (3, 7)):
        sizes = {"m": 200, "n": 328, "k": 64 * steps - 8, "block_m": 64, "block_n": 128}
        assert_silent(multicast_gemm, {**shape, **sizes, "stages": stages, "lag": stages // 2})


def test_stages_released_at_cta_scope_are_warned_of() -> None:
    result = check(multicast_gemm.build({**SMALL["multicast_gemm"], "narrow": 1}))
    assert [f.rule.name for f in result.findings] == ["SCOPE_TOO_NARROW"]
    assert result.verdict is Verdict.CLEAN


@pytest.mark.parametrize("stages", range(1, 5))
@pytest.mark.parametrize("setmaxnreg", [0, 1])
def test_pingpong_gemm_is_silent(stages: int, setmaxnreg: int) -> None:
    """One, two, an odd number of tiles a CTA; the turns end with either warpgroup."""
    for i, steps in enumerate((1, stages, 2 * stages + 1)):
        sizes = {"m": 200, "n": 136, "k": 64 * steps - 8 * i, "block_n": 64 << i % 2}
        order = {"ctas": (4, 9, 1)[i], "band": i, "buffers": 1 + i % 2, "f32": i % 2}
        ring = {"stages": stages, "lag": int(stages > 1 and i < 2), "block_m": 64 << stages % 2}
        assert_silent(pingpong_gemm, {**sizes, **order, **ring, "setmaxnreg": setmaxnreg})


@pytest.mark.parametrize("stages", range(1, 5))
@pytest.mark.parametrize("format", range(3))
def test_bw_block_scaled_is_silent(format: int, stages: int) -> None:
    for i, steps in enumerate((1, stages, 2 * stages + 1)):
        sizes = {"m": 256, "n": 384, "k": steps * (128 if format == 0 else 256), "f32": i % 2}
        order = {"ctas": (2, 4, 0)[i], "band": i, "slots": 1 + i % 2}
        assert_silent(bw_block_scaled, {**sizes, **order, "kind": format, "stages": stages})


@pytest.mark.parametrize("stages", range(1, 5))
@pytest.mark.parametrize("scenario", [bw_gemm, bw_gemm_2cta], ids=lambda s: s.name)
def test_blackwell_gemm_is_silent(scenario: Scenario, stages: int) -> None:
    """One slot and several, tiles of one step and of several, edge tiles."""
    for i, steps in enumerate((1, stages, 2 * stages + 1)):
        sizes = {"m": 328, "n": 328, "k": 64 * steps - 8 * i, "block_n": 64 << i % 2, "f32": 1}
        order = {"ctas": (2, 4, 0)[i], "band": i, "slots": 1 + i, "buffers": 1 + i % 2}
        assert_silent(scenario, {**sizes, **order, "stages": stages})


@pytest.mark.parametrize("stages", range(2, 9))
def test_cp_async_multistage_is_silent(stages: int) -> None:
    for tiles in trips(stages):
        tile_bytes = 8192 if tiles % 2 else 2048
        assert_silent(
            cp_async_multistage, {"stages": stages, "tiles": tiles, "tile_bytes": tile_bytes}
        )


@pytest.mark.parametrize("stages", range(2, 6))
def test_sgemm_is_silent(stages: int) -> None:
    for i, steps in enumerate(t for t in trips(stages) if t > 0):
        params = {"m": 256, "n": 128, "k": 8 * steps, "stages": stages, "beta": i % 3 - 1}
        assert_silent(sgemm_cp_async, {**params, "distance": i % stages})


@pytest.mark.parametrize("stages", range(2, 6))
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_twins_of_sgemm_at_every_depth(stages: int, steps: int) -> None:
    """Two stages wait for every group, so that a commit more or less changes nothing."""
    expected = {
        "commit_if_copied": "WAIT_GROUP_TOO_LOOSE" if stages > 2 else None,
        "wait_too_loose": "WAIT_GROUP_TOO_LOOSE",
        "no_barrier": "MISSING_BLOCK_BARRIER",
        "refill_same_stage": "WRITE_BEFORE_RELEASE" if steps > stages else None,
        "swapped_k": "WRONG_TILE" if steps > 1 else None,
    }
    params = {"m": 128, "n": 128, "k": 8 * steps, "stages": stages}
    for twin, rule in expected.items():
        found = [f.rule.name for f in check(sgemm_cp_async.build(params, twin)).findings]
        assert found == ([rule] if rule else []), twin


@pytest.mark.parametrize("tiles", [0, 1, 2, 3, 17])
@pytest.mark.parametrize("tile_bytes", [2048, 8192, 32768])
def test_sync_copy_is_silent(tiles: int, tile_bytes: int) -> None:
    assert_silent(sync_copy, {"tiles": tiles, "tile_bytes": tile_bytes})


def test_stores_of_a_missing_barrier_are_repaired_by_a_barrier() -> None:
    (finding,) = check(sync_copy.build({}, "no_first_barrier")).findings
    assert finding.repair == "add k.bar.sync() after the store"


SHAPES = ((64, 8, 64), (64, 256, 16), (128, 64, 32), (128, 128, 64))


@pytest.mark.parametrize("stages", range(1, 7))
def test_ws_gemm_is_silent(stages: int) -> None:
    for i, steps in enumerate(t for t in trips(stages) if t > 0):
        block_m, block_n, block_k = SHAPES[(i + stages) % len(SHAPES)]
        params = {"block_m": block_m, "block_n": block_n, "block_k": block_k, "stages": stages}
        sizes = {"m": 2 * block_m, "n": 2 * block_n, "k": steps * block_k}
        more = {"lag": int(stages > 1 and i % 2 == 0), "k_order": i % 2}
        assert_silent(ws_gemm, {**params, **sizes, **more})
        if 2 * block_m * (block_k + block_n) * stages < 2 * 64 * 256 * 6:
            double = {"block_m": 2 * block_m, "consumers": 2}
            assert_silent(ws_gemm, {**params, **sizes, **more, **double})


@pytest.mark.parametrize("m", [1, 16, 33, 2048])
@pytest.mark.parametrize("n", [4, 32, 100, 1024])
def test_tma_copy_is_silent(m: int, n: int) -> None:
    assert_silent(tma_copy, {"m": m, "n": n})


@pytest.mark.parametrize("m", [1, 64, 200])
@pytest.mark.parametrize("n", [7, 128, 130])
@pytest.mark.parametrize("k", [8, 64, 136])
def test_edge_tiles_are_silent(m: int, n: int, k: int) -> None:
    assert_silent(ws_gemm, {"m": m, "n": n, "k": k})
    assert_silent(ws_gemm, {"m": 2 * m, "n": n, "k": k, "consumers": 2, "block_m": 256})


@pytest.mark.parametrize("m", [128, 200, 256, 257])
def test_twins_of_edge_tiles_need_an_edge(m: int) -> None:
    for twin in ("expect_inside", "unclipped_store"):
        found = [f.rule for f in check(ws_gemm.build({"m": m, "n": 128, "k": 64}, twin)).findings]
        assert found == ([ws_gemm.twin(twin).rule] if m % 128 else [])


@pytest.mark.parametrize("stages", range(2, 6))
@pytest.mark.parametrize("tiles", [1, 2, 5, 9])
def test_commit_only_when_copied_is_clean_for_two_stages_only(stages: int, tiles: int) -> None:
    """The document's table: wrong for S >= 3 and any tile, right for S = 2 (it waits for all)."""
    result = check(
        cp_async_multistage.build({"stages": stages, "tiles": tiles}, "commit_if_copied")
    )
    expected = [] if stages == 2 else ["WAIT_GROUP_TOO_LOOSE"]
    assert [f.rule.name for f in result.findings] == expected


@pytest.mark.parametrize("tiles", [0, 1, 2, 3, 9])
def test_prologue_overruns_only_if_there_are_fewer_tiles_than_stages_ahead(tiles: int) -> None:
    result = check(cp_async_multistage.build({"stages": 4, "tiles": tiles}, "prologue_overrun"))
    expected = ["OUT_OF_BOUNDS"] if tiles < 3 else []
    assert [f.rule.name for f in result.findings] == expected


@pytest.mark.parametrize("name", [t.name for t in tma_ring.twins])
@pytest.mark.parametrize("stages", [1, 3])
def test_ring_twins_keep_their_name_where_the_bug_can_show(name: str, stages: int) -> None:
    """More tiles than stages show every bug; one consumer warp hides that only one arrives."""
    for tiles, consumers in ((stages + 1, 2), (2 * stages + 1, 3), (9, 4)):
        params = {"stages": stages, "tiles": tiles, "consumers": consumers, "tile_bytes": 1024}
        result = check(tma_ring.build(params, name))
        assert [f.rule for f in result.findings] == [tma_ring.twin(name).rule], params


@pytest.mark.parametrize("name", [t.name for t in tma_ring.twins])
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_ring_twins_at_every_distance(name: str, distance: int) -> None:
    """With a spare stage, tile i + stages waits for a release that comes after the read of tile i:
    what is released early is not overwritten."""
    sizes = {"stages": 3, "tiles": 9, "tile_bytes": 1024, "consumers": 3}
    found = check(tma_ring.build({**sizes, "distance": distance}, name)).findings
    harmless = name == "early_release" and distance < 3
    assert [f.rule for f in found] == ([] if harmless else [tma_ring.twin(name).rule])


@pytest.mark.parametrize("name", ["no_proxy_fence", "early_release", "one_warp_arrives"])
def test_a_ring_without_refill_hides_its_bug(name: str) -> None:
    params = {"stages": 4, "tiles": 4, "tile_bytes": 1024}
    assert check(tma_ring.build(params, name)).findings == ()
