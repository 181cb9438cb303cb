"""Measure a set of configurations and write them with their provenance.

``python -m asyncsim.hw.measure --out rows.json --set slice``. Inputs and host results are prepared
in threads while the child runs the configuration before. See docs/hardware.md.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncsim.catalog import find_scenario
from asyncsim.hw.compare import grouped
from asyncsim.hw.compile import Compiled, compile_schedule, nvrtc_version
from asyncsim.hw.configurations import REFERENCE_SIZES, SETS, Configuration
from asyncsim.hw.intervals import interval_row, intervals
from asyncsim.hw.launch.child_process import Child
from asyncsim.hw.launch.diagnosis import diagnose
from asyncsim.hw.launch.prepare import Stamps, make_spec, read_output
from asyncsim.hw.launch.protocol import RunReply, RunSpec
from asyncsim.hw.launch.run import run_schedule
from asyncsim.hw.launch.stamps import decode
from asyncsim.hw.launch.timing import timing_of
from asyncsim.hw.launch.verify import chosen_ctas, compare_outputs, expected_outputs
from asyncsim.hw.render import Variant
from asyncsim.hw.store import load_all
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Row = dict[str, Any]
LAUNCHES, WARMUPS, VERIFY_CTAS, AHEAD = 21, 3, 4, 4
ONCE = "once"


@dataclass(slots=True)
class _Ready:
    """A configuration with everything the child needs, and what to compare with."""

    configuration: Configuration
    params: dict[str, int]
    schedule: Schedule
    compiled: Compiled
    folder: tempfile.TemporaryDirectory[str]
    check: RunSpec
    timed: RunSpec
    ctas: tuple[int, ...]
    expected: dict[str, Array]
    stamped: RunSpec | None = None


def measure(
    configurations: Iterable[Configuration],
    child: Child,
    *,
    workers: int = 4,
    stamps: Stamps | None = None,
    limit_s: float = math.inf,
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """A row and the GPU's facts for each configuration, in order; failures are rows too.

    ``stamps``: rows have the intervals of a stamped launch, too. ``limit_s``: those that do not
    begin within so many seconds are left out.
    """
    begin = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        waiting = iter(configurations)
        queue: deque[tuple[Configuration, Future[_Ready]]] = deque()
        while True:
            while len(queue) < max(AHEAD, workers) and (c := next(waiting, None)) is not None:
                queue.append((c, pool.submit(_prepare, c, stamps)))
            if not queue:
                return
            configuration, future = queue.popleft()
            if time.monotonic() - begin > limit_s:
                future.cancel()
                continue
            try:
                ready = future.result()
                with ready.folder:
                    yield _run(ready, child, stamps)
            except Exception as error:  # one bad row must not cost the others
                row = _head(configuration, configuration.params)
                row["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:500]
                yield row, {}


def _prepare(c: Configuration, stamps: Stamps | None = None) -> _Ready:
    from asyncsim.evaluate import make_inputs

    scenario = find_scenario(c.scenario)
    schedule = scenario.build(c.params)
    compiled = compile_schedule(schedule)
    folder = tempfile.TemporaryDirectory(prefix="asyncsim-")
    inputs = {p: make_inputs(schedule, purpose=p) for p in ("verify", "timing")}  # type: ignore[arg-type]
    specs = {}
    for purpose, launches, warmups in (("verify", 1, 0), ("timing", LAUNCHES, WARMUPS)):
        sub = Path(folder.name) / purpose
        sub.mkdir()
        specs[purpose] = make_spec(
            schedule,
            compiled,
            inputs[purpose],
            sub,
            launches=launches,
            warmups=warmups,
            l2=c.l2,
            read_outputs=purpose == "verify",
        )
    stamped = None if stamps is None else _stamped(schedule, inputs["timing"], folder, c.l2, stamps)
    ctas = chosen_ctas(schedule, VERIFY_CTAS)
    return _Ready(
        configuration=c,
        params={**scenario.params, **c.params},
        schedule=schedule,
        compiled=compiled,
        folder=folder,
        check=specs["verify"],
        timed=specs["timing"],
        ctas=ctas,
        expected=expected_outputs(schedule, inputs["verify"], ctas),
        stamped=stamped,
    )


def _stamped(
    schedule: Schedule,
    inputs: Mapping[str, Array],
    folder: tempfile.TemporaryDirectory[str],
    l2: str,
    stamps: Stamps,
) -> RunSpec:
    sub = Path(folder.name) / "stamped"
    sub.mkdir()
    return make_spec(
        schedule,
        compile_schedule(schedule, variant=Variant(stamps=True)),
        inputs,
        sub,
        launches=1,
        warmups=2,
        l2=l2,
        read_outputs=False,
        stamps=Stamps(ctas=min(stamps.ctas, schedule.ctas), capacity=stamps.capacity),
    )


def _run(ready: _Ready, child: Child, stamps: Stamps | None = None) -> tuple[Row, dict[str, Any]]:
    s = ready.schedule
    row = _head(ready.configuration, ready.params)
    checked = child.run(ready.check)
    stopped = diagnose(s, checked.report)
    if stopped is None:
        outputs = {
            t.name: read_output(t, ready.check.tensors[t.name].output)
            for t in s.of_kind(GlobalTensor)
            if t.output
        }
        verification = compare_outputs(s, ready.expected, outputs, ready.ctas)
        row["verified"] = verification.ok
        row["verification"] = str(verification)
        timed = child.run(ready.timed)
        stopped = diagnose(s, timed.report)
    if stopped is not None:
        row["error"] = str(stopped)
        return row, checked.gpu
    t = timing_of(timed, ctas=s.ctas, l2=ready.configuration.l2)
    row.update(
        cycles=round(t.cycles, 1),
        cycles_p10=round(t.cycles_p10, 1),
        cycles_p90=round(t.cycles_p90, 1),
        time_us=round(t.time_us, 3),
        clock_mhz=round(t.clock_mhz, 1),
        n=t.n,
        registers=ready.compiled.resources.registers,
        cubin=ready.compiled.sha256[:16],
    )
    if stamps is not None and ready.stamped is not None:
        row.update(_intervals(ready, child.run(ready.stamped), stamps))
    return row, timed.gpu


def _intervals(ready: _Ready, reply: RunReply, stamps: Stamps) -> Row:
    """What a stamped launch took, and the intervals of its CTAs."""
    s, spec = ready.schedule, ready.stamped
    stopped = diagnose(s, reply.report)
    if stopped is not None or spec is None:
        return {"error": f"stamped: {stopped}"}
    held = Stamps(ctas=spec.stamp_ctas, capacity=stamps.capacity)
    trace = decode(s, Path(spec.stamps).read_bytes(), reply, held)
    took = timing_of(reply, ctas=s.ctas, l2=ready.configuration.l2).cycles
    found = [interval_row(i) for i in intervals(trace, s)]
    return {"stamped_cycles": round(took, 1), "complete": trace.complete, "intervals": found}


def _head(c: Configuration, params: dict[str, int]) -> Row:
    return {"scenario": c.scenario, "params": dict(params), "l2": c.l2}


def stamp_rows(child: Child, configurations: Iterable[Configuration]) -> list[Row]:
    """What stamping costs: cycles of the stamped build beside those of the timed one, for the first
    configuration of each scenario that is one CTA."""
    rows: list[Row] = []
    for c in configurations:
        if any(row["scenario"] == c.scenario for row in rows):
            continue
        schedule = find_scenario(c.scenario).build(c.params)
        if schedule.ctas != 1:
            continue
        r = run_schedule(schedule, child=child, l2=c.l2, stamps=Stamps(), verify_ctas=0)
        if r.timing is None or r.stamped is None or r.trace is None:
            rows.append({"scenario": c.scenario, "error": str(r.diagnosis)})
            continue
        rows.append(
            {
                "scenario": c.scenario,
                "params": c.params,
                "cycles": round(r.timing.cycles),
                "stamped_cycles": round(r.stamped.cycles),
                "spans": len(r.trace.spans),
                "complete": r.trace.complete,
            }
        )
    return rows


def cublas_rows() -> list[Row]:
    command = [sys.executable, "-m", "asyncsim.hw.reference", *map(str, REFERENCE_SIZES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        return [{"error": done.stderr.strip().splitlines()[-1][:300]}]
    rows: list[Row] = json.loads(done.stdout.strip().splitlines()[-1])
    return rows


def measured_once() -> tuple[Configuration, ...]:
    """Stored configurations that one board alone has measured, short ones first."""
    groups = [
        g for g in grouped(load_all()).values() if len({m.provenance["board"] for m in g}) == 1
    ]
    return tuple(
        Configuration(scenario=m.scenario, params=dict(m.params), l2=m.l2)
        for m in sorted((g[0] for g in groups), key=lambda m: m.time_us)
    )


def commit_id() -> str:
    """The commit of the working tree, "" outside one."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def document_text(document: dict[str, Any]) -> str:
    """JSON with one row on each line, so that a diff is readable."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(row) for row in value)
            parts.append(f'"{key}": [\n{rows}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(argv: list[str] | None = None) -> int:
    """0: all rows measured and verified; 1: some failed."""
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.measure", description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--set", default="slice", choices=[*sorted(SETS), ONCE])
    parser.add_argument("--limit-s", type=float, default=math.inf, help="begin none after so many")
    parser.add_argument("--workers", type=int, default=4, help="threads that prepare")
    parser.add_argument("--reference", action="store_true", help="cuBLAS in the same run")
    parser.add_argument("--stamps", action="store_true", help="what stamping costs")
    parser.add_argument("--commit", default=commit_id(), help="recorded with the rows")
    args = parser.parse_args(argv)
    begin = time.monotonic()
    rows: list[Row] = []
    document: dict[str, Any] = {"schema": 1, "provenance": {}, "rows": rows}
    with Child() as child:
        chosen = measured_once() if args.set == ONCE else SETS[args.set]
        for row, gpu in measure(chosen, child, workers=args.workers, limit_s=args.limit_s):
            if gpu and not document["provenance"]:
                document["provenance"] = {**gpu, "nvrtc": nvrtc_version(), "commit": args.commit}
            rows.append(row)
            args.out.write_text(document_text(document), encoding="utf-8")
            print(f"{time.monotonic() - begin:6.1f} s {_line(row)}", flush=True)
        if args.stamps:
            document["stamps"] = stamp_rows(child, chosen)
            print(*document["stamps"], sep="\n", flush=True)
    if args.reference:
        document["reference"] = cublas_rows()
        for row in document["reference"]:
            print("cublas", row, flush=True)
    args.out.write_text(document_text(document), encoding="utf-8")
    failed = [r for r in rows if "error" in r or not r.get("verified")]
    print(f"{len(rows)} rows, {len(failed)} failed, {time.monotonic() - begin:.1f} s")
    return 1 if failed else 0


def _line(row: Row) -> str:
    if "error" in row:
        return f"{row['scenario']} {row['params']} FAILED {row['error']}"
    p = row["params"]
    flops = 2e-6 * p["m"] * p["n"] * p["k"] / row["time_us"] if "k" in p else 0.0
    spread = (row["cycles_p90"] - row["cycles_p10"]) / row["cycles"] * 100
    shown = " ".join(f"{n}={v}" for n, v in p.items())
    return (
        f"{row['scenario']} {shown} {row['l2']}: {row['cycles']:.0f} cycles +-{spread:.1f}% "
        f"{row['time_us']:.2f} us {row['clock_mhz']:.0f} MHz {flops:.0f} TFLOP/s "
        f"{'ok' if row['verified'] else row['verification']}"
    )


if __name__ == "__main__":
    sys.exit(main())
