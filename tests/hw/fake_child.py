"""Stands in for the process that owns the GPU: answers run specs as its argument says."""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from asyncsim.hw.launch.protocol import RunReply, RunSpec, decode_spec, encode

GPU = {"gpu": "Fake GPU", "board": "0", "driver": "0", "cuda": "0", "date": "2026-01-01"}


def fill_outputs(spec: RunSpec, value: int) -> None:
    for tensor in spec.tensors.values():
        if tensor.output:
            np.full(tensor.elements, value, np.uint32).tofile(tensor.output)


def reply(mode: str, spec: RunSpec) -> RunReply:
    n = spec.launches
    if mode == "environment":
        return RunReply(error="environment: no usable NVIDIA GPU; fix: get one")
    if mode == "cuda_error":
        return RunReply(error="CUDAError: LAUNCH_FAILED: An exception. Common causes include many")
    if mode == "timeout":
        # op, barrier address, parity, loop index, CTA, warp, the barrier's state
        words = (1, int(sys.argv[2]), 1024 + 65536 + 32 + 8, 0, 5, 5, 4, 7, 9, 0, 0, 0, 0, 0, 0, 0)
        return RunReply(report=words, gpu=GPU)
    fill_outputs(spec, 7)
    return RunReply(
        span_ns=tuple(1000 + i for i in range(n)),
        cta_cycles=tuple(2100 + i for i in range(n)),
        clock_ghz=(2.0,) * n,
        starts=((0, 0),),
        gpu=GPU,
    )


def main() -> int:
    mode = sys.argv[1]
    for line in sys.stdin:
        if mode == "hang":
            time.sleep(60)
        if mode == "die":
            print("terminate called after everything", file=sys.stderr)
            os._exit(3)
        print(encode(reply(mode, decode_spec(line))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
