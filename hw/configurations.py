"""Which configurations are measured, by set. Parameters that are not named are the defaults."""

from __future__ import annotations

from asyncsim.hw import products
from asyncsim.hw.configuration import Configuration as Configuration
from asyncsim.hw.coverage import COVERAGE


def _ring(l2: str = "cold", **params: int) -> Configuration:
    return Configuration(scenario="tma_ring", params=params, l2=l2)


def _gemm(l2: str = "cold", **params: int) -> Configuration:
    return Configuration(scenario="ws_gemm", params=params, l2=l2)


def _multistage(l2: str = "cold", **params: int) -> Configuration:
    return Configuration(scenario="cp_async_multistage", params=params, l2=l2)


def _cube(size: int, l2: str = "cold", **params: int) -> Configuration:
    return _gemm(l2, m=size, n=size, k=size, **params)


_RING = (
    # one CTA: latency, hand-over, compute
    _ring("warm", ctas=1, tiles=256, stages=1),
    _ring("warm", ctas=1, tiles=256, stages=2),
    _ring("warm", ctas=1, tiles=256, stages=4),
    _ring("warm", ctas=1, tiles=256, stages=8, ffma=0),
    _ring("cold", ctas=1, tiles=256, stages=2, ffma=0),
    _ring("cold", ctas=1, tiles=256, stages=4, ffma=128),
    _ring("warm", ctas=1, tiles=512, stages=4, tile_bytes=1024, ffma=16, consumers=1),
    _ring("warm", ctas=1, tiles=512, stages=4, tile_bytes=4096, ffma=128, consumers=2),
    _ring("warm", ctas=1, tiles=256, stages=3, tile_bytes=8192, ffma=256, consumers=1),
    _ring("warm", ctas=1, tiles=128, stages=4, tile_bytes=32768, ffma=512),
    _ring("cold", ctas=1, tiles=128, stages=6, tile_bytes=32768, ffma=0),
    # the whole GPU: bandwidth
    _ring(stages=1),
    _ring(stages=2),
    _ring(stages=4),
    _ring(stages=6, ffma=256),
    _ring(stages=3, tile_bytes=32768, ffma=0, tiles=48),
    _ring(stages=6, tile_bytes=32768, ffma=512, tiles=48),
    _ring(stages=8, tile_bytes=1024, ffma=0, tiles=256),
    _ring(stages=4, tile_bytes=8192, ffma=256, consumers=2, tiles=128),
    _ring(stages=4, ffma=512),
    _ring("warm", stages=4, tile_bytes=4096, ffma=32),
    _ring("warm", stages=8, tile_bytes=4096, ffma=0),
    _ring("warm", stages=2, tiles=16),
    _ring(stages=4, ctas=264, tiles=32),
    _ring(stages=4, ctas=66, tiles=96),
)

_GEMM = (
    # one CTA
    _gemm("warm", m=128, n=128, k=4096),
    _gemm("cold", m=128, n=128, k=4096, stages=2),
    _gemm("warm", m=64, n=256, k=8192, block_m=64, block_n=256),
    _gemm("warm", m=64, n=64, k=4096, block_m=64, block_n=64, lag=0),
    _gemm("warm", m=128, n=128, k=4096, block_k=32, stages=6, lag=0),
    # the whole GPU
    _cube(512),
    _cube(1024),
    _cube(2048),
    _cube(4096),
    _cube(4096, "warm"),
    _cube(4096, stages=2),
    _cube(4096, stages=3),
    _cube(4096, stages=6),
    _cube(4096, lag=0),
    _cube(4096, block_m=64, block_n=256),
    _cube(4096, block_m=64, block_n=128, stages=6),
    _cube(2048, block_m=64, block_n=64, stages=6),
    _cube(4096, block_k=32, stages=6),
    _cube(8192),
    _gemm(m=8192, n=1024, k=4096),
    _gemm(m=2048, n=2048, k=8192, stages=5),
)

_MULTISTAGE = (
    _multistage("warm", ctas=1, tiles=256, stages=2),
    _multistage("warm", ctas=1, tiles=256, stages=4),
    _multistage("warm", ctas=1, tiles=256, stages=8, ffma=0),
    _multistage("cold", ctas=1, tiles=256, stages=3),
    _multistage("warm", ctas=1, tiles=256, stages=4, tile_bytes=2048, ffma=16),
    _multistage("warm", ctas=1, tiles=128, stages=4, tile_bytes=16384, ffma=512),
    _multistage(stages=2),
    _multistage(stages=4),
    _multistage(stages=8),
    _multistage(stages=4, tile_bytes=16384, ffma=0),
    _multistage(stages=6, tile_bytes=2048, ffma=0, tiles=128),
    _multistage(stages=4, ffma=512),
    _multistage("warm", stages=4, tile_bytes=4096),
    _multistage("warm", stages=3, tile_bytes=2048, ffma=256),
)


