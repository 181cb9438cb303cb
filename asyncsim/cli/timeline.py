"""``--timeline`` and ``--trace``: traces as text and as a file for Perfetto or Chrome."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsim.cli.output import WIDTH, emit, note, write_whole
from asyncsim.trace import Trace


def show_traces(traces: Sequence[Trace], *, timeline: bool, path: str | None) -> None:
    """Draw the predicted trace (and the measured one under it) and write both to one file."""
    if not traces:
        if timeline or path:
            note("no timeline: there is no prediction")
        return
    if timeline:
        from asyncsim.trace.text import draw_timeline

        other = traces[1] if len(traces) > 1 else None
        emit("\n" + draw_timeline(traces[0], width=WIDTH, other=other))
    if path:
        write_whole(path, _content(path, traces))
        note(f"wrote {path}; open it at https://ui.perfetto.dev")


def _content(path: str, traces: Sequence[Trace]) -> bytes:
    """Chrome's JSON for a name that ends in .json, else Perfetto's protobuf."""
    if path.endswith(".json"):
        from asyncsim.trace.chrome import chrome_bytes

        return chrome_bytes(traces)
    from asyncsim.trace.perfetto import pftrace_bytes

    return pftrace_bytes(traces)
