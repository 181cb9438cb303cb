"""The trace file: read back it is the trace; bytes are checked against Perfetto's own numbers."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsim.trace import Counter, Span, SpanKind, Trace
from asyncsim.trace.perfetto import pftrace_bytes, write_pftrace
from asyncsim.trace.perfetto_reader import load_pftrace, parse_pftrace, validate_pftrace
from asyncsim.trace.perfetto_schema import message_class
from tests.trace.ring import ring_trace


def key(item):
    return (item.sm, item.cta, item.track, getattr(item, "start", None) or 0.0, repr(item))


def same(a: Trace, b: Trace) -> None:
    assert (a.source, a.schedule, a.complete) == (b.source, b.schedule, b.complete)
    assert sorted(a.spans, key=key) == sorted(b.spans, key=key)
    assert sorted(a.counters, key=repr) == sorted(b.counters, key=repr)


def test_predicted_beside_measured_read_back(tmp_path):
    predicted, measured = ring_trace(), ring_trace("measured", load=470, measured=True)
    measured.complete = False
    file = tmp_path / "ring.pftrace"
    write_pftrace(file, [predicted, measured])
    assert validate_pftrace(file.read_bytes()) == []
    first, second = load_pftrace(file)
    same(first, predicted)
    same(second, measured)


def parsed(*traces: Trace):
    root = message_class("Trace")()
    root.ParseFromString(pftrace_bytes(traces))
    return root


def test_processes_groups_tracks_and_counters_are_described():
    descriptors = [p.track_descriptor for p in parsed(ring_trace(), ring_trace("measured")).packet
                   if p.HasField("track_descriptor")]  # fmt: skip
    names = {d.uuid: d.name or d.process.process_name for d in descriptors}
    tree = [(names[d.uuid], names.get(d.parent_uuid, "")) for d in descriptors]
    cta = "CTA 7 on SM 3"
    one = [
        ("consumer/0", cta),
        ("consumer/1", cta),
        ("producer/0", cta),
        ("tma", cta),
        ("loads", cta),
        ("loads", cta),
        ("loads", cta),
        ("ring[0]", cta),
        ("ring[1]", cta),
        ("ring[2]", cta),
        ("full[0]", cta),
        ("full[1]", cta),
        ("full[2]", cta),
    ]
    process = "{}: tma_ring (1 us = 1 SM cycle)"
    assert tree == [
        (process.format("predicted"), ""),
        (cta, process.format("predicted")),
        *one,
        (process.format("measured"), ""),
        (cta, process.format("measured")),
        *one,
    ]
    assert [d.process.pid for d in descriptors if d.HasField("process")] == [1, 2]
    assert len({d.uuid for d in descriptors}) == len(descriptors)
    counters = [d for d in descriptors if d.HasField("counter")]
    assert [d.counter.unit for d in counters] == [2] * 6
    (group, _) = [d for d in descriptors if d.name == cta]
    assert group.child_ordering == 3
    ranks = [d.sibling_order_rank for d in descriptors if d.parent_uuid == group.uuid]
    assert ranks == list(range(len(one)))


def test_slices_carry_time_name_category_and_annotations():
    packets = parsed(ring_trace()).packet
    begins = [p for p in packets if p.track_event.type == 1 and p.track_event.name == "hash"]
    assert begins[0].timestamp == 444_500  # (24 + 420.5) cycles of 1000 ns
    event = begins[0].track_event
    assert list(event.categories) == ["op"]
    assert [(a.name, a.string_value) for a in event.debug_annotations] == [("indices", "0,0")]
    stall = next(p.track_event for p in packets if p.track_event.name == "wait full[0]")
    notes = {a.name: (a.int_value, a.string_value) for a in stall.debug_annotations}
    assert notes == {"op": (11, ""), "note": (0, "wait_group(1): pending {t1}; landed t0")}
    values = [p.track_event.counter_value for p in packets if p.track_event.type == 4]
    assert values == [1, 2, 3, 1, 2, 3, 1, 2]


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number: int, value: int | bytes | str) -> bytes:
    """One field of a protobuf message, written out by hand."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def test_bytes_are_those_of_perfettos_field_numbers():
    """Numbers of trace_packet, track_descriptor, process_descriptor, counter_descriptor,
    track_event and debug_annotation.proto, written out once more by hand."""
    trace = Trace("measured", "s")
    trace.spans.append(
        Span(sm=0, cta=1, track="w/0", name="op", start=2, end=5, kind=SpanKind.OP, op_id=4,
             inferred=True)
    )  # fmt: skip
    trace.counters.append(Counter(sm=0, cta=1, track="full[0]", time=3, value=9))

    def packet(body: bytes, *, before: bytes = b"", after: bytes = b"") -> bytes:
        return field(1, before + field(10, 1) + body + after)

    process = field(1, 1) + field(6, "measured: s (1 us = 1 SM cycle)")
    annotations = field(4, field(4, 4) + field(10, "op"))
    annotations += field(4, field(2, 1) + field(10, "inferred"))
    want = packet(field(13, 1), after=field(60, field(1, 1) + field(3, process)))
    want += packet(
        field(
            60, field(1, 2) + field(2, "CTA 1 on SM 0") + field(5, 1) + field(11, 3) + field(12, 0)
        )
    )
    want += packet(field(60, field(1, 3) + field(2, "w/0") + field(5, 2) + field(12, 0)))
    begin = annotations + field(9, 1) + field(11, 3) + field(22, "op") + field(23, "op")
    want += packet(field(11, begin), before=field(8, 2000))
    want += packet(field(11, field(9, 2) + field(11, 3)), before=field(8, 5000))
    counter = field(1, 4) + field(2, "full[0]") + field(5, 2) + field(8, field(3, 2))
    want += packet(field(60, counter + field(12, 1)))
    want += packet(field(11, field(9, 4) + field(11, 4) + field(30, 9)), before=field(8, 3000))
    assert pftrace_bytes([trace]) == want


