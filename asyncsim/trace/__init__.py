"""Traces: what happened when, predicted or measured, in one type."""

from asyncsim.trace.model import Counter, Span, SpanKind, Trace

__all__ = ["Counter", "Span", "SpanKind", "Trace"]
