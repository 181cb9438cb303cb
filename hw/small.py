"""Small problems, microseconds each: what is launched thousands of times, and for broken twins."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError, UsageError
from asyncsim.hw.configurations import Configuration
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule
from asyncsim.scenario import Scenario, Twin


def _small(scenario: str, **params: int) -> Configuration:
    return Configuration(scenario=scenario, params=params)


CLEAN = (
    _small("tma_ring", stages=1, ctas=4, tiles=7),
    _small("tma_ring", stages=2, ctas=4, tiles=13, tile_bytes=1024, consumers=2),
    _small("tma_ring", stages=3, ctas=8, tiles=16, tile_bytes=8192, consumers=1),
    _small("tma_ring", stages=4, ctas=4, tiles=21, tile_bytes=512, ffma=0),
    _small("cp_async_multistage", stages=2, ctas=4, tiles=7),
    _small("cp_async_multistage", stages=3, ctas=8, tiles=10, tile_bytes=2048),
    _small("cp_async_multistage", stages=4, ctas=4, tiles=13, ffma=0),
    _small("sync_copy", ctas=4, tiles=7),
    _small("sync_copy", ctas=8, tiles=10, tile_bytes=2048, ffma=0),
    _small("sgemm_cp_async", stages=2, m=256, n=128, k=56),
    _small("sgemm_cp_async", stages=3, m=128, n=256, k=72),
    _small("sgemm_cp_async", stages=4, m=128, n=128, k=104, distance=1, alpha=2, beta=3),
    _small("ws_gemm", stages=1, lag=0, m=256, n=128, k=256),
    _small("ws_gemm", stages=2, lag=1, m=128, n=128, k=448, block_m=64),
    _small("ws_gemm", stages=3, lag=0, m=128, n=256, k=320, block_k=32, block_n=64),
    _small("ws_gemm", stages=4, lag=1, m=200, n=136, k=600),
    _small("ws_gemm", stages=2, lag=1, m=256, n=128, k=448, block_m=256, consumers=2),
    _small("ws_gemm", stages=2, m=256, n=128, k=448, block_m=256, consumers=2, setmaxnreg=1),
    _small("ws_gemm", stages=3, lag=0, m=256, n=128, k=448, block_m=128, consumers=2, k_order=1),
    _small("ws_gemm", stages=2, lag=0, m=1024, n=4608, k=256, block_m=64, block_n=256),
    _small("cooperative_gemm", stages=1, lag=0, m=256, n=512, k=320, ctas=2, f32=1),
    _small("cooperative_gemm", stages=2, m=328, n=392, k=200, block_n=128, ctas=5, band=2),
    _small("cooperative_gemm", stages=3, m=200, n=136, k=448, consumers=1, block_n=64, buffers=1),
    _small("cooperative_gemm", stages=4, m=768, n=1024, k=256, ctas=7, setmaxnreg=0),
    _small("pingpong_gemm", stages=1, lag=0, m=256, n=512, k=320, ctas=2, f32=1),
    _small("pingpong_gemm", stages=2, m=328, n=392, k=200, block_m=128, block_n=128, ctas=5),
    _small("pingpong_gemm", stages=3, m=200, n=136, k=448, block_n=64, buffers=1, ctas=1),
    _small("pingpong_gemm", stages=4, m=768, n=1024, k=256, ctas=7, setmaxnreg=0),
    _small("multicast_gemm", stages=1, lag=0, m=256, n=512, k=320, ctas=4, f32=1),
    _small("multicast_gemm", stages=2, m=328, n=392, k=200, block_n=128, cluster_n=2, ctas=4),
    _small("multicast_gemm", stages=3, m=520, n=392, k=448, block_n=128, ctas=6, consumers=1),
    _small("multicast_gemm", stages=4, m=700, n=1024, k=256, cluster_m=1, cluster_n=2, narrow=1),
    _small("flash_attention", stages=2, seq=384, heads=2, hdim=64),
    _small("flash_attention", stages=3, seq=500, heads=2, hdim=128, block_n=64, causal=1),
    _small("flash_attention", stages=1, seq=450, heads=2, hdim=128, overlap=0, causal=1),
    _small("flash_attention", stages=2, seq=320, heads=1, hdim=256, pingpong=0, causal=1),
    _small("flash_attention", stages=4, seq=700, heads=1, hdim=64, causal=1, f16=1),
    _small("fp8_gemm", stages=1, m=256, n=384, k=640, ctas=2, f32=1),
    _small("fp8_gemm", stages=2, m=328, n=392, k=700, block_m=128, ctas=5, band=2),
    _small("fp8_gemm", stages=3, m=200, n=136, k=1500, consumers=1, block_m=64, setmaxnreg=0),
    _small("fp8_gemm", stages=4, m=768, n=1000, k=2048, block_m=128, block_n=64, buffers=1),
    _small("atomic_gemm", stages=1, lag=0, m=256, n=512, k=320, ctas=2, f32=1),
    _small("atomic_gemm", stages=2, m=328, n=392, k=200, block_n=128, ctas=5, band=2, slots=1),
    _small("atomic_gemm", stages=3, m=200, n=136, k=448, consumers=1, block_n=64, buffers=1),
    _small("atomic_gemm", stages=4, m=768, n=1024, k=256, ctas=7, slots=3),
    _small("mma_gemm", stages=2, m=256, n=128, k=320),
    _small("mma_gemm", stages=3, m=300, n=90, k=200),
    _small("mma_gemm", stages=4, m=200, n=256, k=904, distance=1),
    _small("split_k", stages=1, lag=0, m=200, n=264, k=520, splits=3),
    _small("split_k", stages=2, m=128, n=512, k=1000, splits=3, ctas=3, block_n=128),
    _small("split_k", stages=3, m=128, n=256, k=2048, splits=4, consumers=1, block_n=128),
    _small("split_k", stages=4, m=256, n=256, k=2048, splits=16, setmaxnreg=0),
    _small("grouped_gemm", stages=1, lag=0, groups=3, m=300, ragged=100, n=512, k=320, ctas=5),
    _small("grouped_gemm", stages=2, groups=1, m=300, n=512, k=320, ctas=5),
    _small("grouped_gemm", stages=3, groups=5, m=260, ragged=64, n=128, k=200, block_n=128),
    _small("grouped_gemm", stages=4, groups=2, m=513, ragged=512, n=256, k=448, ctas=2, f32=1),
    _small("tma_copy", m=16, n=32),
    _small("tma_copy", m=40, n=72),
    _small("tma_copy", m=256, n=512),
    _small("tma_copy", m=2048, n=2048),
    _small("cluster_sum", cluster=2, clusters=3, rows=12),
    _small("cluster_sum", cluster=7, clusters=2, rows=4),
    _small("cluster_sum", cluster=16, clusters=2, rows=8),
    _small("tma_reduce", stages=1, ctas=5, tiles=3, outputs=2),
    _small("tma_reduce", stages=2, ctas=7, tiles=8, outputs=3),
    _small("tma_reduce", stages=3, ctas=9, tiles=11, outputs=4, op=1),
    _small("tma_reduce", stages=4, ctas=300, tiles=5, outputs=1, op=2),
    _small("dispatch", stages=2, ctas=3, rows=7, width=8, experts=5),
    _small("dispatch", stages=4, ctas=9, rows=13, width=264, experts=4, topk=4),
    _small("dispatch", stages=3, ctas=264, rows=8, width=1024, experts=8, topk=1),
    _small("tma_im2col", stages=1, batch=2, height=9, width=7, channels=64, filters=24, block_n=24),
    _small("tma_im2col", stages=2, batch=5, height=7, width=7, channels=192, filters=64, size=1),
    _small("tma_im2col", stages=3, batch=1, height=20, width=33, channels=64, filters=40, size=5),
    _small("tma_im2col", stages=4, batch=3, height=16, width=24, filters=200),
)
"""Proven schedules, by scenario and stages: each must survive any delays."""

_SIZES = {
    "m": 256, "n": 256, "k": 512, "ctas": 8, "tiles": 24,
    "splits": 3, "ragged": 60, "rows": 24, "clusters": 4, "batch": 2, "height": 24, "width": 24,
    "seq": 512, "heads": 2, "hdim": 64,
}  # fmt: skip
_PROVOKING: dict[str, tuple[dict[str, int], ...]] = {
    # short tiles in one stage: a refill comes as soon after the release as it can
    "tma_ring": ({"stages": 1, "tile_bytes": 1024, "ctas": 264},),
    # no more tiles than stages, and DRAM busy: the last copies are in flight when they are read
    "cp_async_multistage": ({"tiles": 3, "tile_bytes": 16384, "ffma": 0, "ctas": 528},),
    "sgemm_cp_async": ({"m": 2048, "n": 2048, "k": 16},),
    # warpgroups that share the tensor cores: a wgmma waits for those of the others
    "ws_gemm": (
        {"lag": 0, "stages": 1},
        {"lag": 0, "stages": 2, "consumers": 2, "block_m": 256},
        {"lag": 0, "stages": 2, "block_m": 64, "block_n": 256, "m": 1024, "n": 4608},
        {"lag": 0, "stages": 2, "consumers": 2, "block_m": 128, "m": 2048, "n": 2304},
    ),
    # several tiles for each CTA: they hear of the next one
    "atomic_gemm": ({"m": 1024, "n": 512, "k": 128, "ctas": 2},),
    # more CTAs than fit at once: shared memory passes from one to the next
    "tma_copy": ({"m": 2048, "n": 2048},),
}


def twin_problems(scenario: Scenario, twin: Twin) -> Iterator[tuple[dict[str, int], Schedule]]:
    """Parameters under which the twin is launched, one set after the other until it shows.

    With each comes the clean schedule of the same parameters: what the twin is meant to compute.
    Sets that the scenario or the twin's own parameters exclude are left out.
    """
    for more in ({}, *_PROVOKING.get(scenario.name, ())):
        wanted = {**_SIZES, **more, **twin.params}
        params = {n: v for n, v in wanted.items() if n in scenario.params}
        try:
            scenario.build(params, twin.name)
            yield params, scenario.build(params)
        except (ScheduleError, UsageError):
            continue


def why_not_launched(twin: Twin) -> str:
    """Of a twin that is never launched."""
    if twin.rule is Rule.OUT_OF_BOUNDS:
        return "it addresses memory out of bounds"
    what = "setmaxnreg" if twin.rule is Rule.REGISTER_POOL else "a hardware barrier"
    return f"it can block at {what}, where no guard reaches"