def _sgemm(l2: str = "cold", **params: int) -> Configuration:
    return Configuration(scenario="sgemm_cp_async", params=params, l2=l2)


def _square(size: int, l2: str = "cold", **params: int) -> Configuration:
    return _sgemm(l2, m=size, n=size, k=size, **params)


_SGEMM = (
    # one CTA
    _sgemm("warm", m=128, n=128, k=4096),
    _sgemm("warm", m=128, n=128, k=4096, stages=5),
    _sgemm("cold", m=128, n=128, k=4096, stages=4, distance=1),
    # the whole GPU
    _square(1024),
    _square(2048, stages=2),
    _square(2048, stages=3),
    _square(2048, stages=4),
    _square(2048, stages=5),
    _square(4096, stages=2),
    _square(4096, stages=3),
    _square(4096, stages=4),
    _square(4096, stages=5),
    _square(4096, "warm", stages=3),
    _square(4096, stages=4, distance=1),
    _square(4096, stages=3, alpha=2, beta=3),
    _sgemm(m=8192, n=1024, k=2048),
)

_GEMM_PAIR = (
    # two consumer warpgroups
    _gemm("warm", m=256, n=128, k=4096, consumers=2, block_m=256),
    _cube(2048, consumers=2, block_m=256),
    _cube(4096, consumers=2, block_m=256),
    _cube(4096, "warm", consumers=2, block_m=256),
    _cube(4096, consumers=2, block_m=256, stages=3),
    _cube(4096, consumers=2, block_m=256, stages=2),
    _cube(4096, consumers=2, block_m=256, lag=0),
    _cube(4096, consumers=2, block_m=256, k_order=1),
    _cube(4096, consumers=2, block_n=256),
    _cube(4096, consumers=2, block_n=256, stages=3),
    _cube(4096, consumers=2, block_m=128, block_n=128, stages=6),
    _cube(4096, k_order=1),
    _cube(8192, consumers=2, block_m=256),
    _cube(8192, consumers=2, block_n=256),
    _gemm(m=8192, n=1024, k=4096, consumers=2, block_m=256),
    # edge tiles
    _gemm(m=4000, n=4000, k=4000, consumers=2, block_m=256),
    _gemm(m=4000, n=3999, k=4000),
)

# the producer a warpgroup that gives its registers to the consumers
_GEMM_REGISTERS = (
    _gemm("warm", m=256, n=128, k=4096, consumers=2, block_m=256, setmaxnreg=1),
    _cube(2048, consumers=2, block_m=256, setmaxnreg=1),
    _cube(4096, setmaxnreg=1),
    _cube(4096, stages=3, setmaxnreg=1),
    _cube(4096, consumers=2, block_m=256, setmaxnreg=1),
    _cube(4096, consumers=2, block_m=256, stages=3, setmaxnreg=1),
    _cube(4096, consumers=2, block_n=256, setmaxnreg=1),
    _gemm(m=4000, n=4000, k=4000, consumers=2, block_m=256, setmaxnreg=1),
)

_TMA_COPY = (
    Configuration(scenario="tma_copy", params={"m": 16, "n": 32}, l2="warm"),
    Configuration(scenario="tma_copy", params={"m": 16, "n": 32}),
    Configuration(scenario="tma_copy"),
    Configuration(scenario="tma_copy", params={"m": 8192, "n": 8192}),
)

# More shapes of the same kernels: other trains of copies, narrow stages, odd edges.
_WIDER = (
    Configuration(scenario="tma_copy", params={"m": 1024, "n": 1024}),
    Configuration(scenario="tma_copy", params={"m": 1024, "n": 1024}, l2="warm"),
    Configuration(scenario="tma_copy", params={"m": 4096, "n": 4096}),
    Configuration(scenario="tma_copy", params={"m": 2000, "n": 3000}, l2="warm"),
    _cube(4096, consumers=2, block_m=256, block_k=32, stages=3),
    _cube(4096, consumers=2, block_m=256, block_k=32, stages=4),
    _cube(4096, consumers=2, block_m=256, block_k=32, stages=6),
    _cube(4096, consumers=2, block_n=256, stages=2),
    _cube(2048, consumers=2, block_m=256, stages=2),
    _gemm(m=8192, n=2048, k=2048, consumers=2, block_m=256, stages=3),
    _gemm(m=2000, n=3001, k=2048),
    _gemm(m=3000, n=2002, k=2048, consumers=2, block_m=256),
)


def _of(scenario: str, l2: str = "cold", **params: int) -> Configuration:
    return Configuration(scenario=scenario, params=params, l2=l2)


