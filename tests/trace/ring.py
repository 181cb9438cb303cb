"""A small trace with everything in it: a ring of three stages, eight tiles, two consumer warps."""

from __future__ import annotations

from asyncsim.trace import Counter, Span, SpanKind, Trace

STAGES, TILES = 3, 8
ISSUE, ENGINE, WORK = 24.0, 160.0, 260.25


def ring_trace(source: str = "predicted", *, load: float = 420.5, measured: bool = False) -> Trace:
    """Times follow from the ring's rule; ``measured``: landings and stages are inferred."""
    trace = Trace(source, "tma_ring")
    released: list[float] = []
    producer = engine = consumer = 0.0

    def span(track: str, name: str, start: float, end: float, kind: SpanKind, **kw: object) -> None:
        trace.spans.append(
            Span(sm=3, cta=7, track=track, name=name, start=start, end=end, kind=kind, **kw)  # type: ignore[arg-type]
        )

    for i in range(TILES):
        stage = i % STAGES
        ready = max(producer, released[i - STAGES] if i >= STAGES else 0.0)
        if ready > producer:
            span("producer/0", f"wait empty[{stage}]", producer, ready, SpanKind.STALL, op_id=17)
        span("producer/0", "tma", ready, ready + ISSUE, SpanKind.OP, op_id=19, indices=(i,))
        producer = ready + ISSUE
        start = max(producer, engine)
        engine = start + ENGINE
        landed = start + load
        span("tma", f"t{i}", start, engine, SpanKind.ENGINE, inferred=measured)
        span("loads", f"t{i}", producer, landed, SpanKind.FLIGHT, inferred=measured, op_id=19)
        for warp in range(2):
            note = f"wait_group(1): pending {{t{i + 1}}}; landed t{i}" if warp == 0 else ""
            name = f"wait full[{stage}]"
            begun = max(consumer, landed)
            if landed > consumer:
                span(
                    f"consumer/{warp}", name, consumer, landed, SpanKind.STALL, op_id=11, note=note
                )
            span(f"consumer/{warp}", "hash", begun, begun + WORK, SpanKind.OP, indices=(0, i))
        consumer = max(consumer, landed) + WORK
        released.append(consumer)
        span(f"ring[{stage}]", f"t{i}", landed, consumer, SpanKind.STAGE, inferred=measured)
        trace.counters.append(
            Counter(sm=3, cta=7, track=f"full[{stage}]", time=landed, value=i // STAGES + 1)
        )
    return trace
