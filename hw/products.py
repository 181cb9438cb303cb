"""Matrix products, most of them by CTAs that stay for many tiles: what is measured of them."""

from __future__ import annotations

from functools import partial

from asyncsim.hw.configuration import Configuration


def _product(
    scenario: str, m: int, n: int, k: int, l2: str = "cold", **params: int
) -> Configuration:
    return Configuration(scenario=scenario, params={"m": m, "n": n, "k": k} | params, l2=l2)


_cooperative = partial(_product, "cooperative_gemm")
_pingpong = partial(_product, "pingpong_gemm")
_multicast = partial(_product, "multicast_gemm")
_split = partial(_product, "split_k")
_mma = partial(_product, "mma_gemm")
_fp8 = partial(_product, "fp8_gemm")
_atomic = partial(_product, "atomic_gemm")


def _grouped(m: int, ragged: int, groups: int, n: int, k: int, **params: int) -> Configuration:
    table = {"groups": groups, "m": m, "ragged": ragged, "n": n, "k": k}
    return Configuration(scenario="grouped_gemm", params=table | params)


COOPERATIVE = (
    # one CTA: the ring, the strips, a store under the next mainloop
    _cooperative(128, 1024, 4096, "warm", ctas=1),
    _cooperative(1024, 256, 512, "warm", ctas=1),
    # the whole GPU
    _cooperative(1024, 1024, 1024),
    _cooperative(2048, 2048, 2048),
    _cooperative(4096, 4096, 4096),
    _cooperative(4096, 4096, 4096, "warm"),
    _cooperative(4096, 4096, 4096, stages=3),
    _cooperative(4096, 4096, 4096, f32=1),
    _cooperative(4096, 4096, 4096, band=1),
    _cooperative(8192, 8192, 8192),
    _cooperative(8192, 1024, 4096),
    _cooperative(4096, 4096, 4096, consumers=1, block_n=128),
    # edge tiles
    _cooperative(4000, 4000, 4000),
    _cooperative(3000, 2008, 2048),
)

PINGPONG = (
    _pingpong(128, 1024, 4096, "warm", ctas=1),
    _pingpong(1024, 256, 512, "warm", ctas=1),
    _pingpong(1024, 1024, 1024),
    _pingpong(2048, 2048, 2048),
    _pingpong(4096, 4096, 4096),
    _pingpong(4096, 4096, 4096, stages=5),
    _pingpong(4096, 4096, 4096, block_m=128, block_n=128, stages=6),
    _pingpong(8192, 8192, 8192, block_m=128, block_n=128, stages=6),
    _pingpong(8192, 1024, 4096, block_m=128, block_n=128, stages=5),
    # edge tiles
    _pingpong(4000, 4000, 4000),
    _pingpong(3000, 2008, 2048, block_m=128, block_n=128),
)

MULTICAST = (
    # one cluster
    _multicast(256, 1024, 4096, "warm", ctas=2),
    _multicast(256, 512, 4096, "warm", ctas=4, cluster_n=2, narrow=1),
    # the whole GPU
    _multicast(1024, 1024, 1024, narrow=1),
    _multicast(2048, 2048, 2048, narrow=1),
    _multicast(4096, 4096, 4096),
    _multicast(4096, 4096, 4096, narrow=1),
    _multicast(4096, 4096, 4096, cluster_m=1, cluster_n=2, narrow=1),
    _multicast(4096, 4096, 4096, cluster_n=2, ctas=120),
    _multicast(4096, 4096, 4096, cluster_n=2, ctas=120, narrow=1),
    _multicast(8192, 8192, 8192, narrow=1),
    # edge tiles, and clusters that hang over
    _multicast(4000, 4000, 4000, narrow=1),
    _multicast(3000, 2008, 2048, cluster_n=2, ctas=120, narrow=1),
)

FP8 = (
    # one CTA: tensor cores and FFMA in turn
    _fp8(256, 1024, 4096, "warm", ctas=1),
    _fp8(128, 1024, 4096, "warm", ctas=1, block_m=128, stages=5),
    _fp8(64, 1024, 4096, "warm", ctas=1, block_m=64, consumers=1, stages=5),
    # the whole GPU
    _fp8(1024, 1024, 1024, block_m=128, stages=5),
    _fp8(2048, 2048, 2048),
    _fp8(2048, 2048, 2048, block_m=128, stages=5),
    _fp8(4096, 4096, 4096),
    _fp8(4096, 4096, 4096, "warm"),
    _fp8(4096, 4096, 4096, block_m=128, stages=5),
    _fp8(4096, 4096, 4096, block_m=128, consumers=1, stages=5),
    _fp8(8192, 8192, 8192),
    _fp8(4096, 2048, 7168),
    # edge tiles
    _fp8(4000, 4000, 4000),
    _fp8(3000, 2008, 2072, block_m=128, stages=5),
    _fp8(999, 1001, 1003),
)

MMA = (
    # one CTA: one warp on each sub-partition
    _mma(128, 128, 4096, "warm"),
    _mma(128, 128, 4096, "warm", stages=4),
    # the whole GPU
    _mma(1024, 1024, 1024),
    _mma(2048, 2048, 2048),
    _mma(4096, 4096, 4096),
    _mma(4096, 4096, 4096, "warm"),
    _mma(4096, 4096, 4096, stages=2),
    _mma(4096, 4096, 4096, stages=4),
    _mma(8192, 8192, 8192),
    _mma(8192, 1024, 4096),
    # edge tiles
    _mma(4000, 4000, 4000),
    _mma(3000, 2002, 2056),
)

ATOMIC = (
    _atomic(4096, 4096, 4096),
    _atomic(4096, 4096, 512),
    _atomic(4096, 4096, 512, slots=1),
    _cooperative(4096, 4096, 512),
    _atomic(2048, 2048, 2048),
    # edge tiles
    _atomic(4000, 4000, 1000),
    _atomic(3000, 2008, 2072, ctas=60),
)

SPLIT = (
    _split(128, 256, 65536, "warm", splits=2, ctas=1),
    _split(512, 512, 16384, splits=16),
    _split(512, 512, 16384, splits=8),
    _split(512, 512, 16384, splits=1),
    _split(1000, 776, 8200, splits=4),
)

GROUPED = (
    _grouped(2048, 200, 4, 4096, 4096),
    _grouped(1024, 100, 8, 2048, 4096),
    _grouped(1000, 333, 3, 1024, 2000),
)
