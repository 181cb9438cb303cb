"""Cases: issue costs, barriers, hand-offs, pipes, loops, launch.  See docs/machine.md."""

__all__ = ["sync_cases"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Reduce, Samples, Words, first, per_step
from .sources import Variant

# name -> (OP of issue.cu, block, two run lengths)
ISSUE: dict[str, tuple[int, int, tuple[int, int]]] = {
    "tensor_load_elected": (0, 32, (3, 7)),
    "tensor_load_thread": (1, 32, (3, 7)),
    "bulk_load_elected": (2, 32, (3, 7)),
    "bulk_load_thread": (3, 32, (3, 7)),
    "arrive": (4, 32, (16, 48)),
    "arrive_expect_tx": (5, 32, (16, 48)),
    "try_wait_pipelined": (6, 32, (16, 48)),
    "try_wait_branched": (7, 32, (16, 48)),
    "fence_proxy_async_smem": (8, 32, (16, 48)),
    "fence_proxy_async": (9, 32, (16, 48)),
    "fence_mbarrier_init": (10, 32, (16, 48)),
    "syncwarp": (11, 32, (16, 48)),
    "elect": (12, 32, (16, 48)),
    "mbarrier_init": (13, 32, (16, 48)),
    "cp_commit": (14, 32, (16, 48)),
    "cp_commit_wait": (15, 32, (16, 48)),
    "bulk_commit": (16, 32, (16, 48)),
    "bulk_wait": (17, 32, (16, 48)),
    "fence_cta": (18, 32, (16, 48)),
    "fence_gpu": (19, 32, (16, 48)),
    "sts": (20, 32, (16, 48)),
    "elected_arrive_syncwarp": (21, 32, (16, 48)),
    "lane0_arrive_syncwarp": (22, 32, (16, 48)),
    "expect_tx": (23, 32, (16, 48)),
    "wgmma_fence": (24, 128, (16, 48)),
    "wgmma_wait": (26, 128, (16, 48)),
    "wgmma_empty_group": (30, 128, (16, 48)),
    "clock_read": (31, 32, (16, 48)),
    "try_wait_counted": (32, 32, (16, 48)),
    "cp_wait": (33, 32, (16, 48)),
    "try_wait_cluster": (34, 32, (16, 48)),
    "arrive_cluster": (35, 32, (16, 48)),
}
STYLES = ("converged", "diverged", "diverged_counted", "diverged_tight")
SHARES = ("none", "i, i^1", "i, i^2", "i, i^4", "four places", "all")
PIPES = {"ffma": 0, "lop3": 1, "ex2": 2, "cvt": 3, "shfl": 4, "lds": 5, "fmnmx": 6, "imad": 7}
PIPES |= {"lg2": 8, "redux": 9, "hfma2": 10}


def sync_cases() -> Iterator[Case]:
    yield from _issue()
    yield from _barriers()
    yield from _setmaxnreg()
    yield from _pipes()
    yield from _launch()


def _issue_case(bench: str, op: int, run: int, block: int, params: dict[str, int | str]) -> Case:
    return Case(
        bench,
        params,
        Variant("issue.cu", (("OP", op), ("R", run))),
        "issue",
        first(40, skip=8),
        block=block,
        args=(0, 1, 40, 0),
        rows=8,
    )


def _issue() -> Iterator[Case]:
    for name, (op, block, runs) in ISSUE.items():
        for run in runs:
            yield _issue_case("issue", op, run, block, {"op": name, "run": run})


def _handoff(words: Words, context: Context) -> Samples:
    pairs = words[: 2 * 96].reshape(96, 2)[16:].astype(np.float64)
    return {"first": pairs[:, 0], "last": pairs[:, 1]}


def _barriers() -> Iterator[Case]:
    for warps in (1, 2, 4, 8, 12, 16, 32):
        for run in (16, 48):
            params: dict[str, int | str] = {"warps": warps, "run": run}
            yield _issue_case("syncthreads", 27, run, 32 * warps, params)
            yield _issue_case("named_barrier", 28, run, 32 * warps, params)
    for run in (16, 48):
        yield _issue_case("named_barrier_static", 29, run, 128, {"warps": 4, "run": run})
    for mode in (0, 1, 2, 3):
        for waiters in (1, 2, 4, 8, 12, 16):
            yield Case(
                "mbarrier_handoff",
                {"waiters": waiters, "style": STYLES[mode]},
                Variant("handoff.cu", (("MODE", mode),)),
                "handoff",
                _handoff,
                block=32 * (waiters + 1),
                args=(0, 0, 96, 0),
            )
    for waiters in (1, 4, 8, 12):
        yield Case(
            "mbarrier_pingpong",
            {"waiters": waiters},
            Variant("handoff.cu"),
            "pingpong",
            per_step(512),
            block=32 * (waiters + 1),
            args=(0, 0, 256, 0),
            repeat=20,
        )
    for warps in (2, 4, 8, 16):
        yield Case(
            "named_handoff",
            {"warps": warps},
            Variant("handoff.cu"),
            "named_pingpong",
            per_step(512),
            block=32 * warps,
            args=(0, 0, 256, 0),
            repeat=20,
        )


def _registers(last: bool) -> Reduce:
    """Warps 0..7 ask, 8..11 give. ``last``: the slowest warp of each CTA alone."""

    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 16 * 132].reshape(132, 16).astype(np.float64)
        asked = rows[:, :8].max(axis=1) if last else rows[:, :8].ravel()
        return {"inc": asked, "dec": rows[:, 8:12].ravel()}

    return reduce


