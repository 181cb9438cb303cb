"""The trace that the simulator emits and the record buffer of a GPU run decodes to.

Times are SM cycles from the start of the first CTA (floats; the simulator's are multiples of 1/64).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class SpanKind(Enum):
    """OP: a warp issues or computes. STALL: a warp waits. ENGINE: a shared unit is busy (TMA
    engine, tensor core, fill port). FLIGHT: an asynchronous op from issue to landing. STAGE: what
    a buffer stage holds."""

    OP = "op"
    STALL = "stall"
    ENGINE = "engine"
    FLIGHT = "flight"
    STAGE = "stage"


SHARED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Something that takes time on a track.

    ``cta``: -1 (SHARED) on a unit that the CTAs of an SM share.
    ``track``: a role and warp ("consumer/0"), an engine ("tma", "tensor"), a stage ("ring[2]").
    ``op_id`` and ``indices`` join predicted and measured events; -1 where no op is meant.
    ``inferred``: drawn from other events, not measured.
    """

    sm: int
    cta: int
    track: str
    name: str
    start: float
    end: float
    kind: SpanKind
    op_id: int = -1
    indices: tuple[int, ...] = ()
    note: str = ""
    inferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A number that steps: the generation of a barrier, the pending groups of an issuer."""

    sm: int
    cta: int
    track: str
    time: float
    value: int


@dataclass(slots=True)
class Trace:
    """``source`` is "predicted", "measured", or "witness of" a rule (a step a cycle). Spans of one
    track do not overlap, except FLIGHT."""

    source: str
    schedule: str
    spans: list[Span] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    complete: bool = True  # False: only the first part was kept (long runs)
