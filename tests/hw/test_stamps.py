"""Record buffers, decoded: spans of ops, inferred flights and stages."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise

import pytest

from asyncsim.hw.launch.prepare import Stamps
from asyncsim.hw.launch.protocol import RunReply
from asyncsim.hw.launch.stamps import decode
from asyncsim.hw.render.hooks import END_WORD
from asyncsim.hw.render.model import STAMP_BYTES
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stamped import is_stamped, leaves_stamp
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.stream import Program
from asyncsim.trace import SpanKind, Trace

CAPACITY = 64
START = 0xFFFFFF00  # the clock's low word wraps during the run
REPLY = RunReply(span_ns=(1,), cta_cycles=(1,), clock_ghz=(2.0,), starts=((50, START), (60, START)))


def stamps_of(schedule: Schedule, cta: int, warp: int, late: int) -> Iterator[tuple[int, int]]:
    """What the GPU would write: a stamp every 100 cycles, the first ``late`` warps later."""
    time = START + (1000 if warp < late else 0)
    stream = Program(schedule).stream((cta, 0, 0), warp)
    for word in [d.op.id + 1 for d, _ in stream if leaves_stamp(d.op)] + [END_WORD]:
        time += 100
        yield word, time & 0xFFFFFFFF


def buffer(schedule: Schedule, ctas: int = 1, late: int = 0) -> bytes:
    capacity = CAPACITY
    out = bytearray(ctas * schedule.warps * capacity * STAMP_BYTES)
    for cta in range(ctas):
        for warp in range(schedule.warps):
            at = (cta * schedule.warps + warp) * capacity * STAMP_BYTES
            for i, (word, clock) in enumerate(stamps_of(schedule, cta, warp, late)):
                if i < capacity:
                    struct.pack_into("<II", out, at + i * STAMP_BYTES, word, clock)
    return bytes(out)


def decoded(schedule: Schedule, ctas: int = 1, late: int = 0) -> Trace:
    stamps = Stamps(ctas=ctas, capacity=CAPACITY)
    return decode(schedule, buffer(schedule, ctas, late), REPLY, stamps)


def test_ops_follow_each_other_across_the_wrap() -> None:
    schedule = tma_ring.build({"tiles": 3, "stages": 2, "consumers": 1, "ctas": 1})
    trace = decoded(schedule)
    assert (trace.source, trace.complete) == ("measured", True)
    consumer = [s for s in trace.spans if s.track == "consumer/0"]
    times = [(s.start, s.end) for s in consumer]
    assert times[:2] == [(0.0, 100.0), (100.0, 200.0)]
    assert all(a[1] == b[0] for a, b in pairwise(times))
    waits = [s for s in consumer if s.name == "MbarrierWait full[1]"]
    assert [s.indices for s in waits] == [(1,)] and waits[0].kind is SpanKind.STALL
    assert consumer[-1].name == "StGlobal"  # closed by the END stamp


def test_unstamped_ops_fall_into_the_next_span() -> None:
    trace = decoded(ws_gemm.build({"m": 128, "n": 128, "k": 128}))
    names = [s.name for s in trace.spans if s.track == "consumer/0"]
    assert "WgmmaFence..CommitGroup" in names
    assert not any(s.name == "WgmmaMmaAsync" and not s.inferred for s in trace.spans)


def test_landings_and_stages_are_inferred() -> None:
    schedule = tma_ring.build({"tiles": 2, "stages": 2, "consumers": 1, "ctas": 1})
    trace = decoded(schedule, late=1)  # the consumer waits after the copies were issued
    flights = [s for s in trace.spans if s.kind is SpanKind.FLIGHT]
    assert [(s.track, s.name, s.indices) for s in flights] == [
        ("copies of producer/0", "TmaLoad full[0]", (0,)),
        ("copies of producer/0", "TmaLoad full[1]", (1,)),
    ]
    assert all(s.inferred and s.note.startswith("the landing is not measured") for s in flights)
    waits = {s.indices: s.end for s in trace.spans if s.name.startswith("MbarrierWait full")}
    assert [s.end for s in flights] == [waits[0,], waits[1,]]
    stages = [(s.track, s.name) for s in trace.spans if s.kind is SpanKind.STAGE]
    assert sorted(stages) == [("ring[0]", "t0"), ("ring[1]", "t1")]


def test_groups_end_at_the_wait_that_covers_them() -> None:
    schedule = cp_async_multistage.build({"tiles": 2, "stages": 2, "ctas": 1, "tile_bytes": 2048})
    trace = decoded(schedule)
    waits = {
        s.indices: s.end
        for s in trace.spans
        if s.track == "block/0" and s.name == "WaitGroup"
    }  # fmt: skip
    copies = [s for s in trace.spans if s.track == "copies of block/0"]
    assert [s.end for s in copies] == [waits[0,], waits[1,]]


def test_ctas_are_anchored_by_globaltimer() -> None:
    trace = decoded(tma_ring.build({"tiles": 1, "stages": 1, "consumers": 1, "ctas": 2}), ctas=2)
    first = {c: min(s.start for s in trace.spans if s.cta == c) for c in (0, 1)}
    assert first == {0: 0.0, 1: 20.0}  # 10 ns at 2 GHz


def test_a_full_buffer_is_not_complete() -> None:
    schedule = tma_ring.build({"tiles": 30, "stages": 2, "consumers": 1, "ctas": 1})
    data = buffer(schedule)
    assert not decode(schedule, data, REPLY, Stamps(ctas=1, capacity=CAPACITY)).complete


def test_stamps_of_another_kernel_are_refused() -> None:
    schedule = tma_ring.build({"tiles": 2, "stages": 1, "consumers": 1, "ctas": 1})
    data = bytearray(buffer(schedule))
    struct.pack_into("<I", data, STAMP_BYTES, 3)
    with pytest.raises(ValueError, match=r"^stamp 1 of warp 0 is 3, the stream is at op #"):
        decode(schedule, bytes(data), REPLY, Stamps(ctas=1, capacity=CAPACITY))


def test_what_is_stamped() -> None:
    schedule = ws_gemm.build({})
    stamped = {type(o) for o in schedule.ops() if is_stamped(o)}
    assert {ops.MbarrierWait, ops.WaitGroup, ops.CommitGroup, ops.TmaLoad} <= stamped
    assert ops.WgmmaMmaAsync not in stamped and ops.StGlobal not in stamped


def test_the_other_lanes_leave_no_stamps() -> None:
    """The recorder is the elected lane's; in warps without one all lanes run, it among them."""
    schedule = tma_copy.build({"m": 16, "n": 32})
    words = {
        warp: {
            o.id for d, _ in Program(schedule).stream((0, 0, 0), warp) if leaves_stamp(o := d.op)
        }
        for warp in (0, 1)
    }
    arrive = next(o for o in schedule.ops() if isinstance(o, ops.MbarrierArrive))
    assert arrive.id not in words[0] and arrive.id in words[1]
    trace = decoded(schedule)
    assert trace.complete
    wait = next(o for o in schedule.ops() if isinstance(o, ops.MbarrierWaitState))
    waits = {s.track: s.kind for s in trace.spans if s.op_id == wait.id}
    assert waits == {f"block/{w}": SpanKind.STALL for w in range(4)}
