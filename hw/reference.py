"""cuBLAS through torch.matmul, the yardstick of ws_gemm; a process of its own (torch is slow).

``python -m asyncsim.hw.reference`` prints one JSON line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

LAUNCHES = 20
SLEEP_CYCLES = 400_000


def measure_cublas(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Median time of bf16 matmuls (bf16 result) on random normal data, L2 evicted or not."""
    import torch  # type: ignore[import-not-found]

    rows = []
    flush = torch.zeros(256 << 20, dtype=torch.int8, device="cuda")
    for size in sizes:
        a, b = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(2))
        out = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
        for l2 in ("cold", "warm"):
            times = []
            for _ in range(LAUNCHES + 3):
                if l2 == "cold":
                    flush.sum(dtype=torch.int64)  # reading evicts and leaves clean lines
                torch.cuda._sleep(SLEEP_CYCLES)  # the host queues the rest meanwhile
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                torch.matmul(a, b.T, out=out)
                end.record()
                torch.cuda.synchronize()
                times.append(begin.elapsed_time(end) * 1000)
            times = sorted(times[3:])
            middle = times[len(times) // 2]
            rows.append(
                {
                    "size": size,
                    "l2": l2,
                    "time_us": round(middle, 3),
                    "tflops": round(2e-6 * size**3 / middle, 1),
                }
            )
    return rows


def main() -> int:
    sizes = tuple(int(a) for a in sys.argv[1:])
    print(json.dumps(measure_cublas(sizes)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
