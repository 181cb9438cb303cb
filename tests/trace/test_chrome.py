"""Chrome trace-event JSON: read back it is the trace; fields are those of the format."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsim.trace import SHARED, Counter, Span, SpanKind, Trace
from asyncsim.trace.chrome import chrome_bytes, write_chrome
from asyncsim.trace.chrome_reader import load_chrome, parse_chrome
from asyncsim.trace.perfetto import pftrace_bytes
from asyncsim.trace.perfetto_reader import parse_pftrace
from tests.trace.ring import ring_trace
from tests.trace.test_perfetto import SPANS, same


def events(*traces: Trace) -> list[dict]:
    return json.loads(chrome_bytes(traces))["traceEvents"]


def test_predicted_beside_measured_read_back(tmp_path):
    predicted, measured = ring_trace(), ring_trace("measured", load=470, measured=True)
    measured.complete = False
    file = tmp_path / "ring.json"
    write_chrome(file, [predicted, measured])
    first, second = load_chrome(file)
    same(first, predicted)
    same(second, measured)


def test_it_holds_what_the_pftrace_file_holds():
    trace = ring_trace()
    (chrome,), (perfetto,) = parse_chrome(chrome_bytes([trace])), parse_pftrace(
        pftrace_bytes([trace])
    )  # fmt: skip
    same(chrome, perfetto)


def test_events_of_the_format():
    trace = Trace("measured", "s")
    trace.spans += [
        Span(sm=4, cta=7, track="w/0", name="wait", start=2.25, end=5, kind=SpanKind.STALL,
             op_id=4, indices=(0, 3), note="n", inferred=True),
        Span(sm=4, cta=SHARED, track="tma", name="t0", start=1, end=1, kind=SpanKind.ENGINE),
    ]  # fmt: skip
    trace.counters.append(Counter(sm=4, cta=7, track="full[0]", time=3.5, value=9))
    document = json.loads(chrome_bytes([trace]))
    assert document["displayTimeUnit"] == "ns"
    assert document["otherData"]["traces"] == [
        {"source": "measured", "schedule": "s", "complete": True}
    ]
    process = "measured: s, {} (1 us = 1 SM cycle)"
    assert document["traceEvents"] == [
        {"ph": "M", "pid": 1, "name": "process_name",
         "args": {"name": process.format("SM 4, shared"), "trace": 0, "sm": 4, "cta": -1}},
        {"ph": "M", "pid": 1, "name": "process_sort_index", "args": {"sort_index": 1}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "tma"}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_sort_index", "args": {"sort_index": 1}},
        {"ph": "X", "pid": 1, "tid": 1, "name": "t0", "cat": "engine", "ts": 1, "dur": 0,
         "args": {}},
        {"ph": "M", "pid": 2, "name": "process_name",
         "args": {"name": process.format("CTA 7 on SM 4"), "trace": 0, "sm": 4, "cta": 7}},
        {"ph": "M", "pid": 2, "name": "process_sort_index", "args": {"sort_index": 2}},
        {"ph": "M", "pid": 2, "tid": 1, "name": "thread_name", "args": {"name": "w/0"}},
        {"ph": "M", "pid": 2, "tid": 1, "name": "thread_sort_index", "args": {"sort_index": 1}},
        {"ph": "X", "pid": 2, "tid": 1, "name": "wait", "cat": "stall", "ts": 2.25, "dur": 2.75,
         "args": {"op": 4, "indices": [0, 3], "note": "n", "inferred": True}},
        {"ph": "C", "pid": 2, "name": "full[0]", "ts": 3.5, "args": {"value": 9}},
    ]  # fmt: skip


def test_slices_of_a_thread_do_not_overlap():
    for trace in (ring_trace(), ring_trace("measured", measured=True)):
        end: dict[tuple[int, int], float] = {}
        slices = [e for e in events(trace) if e["ph"] == "X"]
        assert len(slices) == len(trace.spans)
        for e in slices:
            thread = e["pid"], e["tid"]
            assert e["ts"] >= end.get(thread, 0.0)
            end[thread] = e["ts"] + e["dur"]


def test_equal_traces_give_equal_bytes_in_any_order_of_insertion():
    one, two = ring_trace(), ring_trace()
    two.spans.reverse()
    two.counters.sort(key=lambda c: (c.track, c.time))
    assert chrome_bytes([one]) == chrome_bytes([two])


@settings(max_examples=60, deadline=None)
@given(st.lists(SPANS, max_size=25), st.booleans())
def test_any_trace_reads_back(spans, complete):
    trace = Trace("measured", "random", spans=spans, complete=complete)
    same(parse_chrome(chrome_bytes([trace]))[0], trace)


def test_times_that_are_no_binary_fractions_are_kept_to_a_thousandth_of_a_cycle():
    span = Span(sm=0, cta=0, track="a", name="n", start=0.1, end=0.1 + 0.2, kind=SpanKind.OP)
    (back,) = parse_chrome(chrome_bytes([Trace("measured", "s", spans=[span])]))[0].spans
    assert (back.start, back.end) == (0.1, 0.3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[]", "TypeError"),
        (b"{", "JSONDecodeError"),
        (b'{"traceEvents": []}', "KeyError: 'otherData'"),
        (b'{"otherData": {"format": "x"}}', "ValueError: format 'x', not 'asyncsim 1'"),
    ],
)
def test_a_file_of_somebody_else_is_refused(data, said):
    with pytest.raises(ValueError, match=f"^not a trace of asyncsim: {said}"):
        parse_chrome(data)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    file = tmp_path / "t.json"
    file.write_bytes(b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_chrome(file, [ring_trace()])
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["t.json"]
