"""``--timeline`` and ``--trace``: traces as text and as a file for Perfetto."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsim.cli.output import WIDTH, emit, note, write_whole
from asyncsim.trace import Trace


def show_traces(traces: Sequence[Trace], *, timeline: bool, path: str | None) -> None:
    """Print the traces as text and write them to one file, as asked."""
    if timeline and traces:
        from asyncsim.trace.text import draw_timeline

        emit("\n" + "\n\n".join(draw_timeline(t, width=WIDTH) for t in traces))
    if path and traces:
        from asyncsim.trace.perfetto import pftrace_bytes

        write_whole(path, pftrace_bytes(list(traces)))
        note(f"wrote {path}; open it at https://ui.perfetto.dev")
    if (timeline or path) and not traces:
        note("no timeline: there is no prediction")