_CLUSTER_SUM = (
    _of("cluster_sum", "warm", cluster=1, clusters=1, rows=4096),
    _of("cluster_sum", "warm", cluster=2, clusters=1, rows=1024),
    _of("cluster_sum", "warm", cluster=8, clusters=1, rows=256),
    _of("cluster_sum", cluster=2, clusters=66),
    _of("cluster_sum"),
    _of("cluster_sum", cluster=8, clusters=15, rows=512),
    _of("cluster_sum", cluster=16, clusters=7),
)

_TMA_REDUCE = (
    _of("tma_reduce", "warm", ctas=1, tiles=256),
    _of("tma_reduce", "warm", ctas=1, tiles=256, stages=1),
    _of("tma_reduce"),
    _of("tma_reduce", tiles=64, op=2),
    _of("tma_reduce", "warm", tiles=16, outputs=132),
    _of("tma_reduce", tiles=61, outputs=1, stages=4),
)

_DISPATCH = (
    _of("dispatch", "warm", ctas=1, rows=512),
    _of("dispatch", "warm", ctas=1, rows=512, stages=2, topk=1),
    _of("dispatch"),
    _of("dispatch", width=4096),
    _of("dispatch", width=512, rows=256, topk=4, stages=8),
    _of("dispatch", ctas=264, rows=61, width=1000, experts=7),
)

_IM2COL = (
    _of("tma_im2col", "warm", batch=1, height=8, width=16, channels=512),
    _of("tma_im2col"),
    _of("tma_im2col", "warm"),
    _of("tma_im2col", batch=32, height=28, width=28, channels=256, filters=256),
    _of("tma_im2col", batch=30, height=55, width=57, filters=120),
    _of("tma_im2col", size=1, channels=256, stages=3),
)


_SYNC = (
    Configuration(scenario="sync_copy", params={"ctas": 1, "tiles": 256}, l2="warm"),
    Configuration(scenario="sync_copy", params={"ctas": 1, "tiles": 256}),
    Configuration(scenario="sync_copy"),
    Configuration(scenario="sync_copy", params={"ffma": 512}),
    Configuration(scenario="sync_copy", params={"tile_bytes": 16384, "ffma": 0}),
    Configuration(scenario="sync_copy", params={"tile_bytes": 2048, "tiles": 128}, l2="warm"),
    Configuration(scenario="sync_copy", params={"ctas": 528, "tiles": 32}),
)


def _attention(l2: str = "warm", **params: int) -> Configuration:
    return Configuration(scenario="flash_attention", params=params, l2=l2)


_ATTENTION = (
    _attention(),
    _attention(causal=1),
    _attention(overlap=0),
    _attention(pingpong=0),
    _attention(overlap=0, pingpong=0),
    _attention(causal=1, overlap=0),
    _attention(causal=1, pingpong=0),
    _attention(block_n=176),
    _attention(hdim=64),
    _attention(hdim=64, consumers=3),
    _attention(hdim=256, heads=32),
    _attention(seq=16384, heads=16),
    _attention(seq=16384, heads=16, causal=1),
    _attention(seq=4000, heads=64, causal=1),
    _attention(seq=1000, heads=128),
)

SETS: dict[str, tuple[Configuration, ...]] = {
    "slice": (*_RING, *_GEMM, *_MULTISTAGE),
    "tma_ring": _RING,
    "ws_gemm": _GEMM,
    "cp_async_multistage": _MULTISTAGE,
    "width": (*_SYNC, *_TMA_COPY, *_SGEMM, *_GEMM_PAIR, *_GEMM_REGISTERS),
    "sgemm_cp_async": _SGEMM,
    "wider": _WIDER,
    "tma_copy": (*_TMA_COPY, *_WIDER[:4]),
    "hopper": (*_CLUSTER_SUM, *_TMA_REDUCE, *_DISPATCH, *_IM2COL),
    "flash_attention": _ATTENTION,
    "fp8_gemm": products.FP8,
    "atomic_gemm": products.ATOMIC,
    "mma_gemm": products.MMA,
    "persistent": (
        *products.COOPERATIVE,
        *products.PINGPONG,
        *products.MULTICAST,
        *products.SPLIT,
        *products.GROUPED,
    ),
    "coverage": COVERAGE,
    "smoke": (
        _ring("warm", ctas=1, tiles=256),
        _ring(),
        _multistage("warm", ctas=1, tiles=256),
        _multistage(),
        _gemm("warm", m=128, n=128, k=4096),
        _cube(512),
        _cube(4096),
        _cube(4096, "warm"),
        _cube(4096, stages=3),
        _cube(4096, block_m=64, block_n=256),
        _cube(4096, lag=0),
    ),
}

REFERENCE_SIZES = (1024, 2048, 4096, 8192)
