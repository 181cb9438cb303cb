"""What one row of a measurement is of."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One row: a scenario, parameters over its defaults, the state of L2 before a launch."""

    scenario: str
    params: dict[str, int] = field(default_factory=dict)
    l2: str = "cold"

    def __str__(self) -> str:
        shown = " ".join(f"{n}={v}" for n, v in self.params.items())
        return f"{self.scenario} {shown} {self.l2}"
