"""The tables of docs/accuracy.md between ``<!-- NAME -->`` marks, from what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from asyncsim.catalog import find_scenario
from asyncsim.hw.beside.attention import Answer, Case, cases, load_answers, published
from asyncsim.hw.beside.fp8 import load_times, measured
from asyncsim.hw.beside.heuristics import Stored, load_estimates
from asyncsim.hw.beside.picture import drawing
from asyncsim.hw.beside.rows import PREDICTORS, Beside, beside, stored_comparison_rows
from asyncsim.hw.compare import ComparedRow, Comparison, Statistics, summarise
from asyncsim.hw.goals import goals, misses
from asyncsim.hw.misses import by_reason, load_reasons
from asyncsim.hw.statistics import tau_b, top1_regrets
from asyncsim.machine import load_machine

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "accuracy.md"
PICTURE = ROOT / "docs" / "images" / "beside.svg"
END = "<!-- end -->\n"


class Facts:
    """All that is stored, each loaded when a table first asks for it."""

    @cached_property
    def comparison(self) -> Comparison:
        return summarise(stored_comparison_rows())

    @cached_property
    def estimates(self) -> Stored:
        return load_estimates()

    @cached_property
    def beside(self) -> Beside:
        return beside(self.comparison.rows, self.estimates.us, load_machine("h200"))

    @cached_property
    def attention(self) -> list[tuple[Case, Answer]]:
        return list(zip(cases(), load_answers(), strict=True))


def write_page() -> None:
    """Bring the page and its picture up to date; without a repository there is none."""
    if PAGE.exists():
        facts = Facts()
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), facts), encoding="utf-8")
        PICTURE.write_text(drawing(facts.beside), encoding="utf-8")


def with_tables(text: str, facts: Facts | None = None) -> str:
    """The page with its tables made anew. Raises ValueError if a mark is missing or twice there."""
    known = facts or Facts()
    for name, table in TABLES.items():
        mark = f"<!-- {name} -->\n"
        if text.count(mark) != 1:
            raise ValueError(f"docs/accuracy.md: {text.count(mark)} marks {name}; need one")
        before, after = text.split(mark)
        made = "".join(f"{line}\n" for line in table(known))
        text = f"{before}{mark}{made}{END}{after.split(END, 1)[1]}"
    return text


def _table(head: str, rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {head} |"
    yield f"|{' --- |' * (head.count('|') + 1)}"
    for cells in rows:
        yield f"| {' | '.join(str(cell) for cell in cells)} |"


def _goals(facts: Facts) -> Iterator[str]:
    cells = (
        (g.name, g.limit, g.value, "yes" if g.met else "no", ", ".join(g.where))
        for g in goals(facts.comparison)
    )
    return _table("figure | asked | reached | met | over it", cells)


def _scenarios(facts: Facts) -> Iterator[str]:
    c = facts.comparison
    long = [r for r in c.rows if not r.short]
    lines = [_scenario("all", c.overall, long)]
    for name, s in c.by_scenario.items():
        lines.append(_scenario(f"`{name}`", s, [r for r in long if r.scenario == name]))
    lines.append(_scenario("under 5 us", c.short, []))
    head = "scenario | rows | mean | median | 95 % | max | tau-b | regret | spread | boards apart"
    return _table(head, lines)


def _scenario(name: str, s: Statistics, rows: Sequence[ComparedRow]) -> tuple[object, ...]:
    regrets = top1_regrets(rows)
    apart = "" if s.board_spread is None else f"{s.board_spread:.1f}"
    return (
        name,
        s.n,
        *(f"{value:.1f}" for value in (s.mean, s.median, s.p95, s.max)),
        _tau(rows),
        f"{max(regrets.values()):.1f}" if regrets else "",
        f"{s.spread:.1f}",
        apart,
    )


def _tau(rows: Sequence[ComparedRow]) -> str:
    tau = tau_b(rows)
    return f"{tau:.3f}" if tau else ""  # 0: no two rows that are far enough apart


def _misses(facts: Facts) -> Iterator[str]:
    reasons = by_reason(misses(facts.comparison), load_reasons())
    for why, rows in sorted(reasons.items(), key=lambda item: -len(item[1])):
        yield f"- {why[0].upper()}{why[1:]}:"
        lines = [f"  `{_named(r)}` {_signed(r.error_pct)}" for r in rows]
        yield from ",\n".join(lines).splitlines()


def _named(r: ComparedRow) -> str:
    defaults = find_scenario(r.scenario).params
    given = " ".join(f"{n}={v}" for n, v in r.params.items() if defaults.get(n) != v)
    return " ".join(part for part in (r.scenario, given, r.l2) if part)


def _signed(value: float | None) -> str:
    return "no prediction" if value is None else f"{value:+.1f} %"


def _gemm(facts: Facts) -> Iterator[str]:
    rows = facts.beside[PREDICTORS[0]]
    yield f"{len(rows)} rows; nvMatmulHeuristics {facts.estimates.version}."
    yield ""
    names = sorted({r.scenario for r in rows})
    lines = [_beside("all", facts.beside, names)]
    lines += [_beside(f"`{name}`", facts.beside, [name]) for name in names]
    errors = "mean | median | 95 % | tau-b"
    head = "scenario | rows" + "".join(f" | {p}: {errors}" for p in PREDICTORS)
    yield from _table(head, lines)


def _beside(title: str, of: Beside, names: Sequence[str]) -> tuple[object, ...]:
    cells: list[object] = [title, sum(r.scenario in names for r in of[PREDICTORS[0]])]
    for predictor in PREDICTORS:
        rows = [r for r in of[predictor] if r.scenario in names]
        s = summarise(rows).overall
        cells += [f"{s.mean:.1f}", f"{s.median:.1f}", f"{s.p95:.1f}", _tau(rows)]
    return tuple(cells)


def _attention(facts: Facts) -> Iterator[str]:
    clock = published()["attention"]["clock_mhz"]
    lines = []
    for case, a in facts.attention:
        us = a.cycles / clock
        lines.append(
            (
                f"{case.batch}, {case.seq}, {case.heads}, {case.hdim}",
                "causal" if case.causal else "full",
                f"{case.measured_us:,.1f}",
                f"{us:,.1f}",
                _off(us, case.measured_us),
                _off(case.theirs_us, case.measured_us),
                f"{a.ctas:,}",
                f"{a.waves:.1f}",
                f"{100 * a.tensor:.0f} %",
            )
        )
    head = (
        "B, S, H, D | mask | measured, us | predicted, us | error | FlashGPU-Sim's error | CTAs | "
        "waves | tensor cores busy"
    )
    yield from _table(head, lines)


def _attention_costs(facts: Facts) -> Iterator[str]:
    """Of the two longest full rows of a head size: cycles of a block of keys, and of a tile."""
    clock = published()["attention"]["clock_mhz"]
    lines = []
    for hdim in (128, 64):
        full = [(c, a) for c, a in facts.attention if c.hdim == hdim and not c.causal]
        longest = sorted(full, key=lambda pair: pair[0].seq)[-2:]
        blocks = [-(-c.seq // c.params["block_n"]) for c, _ in longest]
        measured_ = [c.measured_us * clock / a.waves for c, a in longest]
        predicted = [a.cycles / a.waves for _, a in longest]
        costs = [_line(blocks, cycles) for cycles in (measured_, predicted)]
        lines.append((hdim, *(f"{c[i]:,.0f}" for i in (0, 1) for c in costs)))
    head = "D | a block, measured | predicted | the rest of a tile, measured | predicted"
    return _table(head, lines)


def _line(xs: Sequence[int], ys: Sequence[float]) -> tuple[float, float]:
    slope = (ys[1] - ys[0]) / (xs[1] - xs[0])
    return slope, ys[0] - slope * xs[0]


def _off(predicted: float, measured: float) -> str:
    return f"{100 * (predicted - measured) / measured:+.1f} %"


def _attention_summary(facts: Facts) -> Iterator[str]:
    clock = published()["attention"]["clock_mhz"]
    groups: dict[str, list[tuple[float, float]]] = {"all": []}
    for case, a in facts.attention:
        ours = abs(a.cycles / clock / case.measured_us - 1)
        theirs = abs(case.theirs_us / case.measured_us - 1)
        kind = f"D {case.hdim}, {'causal' if case.causal else 'full'}"
        for name in ("all", kind):
            groups.setdefault(name, []).append((100 * ours, 100 * theirs))
    lines = []
    for name, errors in groups.items():
        both = [list(errors_of) for errors_of in zip(*errors, strict=True)]
        cells = [f"{value:.1f}" for of in both for value in (sum(of) / len(of), max(of))]
        lines.append((name, len(errors), *cells))
    head = "rows | n | asyncsim: mean | max | FlashGPU-Sim: mean | max"
    return _table(head, lines)


def _claims(facts: Facts) -> Iterator[str]:
    lines = []
    for claim in published()["claims"]:
        most = "" if claim["max_pct"] is None else f"{claim['max_pct']:g} %"
        lines.append(
            (
                claim["name"],
                claim["gpu"],
                claim["kernels"],
                f"{claim['mean_pct']:g} %",
                most,
                claim["source"],
                claim["rows"],
            )
        )
    return _table("who | GPU | kernels | mean error | largest | source | their rows", lines)


def _fp8(facts: Facts) -> Iterator[str]:
    lines = [
        (f"{m} x {n} x {k}", f"{us:.1f}", f"{ours:.1f}", _off(ours, us))
        for (m, n, k, us), ours in zip(measured(), load_times(), strict=True)
    ]
    return _table("m x n x k | measured there, us | `fp8_gemm` predicted, us | apart", lines)


TABLES: dict[str, Callable[[Facts], Iterator[str]]] = {
    "goals": _goals,
    "scenarios": _scenarios,
    "misses": _misses,
    "gemm": _gemm,
    "attention summary": _attention_summary,
    "attention costs": _attention_costs,
    "attention": _attention,
    "claims": _claims,
    "fp8": _fp8,
}
