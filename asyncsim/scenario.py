"""Scenarios: named schedules with parameters and broken twins.

A scenario is a function with keyword-only parameters that returns a Schedule, decorated with
``@scenario``. Parameters are integers with defaults; ``twin`` selects a deliberate bug.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from asyncsim.errors import UsageError
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A broken variant and the rule it must be named by.

    ``params`` are the parameters that show the bug where the defaults do not.
    ``launch`` False: it can block at a hardware barrier, or addresses memory out of bounds, so it
    is never launched on a GPU.
    """

    name: str
    rule: Rule
    summary: str
    severity: Severity = Severity.ERROR
    params: Mapping[str, int] = field(default_factory=dict)
    launch: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A named schedule. ``build(**params, twin=name)`` traces it."""

    name: str
    summary: str
    archs: tuple[str, ...]
    function: Callable[..., Schedule]
    params: Mapping[str, int]
    twins: tuple[Twin, ...]

    def build(self, params: Mapping[str, int] | None = None, twin: str = "") -> Schedule:
        """Trace with these parameters over the defaults. Raises ScheduleError and UsageError."""
        values = dict(self.params)
        if twin:
            values.update(self.twin(twin).params)
        for name, value in (params or {}).items():
            if name not in self.params:
                known = ", ".join(self.params)
                raise UsageError(
                    f"scenario {self.name!r} has no parameter {name!r}; it has {known or 'none'}"
                )
            values[name] = value
        if self.twins or twin:
            return self.function(**values, twin=twin)
        return self.function(**values)

    def twin(self, name: str) -> Twin:
        for twin in self.twins:
            if twin.name == name:
                return twin
        known = ", ".join(t.name for t in self.twins)
        raise UsageError(f"scenario {self.name!r} has no twin {name!r}; it has {known or 'none'}")


def scenario(
    *, summary: str, archs: Sequence[str] = ("sm_90a",), twins: Sequence[Twin] = ()
) -> Callable[[Callable[..., Schedule]], Scenario]:
    """Make a Scenario of a function whose keyword-only integer parameters have defaults."""

    def wrap(function: Callable[..., Schedule]) -> Scenario:
        params: dict[str, int] = {}
        for name, p in inspect.signature(function).parameters.items():
            if name == "twin":
                continue
            if p.kind is not p.KEYWORD_ONLY or not isinstance(p.default, int):
                raise UsageError(
                    f"parameter {name!r} of scenario {function.__name__!r} needs to be "
                    "keyword-only with an integer default"
                )
            params[name] = p.default
        return Scenario(
            name=function.__name__,
            summary=summary,
            archs=tuple(archs),
            function=function,
            params=params,
            twins=tuple(twins),
        )

    return wrap
