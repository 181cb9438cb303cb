"""Timelines as text and as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsim.trace import Span, SpanKind, Trace
from asyncsim.trace.svg import draw_svg
from asyncsim.trace.text import BLOCKS, draw_timeline
from tests.trace.ring import ring_trace
from tests.trace.test_perfetto import SPANS


def test_timeline_of_a_ring(golden):
    golden("ring.txt", draw_timeline(ring_trace()) + "\n")


def test_predicted_over_measured(golden):
    measured = ring_trace("measured", load=470, measured=True)
    golden("ring_measured.txt", draw_timeline(ring_trace(), other=measured, width=100) + "\n")


def test_a_long_trace_shows_its_start_and_its_end():
    trace = ring_trace()
    long = Trace("predicted", "tma_ring")
    for k in range(20):
        shift = 2600.0 * k
        long.spans += [replace(s, start=s.start + shift, end=s.end + shift) for s in trace.spans]
    text = draw_timeline(long)
    assert "52,0" in text.splitlines()[0] or "51,9" in text.splitlines()[0]
    rulers = [line for line in text.splitlines() if line.strip().startswith("|") and "," in line]
    assert len(rulers) == 2
    assert "|0 " in rulers[0]
    assert rulers[1].split("|")[-1].startswith("51,")


def test_blocks_replace_the_fills_only():
    text = draw_timeline(ring_trace(), glyphs=BLOCKS)
    plain = draw_timeline(ring_trace())
    back = text.translate(str.maketrans("█░▓▒", "#.=-"))
    assert back == plain


def test_nothing_to_draw():
    assert draw_timeline(Trace("measured", "s")) == "s, measured: nothing to draw"
    with pytest.raises(ValueError, match="^trace of s has no spans to draw$"):
        draw_svg(Trace("predicted", "s"))


def test_a_column_shows_the_span_that_takes_most_of_it():
    trace = Trace("predicted", "s")
    for name, start, end, kind in (
        ("a", 0, 3, SpanKind.STALL),
        ("b", 3, 10, SpanKind.OP),
        ("c", 10, 38, SpanKind.STALL),
        ("d", 38, 40, SpanKind.OP),
    ):
        trace.spans.append(
            Span(sm=0, cta=0, track="w/0", name=name, start=start, end=end, kind=kind)
        )
    row = draw_timeline(trace, window=(0, 670)).splitlines()[3]
    assert row == "w/0          #|c."


def test_a_row_of_flights_counts_them():
    trace = Trace("predicted", "s")
    for i in range(12):
        trace.spans.append(
            Span(sm=0, cta=0, track="loads", name="t", start=10 * i, end=120, kind=SpanKind.FLIGHT)
        )
    row = draw_timeline(trace, window=(0, 670)).splitlines()[3]
    assert row == "loads        123456789+++"


def test_warps_with_one_note_share_a_line_and_a_unit_that_rests_has_no_row():
    trace = Trace("predicted", "s")
    for warp in range(3):
        trace.spans.append(
            Span(sm=0, cta=0, track=f"w/{warp}", name="wait", start=4, end=20 + warp,
                 kind=SpanKind.STALL, note="wait_group(0): pending {}")
        )  # fmt: skip
    trace.spans.append(
        Span(sm=0, cta=0, track="tma", name="t0", start=300, end=310, kind=SpanKind.ENGINE)
    )
    lines = draw_timeline(trace, window=(0, 67)).splitlines()
    assert lines[-1] == "         4  w/0..2  wait_group(0): pending {}"
    assert [line[:3] for line in lines if line.startswith(("w/", "tma"))] == ["w/0", "w/1", "w/2"]
    assert any(line.startswith("tma") for line in draw_timeline(trace).splitlines())


def test_only_the_chosen_cta_is_drawn():
    trace = ring_trace()
    other = [replace(s, cta=8, sm=4, track="other/0") for s in trace.spans]
    both = Trace("predicted", "tma_ring", trace.spans + other)
    assert draw_timeline(both) == draw_timeline(trace)
    assert "other/0" in draw_timeline(both, cta=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(SPANS, max_size=20), st.integers(40, 140))
def test_no_line_is_wider_than_asked(spans, width):
    text = draw_timeline(Trace("predicted", "random", spans=spans), width=width)
    assert max(map(len, text.splitlines())) <= width


def rectangles(svg: str):
    root = ET.fromstring(svg)
    spaces = {"s": "http://www.w3.org/2000/svg"}
    return [r for r in root.findall("s:rect", spaces) if r.find("s:title", spaces) is not None]


def test_svg_has_a_bar_per_span_predicted_above_measured():
    predicted, measured = ring_trace(), ring_trace("measured", load=470, measured=True)
    svg = draw_svg(predicted, measured)
    assert len(rectangles(svg)) == len(predicted.spans) + len(measured.spans)
    hashes = [
        (float(r.get("y")), float(r.get("x")))
        for r in rectangles(svg)
        if r[0].text.startswith("hash: ")
    ]
    rows = sorted({y for y, _ in hashes})
    assert [b - a for a, b in pairwise(rows)] == [17, 26, 17]
    first = [min(x for y, x in hashes if y == row) for row in rows]
    assert first[0] < first[1]
    assert first[2] < first[3]
    dashed = [r for r in rectangles(svg) if r.get("stroke-dasharray")]
    assert len(dashed) == sum(s.inferred for s in measured.spans)


def test_svg_bars_lie_to_scale():
    trace = Trace("predicted", "s")
    trace.spans.append(
        Span(sm=0, cta=0, track="w/0", name="<a&b>", start=25, end=75, kind=SpanKind.OP)
    )
    (bar,) = rectangles(draw_svg(trace, window=(0, 100), width=1176))
    assert float(bar.get("x")) == 160 + 250
    assert float(bar.get("width")) == 500 - 0.6
    assert bar[0].text == "<a&b>: 25 to 75"


def test_svg_is_the_same_every_time():
    assert draw_svg(ring_trace()) == draw_svg(ring_trace())
