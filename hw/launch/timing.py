"""Cycles of a kernel from the clocks of its launches.

First CTA start to last CTA end by globaltimer, times the SM clock measured in the same launch; for
one CTA the SM's own clock. Medians and percentiles over the launches.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.hw.launch.protocol import RunReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """``cycles``: SM cycles; ``time_us``: microseconds at ``clock_mhz``; ``n``: launches."""

    cycles: float
    cycles_p10: float
    cycles_p90: float
    time_us: float
    clock_mhz: float
    l2: str
    n: int


def timing_of(reply: RunReply, *, ctas: int, l2: str) -> Timing:
    clocks = reply.clock_ghz
    if ctas == 1:
        cycles = [float(c) for c in reply.cta_cycles]
    else:
        cycles = [ns * ghz for ns, ghz in zip(reply.span_ns, clocks, strict=True)]
    clock_ghz = percentile(clocks, 50)
    middle = percentile(cycles, 50)
    return Timing(
        cycles=middle,
        cycles_p10=percentile(cycles, 10),
        cycles_p90=percentile(cycles, 90),
        time_us=middle / clock_ghz / 1000,
        clock_mhz=1000 * clock_ghz,
        l2=l2,
        n=len(cycles),
    )


def percentile(values: tuple[float, ...] | list[float], percent: float) -> float:
    """Linear interpolation between the closest ranks."""
    ordered = sorted(values)
    at = (len(ordered) - 1) * percent / 100
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)
