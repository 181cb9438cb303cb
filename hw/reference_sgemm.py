"""A plain kernel of sgemm_cp_async's algorithm (reference_sgemm.cu), its yardstick on a GPU.

``python -m asyncsim.hw.reference_sgemm 2048 4096`` prints one JSON line. Times are those of events
around a launch, median of 20, as for cuBLAS (reference.py). Needs torch for memory and events.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from asyncsim.hw.reference import LAUNCHES, SLEEP_CYCLES

STAGES = (2, 3, 4, 5)
_BLOCK, _THREADS = 128, 256


def compile_reference(stages: int, arch: str = "sm_90a") -> tuple[Any, str]:
    """The kernel's ObjectCode and ptxas's report."""
    import io

    from cuda.core import Program, ProgramOptions

    source = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
    options = ProgramOptions(
        arch=arch, std="c++17", define_macro=("STAGES", str(stages)), ptxas_options=["-v"]
    )
    log = io.StringIO()
    code = Program(source, "c++", options).compile("cubin", logs=log)
    return code, log.getvalue()


def measure_sgemm(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Median time and correctness for every size, number of stages and state of L2."""
    import numpy as np
    import torch  # type: ignore[import-not-found]
    from cuda.core import Device, LaunchConfig, launch

    torch.cuda.init()
    device = Device(0)
    device.set_current()
    stream = device.create_stream(torch.cuda.current_stream())
    flush = torch.zeros(256 << 20, dtype=torch.int8, device="cuda")
    rows = []
    for size in sizes:
        a, b = (torch.randint(-2, 3, (size, size), device="cuda").float() for _ in range(2))
        d = torch.empty(size, size, device="cuda")
        want = (a.double() @ b.double()).float()
        config = LaunchConfig(grid=(size // _BLOCK, size // _BLOCK), block=_THREADS)
        pointers = [np.uint64(t.data_ptr()) for t in (a, b, d, d)]
        numbers = [np.int32(size)] * 3 + [np.float32(1), np.float32(0)]
        for stages in STAGES:
            kernel = compile_reference(stages)[0].get_kernel("sgemm")
            for l2 in ("cold", "warm"):
                times = []
                for _ in range(LAUNCHES + 3):
                    if l2 == "cold":
                        flush.sum(dtype=torch.int64)
                    torch.cuda._sleep(SLEEP_CYCLES)
                    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    begin.record()
                    launch(stream, config, kernel, *pointers, *numbers)
                    end.record()
                    torch.cuda.synchronize()
                    times.append(begin.elapsed_time(end) * 1000)
                middle = sorted(times[3:])[LAUNCHES // 2]
                rows.append(
                    {
                        "size": size,
                        "stages": stages,
                        "l2": l2,
                        "time_us": round(middle, 3),
                        "right": bool(torch.equal(d, want)),
                    }
                )
    return rows


def main() -> int:
    print(json.dumps(measure_sgemm(tuple(int(a) for a in sys.argv[1:]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
