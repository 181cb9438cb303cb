"""What accuracy is asked for, and what of it is reached on the stored measurements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asyncsim.hw.compare import ComparedRow, Comparison

ROWS, MEAN, P95, MAX, SCENARIO, TAU_B, REGRET = 250, 3.0, 8.0, 15.0, 5.0, 0.95, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A figure that is asked for, at most (or ``at_least``) so large. ``where``: what is over."""

    name: str
    asked: float
    reached: float
    unit: str = "%"
    at_least: bool = False
    where: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        return self.reached >= self.asked if self.at_least else self.reached <= self.asked

    def __str__(self) -> str:
        verdict = "met" if self.met else "missed"
        over = f": {', '.join(self.where)}" if self.where else ""
        return f"{self.name} {self.limit}: {self.value}, {verdict}{over}"

    @property
    def limit(self) -> str:
        """What is asked for, as text."""
        return f"{'>=' if self.at_least else '<='} {self.asked:g} {self.unit}".rstrip()

    @property
    def value(self) -> str:
        """What is reached, as text."""
        digits = {"": 3 if self.asked < 1 else 0}.get(self.unit, 2)
        return f"{self.reached:.{digits}f} {self.unit}".rstrip()


def goals(c: Comparison) -> tuple[Goal, ...]:
    """The goals of the suite, in cycles, over the rows that are not short."""
    return tuple(_goals(c))


def misses(c: Comparison) -> tuple[ComparedRow, ...]:
    """Rows that miss, worst first: without a prediction; over the maximum; over what is asked of a
    scenario's mean, in a scenario whose mean is over it."""
    over = {name for name, s in c.by_scenario.items() if s.mean > SCENARIO}

    def size(r: ComparedRow) -> float:
        return float("inf") if r.error_pct is None else abs(r.error_pct)

    missing = [
        r for r in c.rows if not r.short and size(r) > (SCENARIO if r.scenario in over else MAX)
    ]
    return tuple(sorted(missing, key=lambda r: -size(r)))


def _goals(c: Comparison) -> Iterator[Goal]:
    e = c.overall
    yield Goal(name="rows", asked=ROWS, reached=len(c.rows), unit="", at_least=True)
    yield Goal(name="mean error", asked=MEAN, reached=e.mean)
    yield Goal(name="95th percentile", asked=P95, reached=e.p95)
    yield Goal(name="largest error", asked=MAX, reached=e.max)
    means = {name: s.mean for name, s in c.by_scenario.items()}
    over = sorted(
        (name for name, mean in means.items() if mean > SCENARIO), key=lambda n: -means[n]
    )
    yield Goal(
        name="mean of each scenario",
        asked=SCENARIO,
        reached=max(means.values(), default=0.0),
        where=tuple(f"{name} {means[name]:.1f}" for name in over),
    )
    yield Goal(name="tau-b", asked=TAU_B, reached=c.tau_b, unit="", at_least=True)
    worse = sorted(((v, p) for p, v in c.regrets.items() if v > REGRET), key=lambda i: -i[0])
    yield Goal(
        name="top-1 regret",
        asked=REGRET,
        reached=c.top1_regret_pct,
        where=tuple(f"{problem.scenario} {value:.1f}" for value, problem in worse),
    )
