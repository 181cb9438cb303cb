"""A prediction as text for 80 columns. Its caller prints the verdict first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asyncsim.cli.output import WIDTH, shorten, table, wrap
from asyncsim.machine import Machine
from asyncsim.predict.result import Prediction, Stall, Sustained

MAX_STALLS = 12


def prediction_text(p: Prediction, machine: Machine) -> str:
    """Cycles, time, what bounds it, occupancy, engines, and how the numbers used are known."""
    occ = p.occupancy
    per_sm = "1 CTA" if occ.ctas_per_sm == 1 else f"{occ.ctas_per_sm} CTAs"
    out = [
        f"cycles     {p.cycles:,.0f} on {machine.name}" + _spread(p.spread_pct),
        f"time       {_time(p.time_us)} at {p.clock_mhz:,.0f} MHz",
        *_sustained(p.sustained),
        wrap(p.bound_by, first="bound by   "),
        wrap(
            f"{per_sm} per SM (limit: {occ.limited_by}), {_waves(occ.waves)}, "
            f"{occ.smem_bytes:,} bytes of shared memory",
            first="occupancy  ",
        ),
    ]
    if p.path:
        out.append(wrap(_shares(p.path), first="path       "))
    if p.engines:
        out.append(wrap(_shares(p.engines), first="engines    "))
    out.append(wrap(_numbers(p.origins), first="numbers    "))
    if p.assumed_share is not None:
        out.append(
            f"assumed    {100 * p.assumed_share:.0f} % of the cycles rest on assumed numbers"
        )
    return "\n".join(out)


def stalls_text(p: Prediction) -> str:
    """Where roles wait, longest first; ops of one line that do the same are one row."""
    longest = sorted(_by_line(p.stalls), key=lambda s: -s.cycles)
    shown = longest[:MAX_STALLS]
    rows = [
        (shorten(s.role, 12), s.what, shorten(s.where, 28), f"{s.cycles:,.0f}", str(s.count))
        for s in shown
    ]
    taken = sum(max(8, *(len(row[c]) for row in rows)) for c in (0, 2, 3, 4))
    room = max(12, WIDTH - taken)
    rows = [(role, shorten(what, room), line, n, c) for role, what, line, n, c in rows]
    text = table(("role", "stalls at", "line", "cycles", "count"), rows, "lllrr")
    more = len(longest) - len(shown)
    return text + (f"\n{more} more with fewer cycles" if more else "")


def _by_line(stalls: Iterable[Stall]) -> list[Stall]:
    rows: dict[tuple[str, str, str], Stall] = {}
    for s in stalls:
        key = (s.role, s.what, s.where)
        if (row := rows.get(key)) is None:
            rows[key] = s
        else:
            rows[key] = replace(row, cycles=row.cycles + s.cycles, count=row.count + s.count)
    return list(rows.values())


def _shares(shares: dict[str, float]) -> str:
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in ordered if share >= 0.005)


def _waves(waves: float) -> str:
    return f"{waves:g} wave" if waves == 1 else f"{waves:.3g} waves"


def _time(us: float) -> str:
    return f"{us:,.3f} us" if us < 100 else f"{us:,.1f} us"


def _sustained(s: Sustained | None) -> list[str]:
    """The same run again and again, and what its clock rests on."""
    if s is None:
        return []
    why = {
        "power": f"{s.limit_w:,.0f} W limit",
        "peak power": f"peak power, at {s.watts:,.0f} of {s.limit_w:,.0f} W",
        "tensor": f"the highest with tensor cores at work, {s.watts:,.0f} of {s.limit_w:,.0f} W",
        "boost": f"{s.watts:,.0f} of {s.limit_w:,.0f} W",
    }[s.because]
    if s.because == "power" and s.watts > s.limit_w:
        why = f"the lowest, {s.watts:,.0f} W, which is more than the limit of {s.limit_w:,.0f} W"
    rate = f", {s.tflops:,.0f} TFLOPS" if s.tflops else ""
    text = f"{_time(s.time_us)}{rate} at {s.clock_mhz:,.0f} MHz: {why}, {s.operands} operands"
    return [wrap(f"{text} (assumed)", first="sustained  ")]


def _spread(pct: float) -> str:
    return f" (+-{pct:.2g} % by the order of ties)" if pct >= 0.005 else ""


def _numbers(origins: dict[str, dict[str, int]]) -> str:
    """How the machine's numbers that were used are known; the assumed ones by table of its file."""
    kinds = ("measured", "inferred", "published", "assumed")
    counts = [f"{sum(origins[how].values())} {how}" for how in kinds if how in origins]
    assumed = origins.get("assumed", {})
    where = ", ".join(f"{unit} {n}" for unit, n in sorted(assumed.items(), key=lambda i: -i[1]))
    return ", ".join(counts) + (f": {where}" if where else "")
