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


def with_delays(spec: RunSpec, form: str, op: int, warp: int, least: int) -> RunReply:
    """Goes wrong at the first launch that delays an op of a warp by so many cycles or more."""
    late = np.empty(0)
    if spec.delays:
        tables = np.fromfile(spec.delays, np.uint32).reshape(-1, spec.delay_bytes // 4)
        late = np.flatnonzero(tables[:, op * (spec.threads // 32) + warp] >= least)
    done = int(late[0]) if len(late) else spec.launches
    for t in spec.tensors.values():
        if t.output:
            image = np.fromfile(t.expected, np.uint8)[: t.elements * t.element_bytes]
            image[0] ^= bool(len(late))  # one bit of the first element
            image.tofile(t.output)
    if len(late) and form == "exception":
        return RunReply(error="CUDAError: LAUNCH_FAILED: An exception.", done=done, launched=True)
    if len(late) and form == "hang":
        return RunReply(report=(1, op, 0, 0, 0, 0, warp, *[0] * 9), gpu=GPU, done=done)
    return RunReply(gpu=GPU, done=done, differs=bool(len(late)))


def reply(mode: str, spec: RunSpec) -> RunReply:
    n = spec.launches
    if mode == "environment":
        return RunReply(error="environment: no usable NVIDIA GPU; fix: get one")
    if mode == "cuda_error":
        return RunReply(error="CUDAError: LAUNCH_FAILED: An exception. Common causes include many")
    if mode == "delays":
        return with_delays(spec, sys.argv[2], *map(int, sys.argv[3:6]))
    if mode == "no_map":
        return RunReply(error="RuntimeError: the map of tensor source is refused")
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
