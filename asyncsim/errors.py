"""Errors with a place, and the place itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncsim.rules import Rule


@dataclass(frozen=True, slots=True)
class SourceLoc:
    """File and line of the user's code that made an op."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line}"


class ScheduleError(Exception):
    """A schedule that cannot be built: what, where, how to fix, in one line.

    ``rule`` is set when the error is a finding (exit code 1), None when the input never became
    a schedule (exit code 2).
    """

    def __init__(
        self,
        message: str,
        *,
        fix: str = "",
        loc: SourceLoc | None = None,
        rule: Rule | None = None,
    ) -> None:
        self.message, self.fix, self.loc, self.rule = message, fix, loc, rule
        at = f" (at {loc})" if loc else ""
        super().__init__(f"{message}{at}" + (f"; {fix}" if fix else ""))


class UsageError(Exception):
    """Bad input from the command line or a file: one line, exit code 2."""


class EnvironmentError_(Exception):
    """Something the machine lacks (GPU, driver, package): one line, exit code 4."""
