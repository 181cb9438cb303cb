"""What the sets of each scenario leave out, dimension by dimension: stages from 1 to 8, lags, how
far loads run ahead, roles, parts of the GPU, clusters, one problem by other structures."""

from __future__ import annotations

from asyncsim.hw.configuration import Configuration


def _of(scenario: str, l2: str = "cold", **params: int) -> Configuration:
    return Configuration(scenario=scenario, params=params, l2=l2)


def _cube(scenario: str, size: int, l2: str = "cold", **params: int) -> Configuration:
    return _of(scenario, l2, m=size, n=size, k=size, **params)


STAGES = (
    _of("tma_ring", "warm", ctas=1, tiles=256, stages=5),
    _of("tma_ring", "warm", ctas=1, tiles=256, stages=7, tile_bytes=8192),
    _of("tma_ring", stages=5, tile_bytes=32768, tiles=48),
    _of("cp_async_multistage", "warm", ctas=1, tiles=256, stages=5),
    _of("cp_async_multistage", stages=7, tile_bytes=16384),
    _cube("ws_gemm", 2048, stages=1, lag=0),
    _cube("ws_gemm", 2048, stages=8, block_m=64, block_n=64),
    _cube("ws_gemm", 2048, stages=7, block_k=32),
    _cube("cooperative_gemm", 2048, stages=2),
    _cube("cooperative_gemm", 2048, stages=6, block_k=32),
    _cube("cooperative_gemm", 2048, stages=8, block_k=32, block_n=128),
    _cube("pingpong_gemm", 2048, stages=3, block_m=128, block_n=128),
    _cube("multicast_gemm", 2048, stages=3, narrow=1),
    _of("tma_reduce", "warm", ctas=1, tiles=256, stages=2),
    _of("tma_reduce", stages=6, tiles=32, outputs=132),
    _of("dispatch", stages=3, rows=128),
    _of("tma_im2col", stages=2),
    _of("tma_im2col", stages=6),
    _cube("fp8_gemm", 2048, block_m=128, stages=2),
    _of("flash_attention", "warm", seq=2048, heads=32, stages=1),
    _of("flash_attention", "warm", seq=2048, heads=32, stages=3, block_n=96),
)

LAGS = (
    _cube("cooperative_gemm", 4096, lag=0),
    _cube("pingpong_gemm", 2048, block_m=128, block_n=128, stages=6, lag=0),
    _cube("multicast_gemm", 4096, lag=0, narrow=1),
    _cube("atomic_gemm", 2048, lag=0),
    _of("grouped_gemm", lag=0, n=2048),
    _of("split_k", lag=0, splits=8),
)

AHEAD = (
    # loads as far ahead as stages allow, or less
    _of("tma_ring", "warm", ctas=1, tiles=256, stages=4, distance=1),
    _of("tma_ring", "warm", ctas=1, tiles=256, stages=4, distance=2),
    _of("tma_ring", stages=6, distance=3),
    _of("cp_async_multistage", "warm", ctas=1, tiles=256, stages=4, distance=1),
    _of("cp_async_multistage", stages=4, distance=2),
    _of("sgemm_cp_async", m=2048, n=2048, k=2048, stages=4, distance=2),
    _cube("ws_gemm", 2048, stages=4, distance=2),
    _cube("ws_gemm", 4096, stages=4, distance=3, consumers=2, block_m=256),
    _cube("mma_gemm", 2048, stages=3, distance=1),
)

ROLES = (
    _of("tma_ring", "warm", ctas=1, tiles=256, consumers=8),
    _of("tma_ring", consumers=1),
    _cube("cooperative_gemm", 2048, consumers=1, block_n=128),
    _cube("cooperative_gemm", 4096, setmaxnreg=0),
    _of("flash_attention", "warm", seq=2048, heads=32, consumers=1),
    _of("flash_attention", "warm", seq=2048, heads=32, hdim=64, consumers=1),
)

PARTS = (
    # of the GPU: from a few CTAs to several on each SM
    _of("tma_ring", ctas=8, tiles=128),
    _of("tma_ring", ctas=33, tiles=128),
    _of("tma_ring", ctas=396, tiles=32, tile_bytes=8192),
    _of("cp_async_multistage", ctas=16, tiles=128),
    _of("cp_async_multistage", ctas=66, tiles=128),
    _of("sync_copy", ctas=33, tiles=128),
    _of("ws_gemm", m=512, n=512, k=4096),
    _of("ws_gemm", "warm", m=1024, n=1024, k=4096),
    _cube("cooperative_gemm", 2048, ctas=33),
    _cube("cooperative_gemm", 2048, "warm", ctas=66),
    _of("tma_reduce", ctas=16, tiles=64),
    _of("dispatch", ctas=16, rows=256),
    _of("flash_attention", "warm", seq=2048, heads=4),
)

CLUSTERS = (
    _of("cluster_sum", "warm", cluster=4, clusters=1, rows=1024),
    _of("cluster_sum", cluster=4, clusters=8, rows=512),
    _cube("multicast_gemm", 2048, cluster_m=4, narrow=1, ctas=120),
    _cube("multicast_gemm", 2048, cluster_m=1, cluster_n=4, narrow=1, ctas=120),
    _of("multicast_gemm", "warm", m=512, n=1024, k=2048, cluster_n=2, narrow=1, ctas=8),
)

STRUCTURES = (
    # one problem by other structures: 4096 x 4096 x 1024, and a stream of 8 KB tiles
    _of("ws_gemm", m=4096, n=4096, k=1024),
    _of("ws_gemm", m=4096, n=4096, k=1024, consumers=2, block_m=256),
    _of("cooperative_gemm", m=4096, n=4096, k=1024),
    _of("pingpong_gemm", m=4096, n=4096, k=1024, block_m=128, block_n=128, stages=6),
    _of("multicast_gemm", m=4096, n=4096, k=1024, narrow=1),
    _of("atomic_gemm", m=4096, n=4096, k=1024),
    _of("mma_gemm", m=4096, n=4096, k=1024),
    _of("sync_copy", ffma=256),
    _of("cp_async_multistage", ffma=256),
    _of("tma_ring", ffma=256, tile_bytes=8192),
    _of("flash_attention", "warm", seq=2048, heads=32),
    _of("flash_attention", "warm", seq=2048, heads=32, pingpong=0),
    _of("flash_attention", "warm", seq=2048, heads=32, overlap=0),
    _of("flash_attention", "warm", seq=2048, heads=32, causal=1),
)

COVERAGE = (*STAGES, *LAGS, *AHEAD, *ROLES, *PARTS, *CLUSTERS, *STRUCTURES)
