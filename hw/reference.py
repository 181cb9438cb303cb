"""cuBLAS through torch, the yardstick of our kernels; a process of its own (torch is slow).

``python -m asyncsim.hw.reference [--fp8] SIZE ...`` prints one JSON line: of bf16 products, or of
8-bit floats (e4m3) with one scale, with sums on tensor cores alone (fast), and by blocks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

LAUNCHES = 20
SLEEP_CYCLES = 400_000


def measure_cublas(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Median time of bf16 matmuls (bf16 result) on random normal data, L2 evicted or not."""
    import torch  # type: ignore[import-not-found]

    rows = []
    for size in sizes:
        a, b = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(2))
        out = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
        for l2 in ("cold", "warm"):
            middle = _median_us(partial(torch.matmul, a, b.T, out=out), l2)
            rows.append(_row(size, l2, middle))
    return rows


def measure_cublas_fp8(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """The same of 8-bit floats, with a ``form`` each; sizes are multiples of 512."""
    rows = []
    for size in sizes:
        for form, call in _fp8_forms(size):
            for l2 in ("cold", "warm"):
                rows.append({**_row(size, l2, _median_us(call, l2)), "form": form})
    return rows


def _fp8_forms(size: int) -> Iterator[tuple[str, Callable[[], object]]]:
    import torch

    a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    of_a = torch.rand(size // 128, size, device="cuda").t()  # rows innermost
    of_b = torch.rand(size // 128, size // 128, device="cuda").t()
    for form, scales, fast in (
        ("one scale", (one, one), False),
        ("one scale, fast sums", (one, one), True),
        ("by blocks", (of_a, of_b), False),
    ):
        options = {"out_dtype": torch.bfloat16, "use_fast_accum": fast}
        yield form, partial(torch._scaled_mm, a, b.t(), *scales, **options)


def _median_us(call: Callable[[], object], l2: str) -> float:
    import torch

    flush = torch.zeros(256 << 20, dtype=torch.int8, device="cuda")
    times = []
    for _ in range(LAUNCHES + 3):
        if l2 == "cold":
            flush.sum(dtype=torch.int64)  # reading evicts and leaves clean lines
        torch.cuda._sleep(SLEEP_CYCLES)  # the host queues the rest meanwhile
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    times = sorted(times[3:])
    return float(times[len(times) // 2])


def _row(size: int, l2: str, middle: float) -> dict[str, Any]:
    tflops = round(2e-6 * size**3 / middle, 1)
    return {"size": size, "l2": l2, "time_us": round(middle, 3), "tflops": tflops}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.reference", description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", help="M = N = K")
    parser.add_argument("--fp8", action="store_true", help="8-bit floats, scaled by blocks and not")
    args = parser.parse_args()
    measured = (measure_cublas_fp8 if args.fp8 else measure_cublas)(tuple(args.sizes))
    print(json.dumps(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
