"""The trace of a run: tracks without overlap, notes of group waits, counters."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.multicast_gemm import multicast_gemm
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim import simulate
from asyncsim.trace import SpanKind, Trace
from tests.sim.schedules import H200


def trace_of(schedule) -> Trace:  # type: ignore[no-untyped-def]
    trace = simulate(schedule, H200, certified=True, keep_trace=True).trace
    assert trace is not None
    return trace


def test_a_trace_changes_nothing() -> None:
    """One SM is traced, the others are not: they share what makes the steps of their streams."""
    for schedule in (
        multicast_gemm.build({"m": 256, "n": 256, "k": 256, "ctas": 2, "narrow": 1}),
        multicast_gemm.build({"m": 256, "n": 512, "k": 512, "ctas": 2}),
        ws_gemm.build({"m": 256, "n": 256, "k": 512}),
    ):
        plain, traced = (
            simulate(schedule, H200, certified=True, keep_trace=kept).cycles
            for kept in (False, True)
        )
        assert plain == traced


def test_spans_of_a_track_do_not_overlap() -> None:
    for schedule in (
        tma_ring.build({"tiles": 12, "ctas": 1}),
        cp_async_multistage.build({"tiles": 6, "ctas": 1}),
        ws_gemm.build({"m": 128, "n": 128, "k": 512}),
    ):
        tracks = defaultdict(list)
        for span in trace_of(schedule).spans:
            assert span.start <= span.end
            if span.kind is not SpanKind.FLIGHT:
                tracks[span.cta, span.track].append(span)
        for spans in tracks.values():
            for before, later in pairwise(spans):
                assert before.end <= later.start, (before, later)


def test_every_warp_executes_every_op_of_the_stream() -> None:
    schedule = tma_ring.build({"tiles": 5, "ctas": 1, "consumers": 3})
    spans = trace_of(schedule).spans
    waits = [op.id for op in schedule.ops() if type(op).__name__ == "MbarrierWait"]
    for warp in range(3):
        seen = {s.indices for s in spans if s.track == f"consumer/{warp}" and s.op_id == waits[0]}
        assert seen == {(i,) for i in range(5)}
    assert {s.indices for s in spans if s.op_id == waits[1]} == {(i,) for i in range(5)}


def test_a_group_wait_says_what_is_pending_and_what_has_landed() -> None:
    schedule = cp_async_multistage.build({"tiles": 6, "ctas": 1, "stages": 3})
    spans = trace_of(schedule).spans
    notes = [s.note for s in spans if s.note and s.track == "block/0"]
    assert notes[0] == "wait_group(1): pending {t1}; landed t0"
    assert len(notes) == 6
    assert all(note.startswith("wait_group(1): pending {") for note in notes)


def test_wgmma_groups_have_notes_too() -> None:
    spans = trace_of(ws_gemm.build({"m": 128, "n": 128, "k": 256})).spans
    notes = [s.note for s in spans if s.note and s.track == "consumer/0"]
    assert notes[0] == "wait_group(1): pending {t0}"
    assert notes[1] == "wait_group(1): pending {t1}; landed t0"
    assert notes[-1] == "wait_group(0): pending {}; landed t3"


def test_copies_stages_and_barriers_are_in_the_trace() -> None:
    trace = trace_of(tma_ring.build({"tiles": 8, "ctas": 1, "stages": 2}))
    flights = [s for s in trace.spans if s.kind is SpanKind.FLIGHT]
    stages = [s for s in trace.spans if s.kind is SpanKind.STAGE]
    assert len(flights) == 8
    assert {s.track for s in stages} == {"ring[0]", "ring[1]"}
    assert [s.name for s in stages if s.track == "ring[1]"] == ["t1", "t3", "t5", "t7"]
    full = [c.value for c in trace.counters if c.track == "full[0]"]
    assert full == [1, 2, 3, 4]
    assert {s.track for s in trace.spans if s.kind is SpanKind.ENGINE} >= {"tma"}


def test_a_long_run_keeps_its_first_part() -> None:
    trace = trace_of(tma_ring.build({"tiles": 2000, "ctas": 1}))
    assert not trace.complete
    assert len(trace.spans) == 20_000


def test_a_long_compute_leaves_its_whole_time() -> None:
    """6 tiles of 512 dependent FFMA of 4 cycles, wherever they are done."""
    spans = trace_of(tma_ring.build({"tiles": 6, "ctas": 1, "ffma": 512})).spans
    own = [s for s in spans if s.track == "consumer/0" and s.name == "Compute tile_hash"]
    assert sum(s.end - s.start for s in own) >= 6 * 512 * 4


def test_notes_name_few_landed_groups() -> None:
    spans = trace_of(ws_gemm.build({"m": 128, "n": 128, "k": 2048})).spans
    notes = [s.note for s in spans if s.note.startswith("wait_group")]
    assert notes
    assert max(len(note) for note in notes) < 100


def test_counters_of_barriers_count_their_phases() -> None:
    trace = trace_of(tma_ring.build({"tiles": 8, "stages": 4, "ctas": 1}))
    for name in ("full", "empty"):
        for stage in range(4):
            values = [c.value for c in trace.counters if c.track == f"{name}[{stage}]"]
            assert values == [1, 2]
