"""Rank statistics of predictions: Kendall's tau-b and top-1 regret."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from typing import NamedTuple, Protocol

# What an author turns to make a kernel faster; everything else states the problem.
TUNING = frozenset({"stages", "lag", "block_m", "block_n", "block_k", "distance"})


class Ranked(Protocol):
    """A configuration with a measured and a predicted number of cycles."""

    @property
    def scenario(self) -> str: ...
    @property
    def params(self) -> dict[str, int]: ...
    @property
    def l2(self) -> str: ...
    @property
    def measured(self) -> float: ...
    @property
    def predicted(self) -> float | None: ...
    @property
    def spread_pct(self) -> float: ...


class Problem(NamedTuple):
    """What alternatives have in common: ``fixed`` are the parameters that no author tunes."""

    scenario: str
    fixed: tuple[tuple[str, int], ...]
    l2: str


def tau_b(rows: Sequence[Ranked]) -> float:
    """Kendall's tau-b between measured and predicted cycles, over pairs of one scenario whose
    measured medians differ by more than twice the larger spread. 0 without such pairs."""
    concordant = discordant = tied = 0
    for a, b in combinations(rows, 2):
        if a.scenario != b.scenario or a.predicted is None or b.predicted is None:
            continue
        spread = max(r.measured * r.spread_pct / 100 for r in (a, b))
        if abs(a.measured - b.measured) <= 2 * spread:
            continue
        product = (a.measured - b.measured) * (a.predicted - b.predicted)
        concordant += product > 0
        discordant += product < 0
        tied += product == 0
    pairs = concordant + discordant + tied
    if not pairs or not concordant + discordant:
        return 0.0
    return (concordant - discordant) / sqrt(pairs * (concordant + discordant))


def top1_regrets(rows: Sequence[Ranked]) -> dict[Problem, float]:
    """For each problem with alternatives: how much slower, in percent, the configuration is that
    the prediction would choose, than the fastest one measured."""
    problems: dict[Problem, list[Ranked]] = {}
    for r in rows:
        if r.predicted is None:
            continue
        fixed = tuple(sorted((n, v) for n, v in r.params.items() if n not in TUNING))
        problems.setdefault(Problem(r.scenario, fixed, r.l2), []).append(r)
    regrets = {}
    for problem, members in problems.items():
        if len(members) > 1:
            chosen = min(members, key=lambda r: r.predicted or 0.0)
            best = min(r.measured for r in members)
            regrets[problem] = 100 * (chosen.measured - best) / best
    return regrets
