"""Causes, the critical path, and what bounds a run, in words.

A cause is (time, label, start, previous cause): from ``start`` to ``time`` this was what everybody
downstream waited for. Walking back from the end covers the whole run. See docs/model-notes.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsim.sim.period import Jump

Cause = tuple[int, str, int, Any]
"""(end tick, what took the time, start tick, Cause or None)."""

LAUNCH, DESCRIPTOR = "launch", "descriptor fetch"
SYNC = "synchronisation"
LATENCY_L2, LATENCY_DRAM, WGMMA_TAIL = "L2 latency", "DRAM latency", "wgmma tail"
LATENCY_PEER = "latency between CTAs"
TCGEN05_TAIL, TMEM = "tcgen05 completion", "tensor memory"
MMA_LATENCY = "mma.sync latency"
TMA, PORT, GPC, DRAM, L2_WRITE = (
    "TMA engine",
    "fill port",
    "GPC port",
    "DRAM",
    "L2 write",
)
TENSOR, SMEM, LSU, PIPE, STORE = (
    "tensor core",
    "shared-memory port",
    "cp.async issue",
    "arithmetic pipes",
    "global store port",
)
SERVERS = frozenset({TMA, PORT, GPC, DRAM, L2_WRITE, TENSOR, SMEM, LSU, PIPE, STORE})
LATENCIES = frozenset({LATENCY_L2, LATENCY_DRAM, LATENCY_PEER, WGMMA_TAIL, TCGEN05_TAIL, TMEM})
LATENCIES |= {MMA_LATENCY}

BOUND_SHARE, BARRIER_SHARE, SATURATED, LATENCY_SHARE = 0.90, 0.50, 0.98, 0.40


def after(cause: Cause, time: int, label: str) -> Cause:
    """The cause extended to ``time`` by ``label``; equal labels in a row become one link."""
    end, last, start, previous = cause
    if time <= end:
        return cause
    if last == label:
        return (time, label, start, previous)
    return (time, label, end, cause)


def walk(cause: Cause | None, jumps: Sequence[Jump] = ()) -> tuple[dict[str, int], int]:
    """Ticks per label along the path, and how often it passes through a copy in flight. A period
    that was jumped over counts as often as it was."""
    shares: dict[str, int] = {}
    wraps = 0
    while cause is not None:
        end, label, start, previous = cause
        shares[label] = shares.get(label, 0) + _lasted(start, end, jumps)
        if label in (LATENCY_L2, LATENCY_DRAM, LATENCY_PEER):
            wraps += 1 + sum(j.times for j in jumps if j.begin < end <= j.end)
        if previous is not None and previous[0] < start:
            shares[LAUNCH] = shares.get(LAUNCH, 0) + _lasted(previous[0], start, jumps)
        cause = previous
    return shares, wraps


def _lasted(start: int, end: int, jumps: Sequence[Jump]) -> int:
    """Ticks from start to end, of the whole run."""
    again = (j.times * max(0, min(end, j.end) - max(start, j.begin)) for j in jumps)
    return end - start + sum(again)


def bound_by(path: dict[str, float], wraps: int, ctas: int, engines: dict[str, float]) -> str:
    """What limits the run: the rule of docs/model-notes.md over path shares and utilisations."""
    ordered = sorted(path.items(), key=lambda item: (-item[1], item[0]))
    if not ordered:
        return "nothing: the schedule does no work"
    top, share = ordered[0]
    latency = sum(path.get(label, 0.0) for label in LATENCIES)
    parts = ", ".join(f"{name} {100 * s:.0f} %" for name, s in ordered[:3] if s >= 0.01)
    if share >= BOUND_SHARE and top not in LATENCIES | {SYNC}:
        text = f"{top} ({100 * share:.0f} % of the critical path)"
    elif wraps > 2 * ctas and latency >= LATENCY_SHARE:
        text = f"latency, too few stages: {parts} of the critical path"
    elif path.get(SYNC, 0.0) > BARRIER_SHARE:
        text = f"barriers: {parts} of the critical path"
    else:
        text = f"mostly {parts} of the critical path"
    full = [n for n, use in sorted(engines.items()) if use >= SATURATED and n != top]
    return text + (f"; also saturated: {', '.join(full)}" if full else "")
