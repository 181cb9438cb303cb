"""What nvMatmulHeuristics estimates for the GEMM rows, stored with the version of the package.

The package (extra ``beside``, no GPU needed) has a timing model that takes a problem, the tile of a
CTA, a cluster and a split of K; stages, warps, the tile's K and the layout do not change what it
says. So each row is asked with its own tile, cluster and split, not with the kernel that the
package would choose.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.errors import UsageError
from asyncsim.hw.beside.roofline import Gemm, gemm
from asyncsim.hw.compare import Key, grouped
from asyncsim.hw.store import FOLDER, Measurement
from asyncsim.ir import op as ops
from asyncsim.ir.matrix import MmaSync
from asyncsim.ir.schedule import Schedule, statements

STORED = FOLDER.parent / "beside" / "heuristics.json"
PACKAGE = "nvidia-matmul-heuristics"
GPU = "H200_SXM"
WHOLE_GPU = 120  # CTAs of the smallest grid that takes the GPU: clusters of four leave 12 SMs out


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the package is asked: a problem in its terms.

    ``target``: "CUTLASS3" for wgmma, "CUTLASS" for what came before. ``precision``: letters of A
    (and B, C if 8 bits wide), sums, result.
    """

    target: str
    precision: str
    mnk: tuple[int, int, int]
    tile: tuple[int, int]
    instruction: tuple[int, int, int]
    cluster: tuple[int, int]
    split: int


def asked(schedule: Schedule, params: Mapping[str, int]) -> Asked | None:
    """None for what the package has no words for: ragged groups, and grids of few CTAs."""
    problem = gemm(schedule, params)
    if problem is None or "groups" in params or schedule.ctas < WHOLE_GPU:
        return None
    target = "CUTLASS"
    body = tuple(statements(schedule.body))
    k = 32 // problem.operand_bytes
    instruction = (1, 1, 1)
    if any(isinstance(s, MmaSync) for s in body):
        instruction = (16, 8, k)
    if any(isinstance(s, ops.WgmmaMmaAsync) for s in body):
        target, instruction = "CUTLASS3", (64, 8, k)
    return Asked(
        target=target,
        precision=_precision(problem),
        mnk=(params["m"], params["n"], params["k"]),
        tile=_tile(schedule, params),
        instruction=instruction,
        cluster=(params.get("cluster_m", 1), params.get("cluster_n", 1)),
        split=params.get("splits", 1),
    )


def _tile(schedule: Schedule, params: Mapping[str, int]) -> tuple[int, int]:
    """The part of the result that a CTA computes; where no parameter says it, by the grid."""
    if "block_m" in params:
        return params["block_m"], params["block_n"]
    rows, columns, _ = schedule.grid
    return 16 * -(-params["m"] // (16 * rows)), 16 * -(-params["n"] // (16 * columns))


def _precision(problem: Gemm) -> str:
    """The letters that the package takes: S 32 bits, T bf16, Q e4m3."""
    letters = {4: "S", 2: "T", 1: "Q"}
    operand, result = letters[problem.operand_bytes], letters[problem.result_bytes]
    return f"QQ{result}S{result}" if operand == "Q" else f"{operand}S{result}"


def estimate_rows(rows: Iterable[Measurement]) -> dict[Key, float]:
    """Microseconds by configuration, for the rows that can be asked.

    Raises UsageError when the package is not installed.
    """
    found: dict[Key, float] = {}
    for key in grouped(rows):
        params = dict(key[1])
        question = asked(find_scenario(key[0]).build(params), params)
        if question is not None:
            found[key] = estimate_us(question)
    return found


def estimate_us(question: Asked) -> float:
    """The package's estimate of one kernel on an H200, in microseconds."""
    try:
        import nvMatmulHeuristics as nv
    except ImportError:
        raise UsageError(f"{PACKAGE} is not installed; pip install 'asyncsim[beside]'") from None
    target = nv.NvMatmulHeuristicsTarget[question.target]
    layout = nv.NvMatmulHeuristicsMatmulLayout.NT_ROW_MAJOR
    model = nv.NvMatmulHeuristicsInterfaceEx(
        backend=target, gpu=nv.NvMatmulHeuristicsNvidiaGpu[GPU]
    )
    model.loadInternalDiscoverySet(layout, question.precision)
    problem = model.makeNvMatmulHeuristicsProblem(*question.mnk, layout)
    kernel = model.nvmmhKernelConfiguration()
    depth = 4 * question.instruction[2] if question.target == "CUTLASS3" else 32
    kernel.cta[:] = (*question.tile, depth)
    kernel.warp[:] = (64, 64, depth)
    kernel.instr[:] = question.instruction
    kernel.cluster[:] = question.cluster
    kernel.splitK, kernel.loadStages, kernel.gridSwizzle = question.split, 4, 1
    seconds = model.nvMatmulHeuristicsEstimateRuntime(
        model.handle,
        question.precision.encode("ascii"),
        ctypes.c_int(target),
        ctypes.byref(problem),
        ctypes.byref(kernel),
        model.hardware_descriptor,
    )
    if not seconds > 0:
        raise UsageError(f"{PACKAGE} has no estimate for {question}")
    return float(seconds) * 1e6


def installed() -> str | None:
    """The version of the package, None without it."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return None


def text_of(estimates: Mapping[Key, float]) -> str:
    """The stored form: one configuration a line."""
    head = {"schema": 1, "package": PACKAGE, "version": installed(), "gpu": GPU}
    lines = ",\n".join(f"  {json.dumps(row)}" for row in _as_json(estimates))
    return json.dumps(head)[:-1] + f', "rows": [\n{lines}\n]}}\n'


def _as_json(estimates: Mapping[Key, float]) -> Iterator[dict[str, Any]]:
    for (scenario, params, l2), us in sorted(estimates.items()):
        yield {"scenario": scenario, "params": dict(params), "l2": l2, "us": round(us, 4)}


@dataclass(frozen=True, slots=True)
class Stored:
    """Estimates in microseconds by configuration, and of which version."""

    version: str
    us: Mapping[Key, float]


def load_estimates(path: Path = STORED) -> Stored:
    """What was stored; a parameter newer than a row has its default."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found: dict[Key, float] = {}
    for row in document["rows"]:
        params = {**find_scenario(row["scenario"]).params, **row["params"]}
        found[row["scenario"], tuple(sorted(params.items())), row["l2"]] = row["us"]
    return Stored(document["version"], found)
