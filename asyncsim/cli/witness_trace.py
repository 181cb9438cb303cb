"""Witnesses as traces: who does what in which order, one cycle a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asyncsim.rules import Finding, WitnessStep
from asyncsim.trace import Span, SpanKind, Trace


def witness_traces(schedule: str, findings: Sequence[Finding]) -> list[Trace]:
    """One trace a finding that has a witness."""
    return [
        Trace(source=f"witness of {f.rule.name}", schedule=schedule, spans=list(_spans(f.witness)))
        for f in findings
        if f.witness
    ]


def _spans(witness: Sequence[WitnessStep]) -> Iterator[Span]:
    """A step is a cycle on the track of who does it; a copy is in flight until it lands."""
    issued: dict[tuple[object, ...], int] = {}
    for at, step in enumerate(witness):
        place = step.place
        key = place.who, place.op_id, place.indices
        landed = bool(step.then)
        yield Span(
            sm=0,
            cta=0,
            track="in flight" if landed else place.who or "block",
            name=f"{place.what}: {step.then}" if landed else place.what,
            start=float(issued.get(key, at)) if landed else float(at),
            end=at + 1.0,
            kind=SpanKind.FLIGHT if landed else SpanKind.OP,
            op_id=place.op_id,
            indices=place.indices,
            note=str(place.loc or ""),
        )
        issued.setdefault(key, at)
