"""Units that the CTAs of an SM share: drawn beside the CTA, kept by the trace file."""

from __future__ import annotations

from asyncsim.trace import Span, SpanKind, Trace
from asyncsim.trace.model import SHARED
from asyncsim.trace.perfetto import pftrace_bytes
from asyncsim.trace.perfetto_reader import parse_pftrace, validate_pftrace
from asyncsim.trace.text import draw_timeline
from asyncsim.trace.tracks import spans_of_cta


def span(sm: int, cta: int, track: str, kind: SpanKind) -> Span:
    return Span(sm=sm, cta=cta, track=track, name=track, start=0, end=10, kind=kind)


TRACE = Trace(
    "predicted",
    "s",
    [
        span(0, SHARED, "tma", SpanKind.ENGINE),
        span(0, 0, "consumer/0", SpanKind.OP),
        span(0, 132, "late/0", SpanKind.OP),
        span(1, SHARED, "tensor", SpanKind.ENGINE),
        span(1, 1, "other/0", SpanKind.OP),
    ],
)


def test_the_first_cta_comes_with_the_units_of_its_sm() -> None:
    assert [s.track for s in spans_of_cta(TRACE)] == ["tma", "consumer/0"]
    assert [s.track for s in spans_of_cta(TRACE, 1)] == ["tensor", "other/0"]
    assert spans_of_cta(TRACE, 7) == []


def test_the_timeline_shows_both() -> None:
    text = draw_timeline(TRACE)
    assert "CTA 0 on SM 0" in text and "tma" in text and "consumer/0" in text
    assert "tensor" not in text and "late/0" not in text


def test_a_trace_file_keeps_them() -> None:
    data = pftrace_bytes([TRACE])
    assert validate_pftrace(data) == []
    (back,) = parse_pftrace(data)
    assert {(s.sm, s.cta, s.track) for s in back.spans} == {
        (s.sm, s.cta, s.track) for s in TRACE.spans
    }
