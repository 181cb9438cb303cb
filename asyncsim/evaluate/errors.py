"""Why an evaluation stopped."""

from __future__ import annotations

from asyncsim.rules import Rule


class EvaluateError(Exception):
    """The schedule hangs or does what the hardware leaves undefined, in the order that was run.

    One line: the CTA, who, where, what. ``rule`` is DEADLOCK for a hang.
    """

    def __init__(self, message: str, rule: Rule) -> None:
        super().__init__(message)
        self.rule = rule
