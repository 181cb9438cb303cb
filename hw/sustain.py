"""Measure kernels that are launched back to back for as long as the board needs to settle.

``python -m asyncsim.hw.sustain --out rows.json``. A launch's time is the interval of launches;
clock, power and temperature are read meanwhile. See docs/hardware.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncsim.catalog import find_scenario
from asyncsim.hw.compile import compile_schedule, nvrtc_version
from asyncsim.hw.launch.prepare import make_spec
from asyncsim.hw.measure import commit_id, document_text

if TYPE_CHECKING:
    from asyncsim.hw.launch.gpu import Gpu
    from asyncsim.hw.launch.protocol import RunSpec

SECONDS, SETTLED = 1.6, 0.55
BATCH_S = 0.03  # launches between two looks at the clock
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Load:
    """A scenario that leaves its inputs as they are, with operands of "random" or "zeros"."""

    scenario: str
    params: dict[str, int]
    operands: str = "random"


def _cube(scenario: str, size: int, operands: str = "random", **more: int) -> Load:
    return Load(scenario, {"m": size, "n": size, "k": size, **more}, operands)


LOADS: tuple[Load, ...] = (
    *(_cube("cooperative_gemm", n, o) for n in (4096, 8192) for o in ("random", "zeros")),
    _cube("cooperative_gemm", 2048),
    *(_cube("ws_gemm", 4096, o) for o in ("random", "zeros")),
    _cube("ws_gemm", 4096, consumers=2, block_m=256),
    _cube("ws_gemm", 4096, block_m=64, block_n=64, stages=6),
    _cube("pingpong_gemm", 4096),
    *(_cube("fp8_gemm", 4096, o) for o in ("random", "zeros")),
    _cube("fp8_gemm", 8192),
    *(Load("flash_attention", {"seq": 4096, "heads": 64}, o) for o in ("random", "zeros")),
    Load("flash_attention", {"seq": 4096, "heads": 64, "causal": 1}),
    _cube("mma_gemm", 4096),
    _cube("sgemm_cp_async", 4096),
    Load("tma_ring", {"tiles": 128}),
    Load("tma_ring", {"tiles": 128, "ffma": 512}),
    Load("tma_copy", {"m": 8192, "n": 8192}),
    Load("cp_async_multistage", {"tiles": 128}),
)


def sustain(gpu: Gpu, spec: RunSpec, seconds: float = SECONDS) -> Row:
    """Launch again and again; medians and means of what follows once the clock has settled."""
    import numpy as np
    from cuda.core import EventOptions

    from asyncsim.hw.launch.gpu import _times
    from asyncsim.hw.nvml import Board, Watch, mean_watts

    board = Board(str(gpu.device.uuid))
    tensors = {name: gpu._tensor(t) for name, t in spec.tensors.items()}
    kernel = gpu._loaded(spec, tensors)
    gpu._launch(kernel, 0, overlaps=False)
    gpu.stream.sync()
    batch = max(4, round(BATCH_S / max(_times([gpu._marks(kernel)])[0] * 1e-9, 1e-5)))
    timed = EventOptions(timing_enabled=True)
    launched: list[float] = []
    spans: list[tuple[int, int, float]] = []
    with Watch(board) as watch:
        begin = time.monotonic()
        settled = begin + SETTLED * seconds
        while time.monotonic() < begin + seconds:
            first = gpu.stream.record(options=timed)
            for _ in range(batch):
                gpu._launch(kernel, 0, overlaps=False)
            last = gpu.stream.record(options=timed)
            gpu.stream.sync()
            if time.monotonic() > settled:
                launched.append(1000 * float(last - first) / batch)
                spans.append(_times([gpu._marks(kernel)]))
    stopped = int(gpu._download(kernel.report, np.uint32)[0])
    for buffer in (*tensors.values(), *kernel.buffers):
        if buffer is not None:
            buffer.close(gpu.stream)
    if stopped:
        return {"error": "a wait reached its bound"}
    late = [s for s in watch.samples if s.at >= settled]
    reasons = 0
    for s in late:
        reasons |= s.reasons
    return {
        "time_us": round(float(np.mean(launched)), 3),
        "span_us": round(float(np.median([s[0] for s in spans])) / 1000, 3),
        "clock_mhz": round(1000 * float(np.mean([s[2] for s in spans])), 1),
        "watts": round(mean_watts(watch.samples, settled) or late[-1].watts, 1),
        "driver_watts": round(late[-1].watts, 1),
        "celsius": board.celsius(),
        "reasons": reasons,
        "n": batch * len(launched),
    }


def _prepared(load: Load, folder: Path) -> RunSpec:
    import numpy as np

    from asyncsim.evaluate import make_inputs

    schedule = find_scenario(load.scenario).build(load.params)
    compiled = compile_schedule(schedule)
    inputs = make_inputs(schedule, purpose="timing")
    if load.operands == "zeros":
        inputs = {name: np.zeros_like(values) for name, values in inputs.items()}
    folder.mkdir()
    return make_spec(
        schedule,
        compiled,
        inputs,
        folder,
        launches=1,
        warmups=0,
        l2="warm",
        read_outputs=False,
    )


def main(argv: list[str] | None = None) -> int:
    """0: all loads ran; 1: some failed."""
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.sustain", description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--commit", default=commit_id(), help="recorded with the rows")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for all of it")
    args = parser.parse_args(argv)
    from asyncsim.hw.launch.gpu import Gpu
    from asyncsim.hw.nvml import Board

    begin = time.monotonic()
    gpu, rows = Gpu(), list[Row]()
    limit = {"power_limit_w": Board(str(gpu.device.uuid)).limit_w()}
    origin = {**gpu.facts, **limit, "nvrtc": nvrtc_version(), "commit": args.commit}
    document: dict[str, Any] = {"schema": 1, "provenance": origin, "rows": rows}
    with tempfile.TemporaryDirectory(prefix="asyncsim-") as name, ThreadPoolExecutor(6) as pool:
        ready = [pool.submit(_prepared, x, Path(name) / str(i)) for i, x in enumerate(LOADS)]
        wait(ready)  # launches must not wait for a core
        for load, future in zip(LOADS, ready, strict=True):
            scenario = find_scenario(load.scenario)
            row: Row = {
                "scenario": load.scenario,
                "params": {**scenario.params, **load.params},
                "operands": load.operands,
            }
            try:
                if time.monotonic() - begin > args.limit:
                    raise TimeoutError("no time left")
                row |= sustain(gpu, future.result())
            except Exception as error:  # one bad row must not cost the others
                row["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            rows.append(row)
            args.out.write_text(document_text(document), encoding="utf-8")
            shown = {k: v for k, v in row.items() if k != "params"}
            print(f"{time.monotonic() - begin:6.1f} s", json.dumps(shown), flush=True)
    return int(any("error" in row for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
