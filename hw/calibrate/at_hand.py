"""The whole set of benchmarks on the GPU of this machine, as a raw document.

See docs/machine.md.
"""

__all__ = ["measure_here"]

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from asyncsim.errors import EnvironmentError_

from .raw import GPUS, Document, unknown_benchmark

LIMIT_SECONDS = 290.0  # for all of it
PASSES = 3
CAPABILITY = (9, 0)
SMS = 132
_FAILED = 0.02  # share of benchmarks that may fail


def measure_here(only: str | None, tell: Callable[[str], None]) -> Document:
    """Compile and measure, in a process with a time limit.  Raises EnvironmentError_, and
    UsageError where ``only`` names nothing."""
    from .run import all_cases, chosen, compile_all, run_child

    if not chosen(only):
        raise unknown_benchmark(str(only), {case.bench for case in all_cases()})
    _fitting_gpu()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="asyncsim-calibrate-") as folder:
        cubins, out = Path(folder) / "cubins", Path(folder) / "raw.json"
        tell("compiling the benchmarks")
        compile_all(cubins, only)
        tell("measuring")
        left = LIMIT_SECONDS - (time.monotonic() - begin)
        code = run_child(out, cubins, only, PASSES, left)
        if code:
            raise EnvironmentError_(
                f"the benchmarks did not finish within {LIMIT_SECONDS:.0f} s or the GPU failed "
                f"(exit code {code}, see above); fix: stop what else runs on the GPU, or name some "
                "benchmarks with --only"
            )
        document: Document = json.loads(out.read_text(encoding="utf-8"))
    failed = [row for row in document["rows"] if "error" in row]
    if len(failed) > _FAILED * len(document["rows"]):
        why = " ".join(failed[0]["error"].split())[:200]
        raise EnvironmentError_(
            f"{len(failed)} of {len(document['rows'])} benchmarks failed, first "
            f"{failed[0]['bench']}: {why}; fix: see `asyncsim doctor`"
        )
    return document


def _fitting_gpu() -> None:
    from asyncsim.hw.inventory import devices
    from asyncsim.hw.probe import what_is_missing

    missing = what_is_missing()
    if missing:
        raise EnvironmentError_(
            f"calibrate measures on a GPU: {missing}, or fit with --from RAW.json"
        )
    device = devices()[0]
    major, minor = device.capability
    here = f"{device.name} (sm_{major}{minor}, {device.sms} SMs)"
    if device.capability != CAPABILITY or device.sms != SMS or device.name not in GPUS:
        raise EnvironmentError_(
            f"the microbenchmarks are of sm_90a with {SMS} SMs ({', '.join(GPUS)}), this GPU is "
            f"{here}; fix: measure on one of these"
        )
