"""Configurations whose ops are stamped, so that intervals are compared and not only totals."""

from __future__ import annotations

from asyncsim.hw.configuration import Configuration


def _of(scenario: str, l2: str = "cold", **params: int) -> Configuration:
    return Configuration(scenario=scenario, params=params, l2=l2)


INTERVALS = (
    # one CTA
    _of("tma_ring", "warm", ctas=1, tiles=128),
    _of("tma_ring", "warm", ctas=1, tiles=128, stages=2, ffma=256),
    _of("cp_async_multistage", "warm", ctas=1, tiles=128),
    _of("sync_copy", "warm", ctas=1, tiles=128),
    _of("ws_gemm", "warm", m=128, n=128, k=4096),
    _of("ws_gemm", "warm", m=256, n=128, k=4096, consumers=2, block_m=256),
    _of("cooperative_gemm", "warm", m=128, n=1024, k=2048, ctas=1),
    _of("pingpong_gemm", "warm", m=256, n=512, k=2048, ctas=1, block_m=128, block_n=128, stages=6),
    _of("multicast_gemm", "warm", m=256, n=1024, k=2048, ctas=2, narrow=1),
    _of("mma_gemm", "warm", m=128, n=128, k=4096),
    _of("sgemm_cp_async", "warm", m=128, n=128, k=2048),
    _of("tma_reduce", "warm", ctas=1, tiles=128),
    _of("dispatch", "warm", ctas=1, rows=128),
    # the whole GPU
    _of("tma_ring", tiles=64),
    _of("tma_ring", tiles=64, stages=2),
    _of("cp_async_multistage", tiles=64),
    _of("ws_gemm", m=2048, n=2048, k=2048),
    _of("ws_gemm", m=2048, n=2048, k=2048, consumers=2, block_m=256),
    _of("cooperative_gemm", m=2048, n=2048, k=2048),
    _of("flash_attention", "warm", seq=2048, heads=16),
    _of("flash_attention", "warm", seq=2048, heads=16, pingpong=0),
    _of("fp8_gemm", m=2048, n=2048, k=2048),
)
