"""Run every case in a child process and write raw rows with their provenance as JSON.

See docs/machine.md.
"""

__all__ = ["all_cases", "chosen", "compile_all", "dump", "measure", "run_child"]

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .case import Case
from .cases_beside import beside_cases
from .cases_both import both_cases
from .cases_cluster import cluster_cases
from .cases_code import code_cases
from .cases_copy import copy_cases
from .cases_fma import fma_cases
from .cases_landing import landing_cases
from .cases_matrix import matrix_cases
from .cases_memory import memory_cases
from .cases_open import open_cases
from .cases_power import power_cases
from .cases_promotion import promotion_cases
from .cases_release import release_cases
from .cases_share import share_cases
from .cases_shared_sm import shared_sm_cases
from .cases_sync import sync_cases
from .cases_tiles import tiles_cases
from .cases_train import train_cases
from .cases_turns import turns_cases
from .long_run import FILLING
from .sources import compile_variant

CHILD_SECONDS = 240
# These feed no number: they are measured in the first pass alone.
CHECKS = (
    *("pairs", "ring", "block_order", "outer_ring", "outer_extra", "outer_sync", "cta_parts"),
    *("clock_operands", "wgmma_release", "bulk_turn", "both", "sends", "power"),
    *("both_slow", "same_part", "mixed", "global_turn", "remote_read", "tiles", "bulk_chain"),
    *("stream_pitch", "tile_copy_pitch", "tma_store_pitch", "tma_latency_pitch", "power_together"),
    *("promoted_landing", "promoted_pairs", "turns_beside", "ring_held_up"),
)
Row = dict[str, Any]


def all_cases() -> Iterator[Case]:
    yield from copy_cases()
    yield from landing_cases()
    yield from share_cases()
    yield from release_cases()
    yield from sync_cases()
    yield from code_cases()
    yield from fma_cases()
    yield from matrix_cases()
    yield from tiles_cases()
    yield from train_cases()
    yield from cluster_cases()
    yield from shared_sm_cases()
    yield from open_cases()
    yield from both_cases()
    yield from beside_cases()
    yield from memory_cases()
    yield from promotion_cases()
    yield from turns_cases()
    yield from power_cases()


def chosen(only: str | None) -> list[Case]:
    """The cases whose name starts with `only`; several beginnings stand with commas between."""
    beginnings = tuple((only or "").split(","))
    return [case for case in all_cases() if case.bench.startswith(beginnings)]


def compile_all(folder: Path, only: str | None = None) -> int:
    """Compile every variant into `folder`; return how many.  Needs NVRTC, no GPU."""
    import cuda.core  # noqa: F401  threads that import it at once see half of it

    from .lab import cubin_name

    folder.mkdir(parents=True, exist_ok=True)
    variants = list(dict.fromkeys(case.variant for case in chosen(only)))
    variants += [v for v in FILLING if any(case.seconds for case in chosen(only))]
    missing = [v for v in variants if not (folder / cubin_name(v)).exists()]

    def build(variant: Any) -> None:
        code, _ = compile_variant(variant)
        (folder / cubin_name(variant)).write_bytes(code.code)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(build, missing))
    return len(variants)


def run_child(
    out: Path,
    cubins: Path | None,
    only: str | None,
    passes: int = 1,
    seconds: float = CHILD_SECONDS,
) -> int:
    """Run `measure` in a child that is killed after `seconds`; partial results stay."""
    package = __package__ or "hw.calibrate"
    command = [sys.executable, "-m", package, "child", "--out", str(out), "--passes", str(passes)]
    if cubins:
        command += ["--cubins", str(cubins)]
    if only:
        command += ["--only", only]
    try:
        return subprocess.run(command, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"stopped after {seconds:.0f} s; {out} holds what was measured", file=sys.stderr)
        return 1


def measure(out: Path, cubins: Path | None, only: str | None, passes: int = 1) -> int:
    """Measure every chosen case once in each pass; a failing case is recorded, not fatal."""
    from .lab import Lab

    lab = Lab(cubins)
    rows: list[Row] = []
    document: dict[str, Any] = {"schema": 1, "provenance": _provenance(lab), "rows": rows}
    begin = saved = time.monotonic()
    failures = 0
    turns = [(n, c) for n in range(passes) for c in chosen(only) if not n or c.bench not in CHECKS]
    turns.sort(key=lambda turn: turn[1].seconds > 0)  # they warm the board, and change its data
    for number, case in turns:
        head: Row = {"bench": case.bench, "params": case.params, "unit": case.unit}
        if passes > 1:
            head["pass"] = number
        try:
            samples = lab.run(case)
            rows += [_row(head, name, values, case) for name, values in samples.items()]
        except Exception as error:  # a broken benchmark must not cost the others
            failures += 1
            rows.append({**head, "error": f"{type(error).__name__}: {error}"[:2000]})
            print(f"FAILED {case.bench} {case.params}: {error}"[:300], file=sys.stderr)
        if time.monotonic() - saved > 10:
            saved = time.monotonic()
            out.write_text(json.dumps(document), encoding="utf-8")
    document["provenance"]["gpcs"] = lab.context.gpcs
    document["provenance"]["seconds"] = round(time.monotonic() - begin, 1)
    out.write_text(dump(document), encoding="utf-8")
    print(
        f"{len(rows)} rows, {failures} failures, {time.monotonic() - begin:.1f} s", file=sys.stderr
    )
    return 0


def _row(head: Row, metric: str, values: Any, case: Case) -> Row:
    p10, median, p90 = (float(np.percentile(values, q)) for q in (10, 50, 90))
    row: Row = {
        **head,
        "metric": metric,
        "median": round(median, 4),
        "p10": round(p10, 4),
        "p90": round(p90, 4),
        "n": int(values.size),
    }
    if case.series:
        row["series"] = [round(float(v), 2) for v in values[-600:]]
    return row


def dump(document: dict[str, Any]) -> str:
    """JSON with one row on each line, so that a diff is readable."""
    rows = ",\n".join(json.dumps(row) for row in document["rows"])
    head = json.dumps({k: v for k, v in document.items() if k != "rows"}, indent=1)
    return f'{head[:-2]},\n "rows": [\n{rows}\n]}}\n'


def _provenance(lab: Any) -> dict[str, Any]:
    from cuda.bindings import driver, nvrtc

    uuid = str(lab.device.uuid)
    query = ["nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader"]
    try:
        smi = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
        driver_version, _, power = smi.stdout.strip().splitlines()[0].partition(", ")
    except (OSError, IndexError, subprocess.TimeoutExpired):
        driver_version = power = ""
    _, cuda_version = driver.cuDriverGetVersion()
    _, major, minor = nvrtc.nvrtcVersion()
    return {
        "gpu": str(lab.device.name),
        "board": hashlib.sha256(uuid.encode()).hexdigest()[:8],
        "driver": driver_version,
        "power_limit": power,
        "cuda": f"{cuda_version // 1000}.{cuda_version % 1000 // 10}",
        "nvrtc": f"{major}.{minor}",
        "nvrtc_package": _version("nvidia-cuda-nvrtc"),
        "cuda_core": _version("cuda-core"),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"
