"""Traces: what happened when, predicted or measured, in one type.

``text`` draws one as text, ``svg`` as a picture, ``perfetto`` writes a .pftrace file and ``chrome``
a Chrome JSON file; ``perfetto_reader`` and ``chrome_reader`` read them back. They are imported by
name, so that the model stays light.
"""

from asyncsim.trace.model import SHARED, Counter, Span, SpanKind, Trace

__all__ = ["SHARED", "Counter", "Span", "SpanKind", "Trace"]
