"""Assertions on schedules for a test suite; see docs/library.md.

    from asyncsim.testing import assert_clean

    def test_my_kernel():
        assert_clean(my_kernel(stages=4))

With pytest both functions are fixtures as well, without an import.
"""

from __future__ import annotations

from asyncsim.check import check
from asyncsim.cli.findings_text import findings_text, verdict_line
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rules import Rule


class ScheduleAssertion(AssertionError):
    """A schedule is not what the test says. ``result`` has the findings."""

    def __init__(self, text: str, result: CheckResult) -> None:
        super().__init__(text)
        self.result = result


def assert_clean(schedule: Schedule | Program, *, strict: bool = False) -> CheckResult:
    """Prove the schedule; return the result, with any warnings.

    Raises ScheduleAssertion with all findings in its text, for an undecided schedule too; under
    ``strict`` also for a warning. Raises ScheduleError as ``check`` does.
    """
    __tracebackhide__ = True
    result = check(schedule)
    if result.under(strict=strict) is not Verdict.CLEAN:
        result = check(schedule, witnesses=True)
        raise ScheduleAssertion(_report(schedule, result, strict=strict), result)
    return result


def assert_finds(schedule: Schedule | Program, rule: Rule) -> CheckResult:
    """The schedule breaks ``rule``, as an error or a warning. Raises ScheduleAssertion if not."""
    __tracebackhide__ = True
    result = check(schedule)
    if all(finding.rule is not rule for finding in result.findings):
        said = f"{rule.name} is not among the findings\n"
        raise ScheduleAssertion(said + _report(schedule, result, strict=False), result)
    return result


def _report(schedule: Schedule | Program, result: CheckResult, *, strict: bool) -> str:
    head = f"{schedule.name}: {verdict_line(result, strict=strict)}"
    findings = findings_text(result)
    return f"{head}\n\n{findings}" if findings else head
