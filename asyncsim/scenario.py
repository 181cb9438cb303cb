"""Scenarios: named schedules with parameters and broken twins.

A scenario is a function that returns a Schedule, or a Program of two, decorated with ``@scenario``.
Its parameters are integers with defaults, passed by keyword; ``twin`` selects a deliberate bug.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pickle import PicklingError
from typing import Any

from asyncsim.errors import ScheduleError, SourceLoc, UsageError
from asyncsim.free import (
    Band,
    Buffers,
    Flag,
    Free,
    OneCtaPerSm,
    Splits,
    Stages,
    Switch,
    TileM,
    TileN,
    Warpgroups,
    free_of,
    only_of,
)
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule, Severity
from asyncsim.suggest import did_you_mean

__all__ = [
    "Band",
    "Buffers",
    "Flag",
    "Free",
    "OneCtaPerSm",
    "Scenario",
    "Splits",
    "Stages",
    "Switch",
    "TileM",
    "TileN",
    "Twin",
    "Warpgroups",
    "scenario",
]


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
    """A named schedule. ``build(**params, twin=name)`` traces it.

    Parameters that are marked so (asyncsim.free) are what an author turns to make the kernel
    faster; the others state the problem.
    """

    name: str
    summary: str
    archs: tuple[str, ...]
    function: Callable[..., Schedule | Program]
    params: Mapping[str, int]
    twins: tuple[Twin, ...]

    @property
    def free(self) -> dict[str, Free]:
        """The free parameters, with the values that are worth a try."""
        return free_of(self.function)

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[str, str, str]]:
        """By its place, which other processes look up. Raises PicklingError for one without."""
        module = sys.modules.get(self.function.__module__)
        if getattr(module, self.name, None) is not self:
            raise PicklingError(
                f"scenario {self.name!r} is no global of its module, other processes cannot find "
                "it; define it at the top level of a file"
            )
        return _find, (self.function.__module__, self.name, getattr(module, "__file__", None) or "")

    def values(self, params: Mapping[str, int] | None = None, twin: str = "") -> dict[str, int]:
        """Defaults, then what the twin needs, then ``params``. Raises UsageError."""
        values = dict(self.params)
        if twin:
            values.update(self.twin(twin).params)
        for name, value in (params or {}).items():
            if name not in self.params:
                raise UsageError(
                    f"scenario {self.name!r} has no parameter {name!r}; "
                    f"{did_you_mean(name, self.params)}it has {', '.join(self.params) or 'none'}"
                )
            values[name] = value
        return values

    def build(self, params: Mapping[str, int] | None = None, twin: str = "") -> Schedule:
        """``trace`` of one schedule. Raises UsageError for a Program."""
        traced = self.trace(params, twin)
        if isinstance(traced, Program):
            raise UsageError(
                f"scenario {self.name!r} is a Program of two schedules; this takes one of them"
            )
        return traced

    def trace(self, params: Mapping[str, int] | None = None, twin: str = "") -> Schedule | Program:
        """Trace with these parameters over the defaults. Raises ScheduleError and UsageError."""
        values = self.values(params, twin)
        for name, only in only_of(self.function).items():
            if values[name] not in only.values:
                fix = f"use {' or '.join(map(str, only.values))}"
                code = self.function.__code__
                place = SourceLoc(code.co_filename, code.co_firstlineno)
                raise ScheduleError(f"{name} = {values[name]}", fix=fix, loc=place)
        if self.twins:
            return self.function(**values, twin=twin)
        return self.function(**values)

    def twin(self, name: str) -> Twin:
        """The twin of this name. Raises UsageError."""
        for twin in self.twins:
            if twin.name == name:
                return twin
        names = [t.name for t in self.twins]
        raise UsageError(
            f"scenario {self.name!r} has no twin {name!r}; "
            f"{did_you_mean(name, names)}it has {', '.join(names) or 'none'}"
        )


def _find(module: str, name: str, file: str) -> Scenario:
    """What ``Scenario.__reduce__`` names; a scenario file is run again where it has not been."""
    if module in sys.modules or not module.startswith("asyncsim_file_"):
        found: Any = getattr(import_module(module), name)
    else:
        from asyncsim.catalog import find_scenario

        found = find_scenario(f"{file}:{name}")
    if not isinstance(found, Scenario):
        raise UsageError(f"{name} of {file or module} is no scenario here")
    return found


def scenario(
    *, summary: str, archs: Sequence[str] = ("sm_90a",), twins: Sequence[Twin] = ()
) -> Callable[[Callable[..., Schedule | Program]], Scenario]:
    """Make a Scenario of a function whose parameters are integers with defaults."""

    def wrap(function: Callable[..., Schedule | Program]) -> Scenario:
        params: dict[str, int] = {}
        for name, p in inspect.signature(function).parameters.items():
            if name == "twin":
                continue
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY) or not isinstance(
                p.default, int
            ):
                raise UsageError(
                    f"parameter {name!r} of scenario {function.__name__!r} has no integer "
                    f"default; write {name}=1"
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
