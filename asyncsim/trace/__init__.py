"""Traces: what happened when, predicted or measured, in one type.

``text`` draws one as text, ``svg`` as a picture, ``perfetto`` writes a .pftrace file and
``perfetto_reader`` reads it back. They are imported by name, so that the model stays light.
"""

from asyncsim.trace.model import Counter, Span, SpanKind, Trace

__all__ = ["Counter", "Span", "SpanKind", "Trace"]