def test_equal_traces_give_equal_bytes_in_any_order_of_insertion():
    one, two = ring_trace(), ring_trace()
    two.spans.reverse()
    two.counters.sort(key=lambda c: (c.track, c.time))
    assert pftrace_bytes([one]) == pftrace_bytes([two])


def test_overlapping_flights_get_tracks_of_their_own():
    trace = Trace("predicted", "s")
    for i, (start, end) in enumerate([(0, 10), (2, 6), (6, 12), (10, 14)]):
        trace.spans.append(
            Span(sm=0, cta=0, track="loads", name=f"t{i}", start=start, end=end,
                 kind=SpanKind.FLIGHT)
        )  # fmt: skip
    names = [p.track_descriptor.name for p in parsed(trace).packet]
    assert names.count("loads") == 2
    assert validate_pftrace(pftrace_bytes([trace])) == []
    same(parse_pftrace(pftrace_bytes([trace]))[0], trace)


SPANS = st.builds(
    lambda sm, cta, track, start, length, kind, op, indices, note, inferred: Span(
        sm=sm, cta=cta, track=track, name=f"n{op}", start=start / 8, end=(start + length) / 8,
        kind=kind, op_id=op, indices=tuple(indices), note=note, inferred=inferred,
    ),
    st.integers(0, 2), st.integers(0, 2), st.sampled_from(["a/0", "a/1", "b[10]", "b[9]"]),
    st.integers(0, 400), st.integers(0, 80), st.sampled_from(SpanKind), st.integers(-1, 5),
    st.lists(st.integers(0, 9), max_size=2), st.sampled_from(["", "x; y"]), st.booleans(),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(SPANS, max_size=25))
def test_any_trace_is_valid_and_reads_back(spans):
    trace = Trace("measured", "random", spans=spans)
    data = pftrace_bytes([trace])
    assert validate_pftrace(data) == []
    same(parse_pftrace(data)[0], trace)


def faulty(change) -> list[str]:
    root = parsed(ring_trace())
    change(root.packet)
    return validate_pftrace(root.SerializeToString())


def test_faults_of_a_file_are_named():
    assert validate_pftrace(b"\xff\xff\xff") == ["not a protobuf message"]
    assert faulty(lambda p: setattr(p[2].track_descriptor, "uuid", 1))[0] == (
        "packet 2: track 1 is described twice or is 0"
    )
    assert faulty(lambda p: setattr(p[2].track_descriptor, "parent_uuid", 99)) == [
        "packet 2: track 3 has an unknown parent"
    ]
    assert faulty(lambda p: setattr(p[3].track_event, "track_uuid", 99))[:1] == [
        "packet 3: an event of an unknown track 99"
    ]
    assert "packet 4: track 'consumer/0' goes back in time" in faulty(
        lambda p: setattr(p[3], "timestamp", 10**9)
    )
    assert "packet 4: slices of 'consumer/0' overlap" in faulty(
        lambda p: setattr(p[4].track_event, "type", 1)
    )
    assert faulty(lambda p: setattr(p[3].track_event, "type", 4))[0] == (
        "packet 3: counter and slices mix on 'consumer/0'"
    )


def test_a_slice_without_end_is_named_and_such_a_file_is_not_read():
    root = parsed(ring_trace())
    ends = [i for i, p in enumerate(root.packet) if p.track_event.type == 2]
    last = [i for i in ends if root.packet[i].track_event.track_uuid == 3][-1]
    del root.packet[last]
    data = root.SerializeToString()
    assert validate_pftrace(data) == ["a slice of 'consumer/0' never ends"]
    with pytest.raises(ValueError, match=r"^not a trace of asyncsim: a slice of 'consumer/0'"):
        parse_pftrace(data)


def test_a_file_of_somebody_else_is_refused():
    root = message_class("Trace")()
    root.packet.add().track_descriptor.CopyFrom(
        message_class("TrackDescriptor")(uuid=5, process={"pid": 1, "process_name": "chrome"})
    )
    with pytest.raises(ValueError, match="^not a trace of asyncsim: process 'chrome'$"):
        parse_pftrace(root.SerializeToString())


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    file = tmp_path / "t.pftrace"
    file.write_bytes(b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_pftrace(file, [ring_trace()])
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["t.pftrace"]
