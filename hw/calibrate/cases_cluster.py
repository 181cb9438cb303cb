"""Cases: CTAs of a cluster, and kernels that follow each other.  See docs/machine.md."""

__all__ = ["cluster_cases"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Samples, Words, first, per_step
from .sources import Variant

KB = 1024
BARRIER, RELAXED, ARRIVE, RELEASE, LOAD = range(5)  # OP of cluster.cu
EARLY = ("before the work", "behind the work", "not at all")
PDL_CTAS = 132


def cluster_cases() -> Iterator[Case]:
    for op, name in ((BARRIER, "release"), (RELAXED, "relaxed")):
        for size in (1, 2, 4, 8, 16):
            for threads in (32, 128, 384):
                for run in (16, 48):
                    params: dict[str, int | str] = {"order": name, "cluster": size, "run": run}
                    params["threads"] = threads
                    yield _issue("cluster_barrier", op, run, size, threads, params)
    for op, name in ((ARRIVE, "default"), (RELEASE, "release.cluster")):
        for run in (16, 48):
            params = {"order": name, "run": run}
            yield _issue("remote_arrive", op, run, 2, 32, params)
        for size in (2, 4, 8):
            yield Case(
                "remote_handoff",
                {"order": name, "cluster": size},
                Variant("cluster.cu", (("OP", op), ("R", 16))),
                "cluster_pingpong",
                per_step(512),
                grid=size,
                cluster=size,
                args=(0, 0, 512, 0),
                repeat=20,
            )
    for run in (16, 48):
        yield _issue("remote_load", LOAD, run, 2, 32, {"run": run})
    for size in (2, 4):
        for kb in (1, 4, 16, 32):
            for all_ in (0, 1):
                yield Case(
                    "multicast",
                    {"cluster": size, "bytes": kb * KB, "to": "all" if all_ else "own"},
                    Variant("cluster.cu", (("OP", 0), ("R", 16))),
                    "multicast",
                    first(72, skip=8),
                    grid=size,
                    cluster=size,
                    args=(kb * KB, all_, 72, 0),
                    rows=kb * 8,
                    repeat=2,
                )
    for early, name in enumerate(EARLY):
        for prologue in (0, 4000):
            yield Case(
                "pdl",
                {"launch": name, "prologue": prologue},
                Variant("pdl.cu"),
                "pdl",
                _pdl,
                grid=PDL_CTAS,
                block=128,
                smem=40_000,
                args=(40_000, early, prologue, 0),
                words=2000,
                repeat=20,
                warmups=3,
                dependent=True,
                unit="ns",
            )


def _issue(
    bench: str, op: int, run: int, size: int, threads: int, params: dict[str, int | str]
) -> Case:
    return Case(
        bench,
        params,
        Variant("cluster.cu", (("OP", op), ("R", run))),
        "cluster_issue",
        first(40, skip=8),
        grid=size,
        block=threads,
        cluster=size,
        args=(0, 0, 40, 0),
    )


def _pdl(words: Words, context: Context) -> Samples:
    """Against the end of the last CTA of the first kernel."""
    ahead, behind = (words[at : at + 4 * PDL_CTAS].reshape(-1, 4) for at in (0, 1000))
    end = float(ahead[:, 2].max())
    return {
        "start": np.array([behind[:, 0].min() - end]),
        "wait": np.array([behind[:, 1].max() - end]),
    }