def _after_exit(words: Words, context: Context) -> Samples:
    return {"inc": words[: 16 * 132].reshape(132, 16)[:, :4].astype(np.float64).ravel()}


def _setmaxnreg() -> Iterator[Case]:
    reduces = {"free": _registers(last=False), "waits": _registers(last=True), "exit": _after_exit}
    for mode, (pool, reduce) in enumerate(reduces.items()):
        yield Case(
            "setmaxnreg",
            {"pool": pool},
            Variant("setmaxnreg.cu", (("MODE", mode),)),
            "registers",
            reduce,
            grid=132,
            block=384,
            args=(20_000, 200_000, 0, 0),
            words=16 * 132,
            repeat=5,
        )


def _pipe_reduce(chains: int, warps: int) -> object:
    def reduce(words: Words, context: Context) -> Samples:
        return {"cycles": np.array([words[:warps].max() / (64 * chains)])}

    return reduce


def _pipes() -> Iterator[Case]:
    for name, op in PIPES.items():
        for chains, warps in ((1, 1), (8, 1), (8, 4), (4, 16)):
            variant = Variant("alu.cu", (("OP", op), ("CHAINS", chains)))
            yield Case(
                "pipe",
                {"op": name, "chains": chains, "warps": warps},
                variant,
                "pipe",
                _pipe_reduce(chains, warps),  # type: ignore[arg-type]
                block=32 * warps,
                args=(3, 5, 0, 1),
                words=1024,
                repeat=20,
            )
    for width, share in ((4, 0), (16, 0), (16, 1), (16, 2), (16, 3), (16, 4), (16, 5)):
        for warps in (1, 4, 8):
            defines = (("OP", 0), ("CHAINS", 1), ("LDS_WIDTH", width), ("LDS_SHARE", share))
            yield Case(
                "lds_rate",
                {"width": width, "warps": warps, "share": SHARES[share]},
                Variant("alu.cu", defines),
                "lds_rate",
                _pipe_reduce(1, warps),  # type: ignore[arg-type]
                block=32 * warps,
                words=1024,
                repeat=20,
            )
    for body in (1, 4, 8, 32, 128, 256, 512):
        for warps in (1, 4):
            yield Case(
                "loop",
                {"body": body, "warps": warps},
                Variant("alu.cu", (("OP", 0), ("CHAINS", 1), ("BODY", body))),
                "loop",
                per_step(256),
                block=32 * warps,
                args=(1, 2, 256, 0),
                repeat=20,
            )


def _starts(ctas: int) -> object:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 4 * ctas].reshape(ctas, 4)
        first_wave = rows[np.argsort(rows[:, 2])][: min(ctas, 132)]
        samples = {"ramp_ns": np.array([float(first_wave[:, 2].max() - first_wave[:, 2].min())])}
        gaps: list[float] = []
        for sm in np.unique(rows[:, 3]):
            on_sm = rows[rows[:, 3] == sm]
            on_sm = on_sm[np.argsort(on_sm[:, 0])]
            gaps += (on_sm[1:, 0] - on_sm[:-1, 1]).astype(float).tolist()
        if gaps:
            samples["replacement"] = np.array(gaps)
        return samples

    return reduce


def _setup(words: Words, context: Context) -> Samples:
    row = words[:3].astype(np.float64)
    return {"dispatch": row[:1], "total": row[1:2], "ring": row[2:3]}


def _mhz(words: Words, context: Context) -> Samples:
    pairs = words[: 2 * 132].reshape(132, 2)
    return {"mhz": 1000.0 * pairs[:, 0] / pairs[:, 1]}


def _launch() -> Iterator[Case]:
    variant = Variant("launch.cu")
    for threads in (32, 128, 384):
        for waves in (1, 4):
            yield Case(
                "cta_starts",
                {"threads": threads, "waves": waves},
                variant,
                "starts",
                _starts(132 * waves),  # type: ignore[arg-type]
                grid=132 * waves,
                block=threads,
                smem=200_000,
                args=(20_000, 0, 0, 0),
                words=4 * 132 * waves,
                repeat=20,
            )
    for threads in (160, 384):
        yield Case(
            "ring_setup",
            {"threads": threads},
            variant,
            "setup",
            _setup,
            block=threads,
            rows=8,
            repeat=20,
        )
    yield Case(
        "clock_idle",
        {},
        variant,
        "clock_rate",
        _mhz,
        grid=132,
        args=(1_000_000, 0, 0, 0),
        words=264,
        repeat=3,
        unit="mhz",
    )
