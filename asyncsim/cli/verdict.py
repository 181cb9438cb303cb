"""From a subject to its verdict and its prediction, and the exit code of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.guard import exception_text, user_place
from asyncsim.cli.progress import working
from asyncsim.cli.subject import Subject, as_finding
from asyncsim.errors import EnvironmentError_, ScheduleError, UsageError
from asyncsim.predict.result import CheckResult, Prediction, Verdict

if TYPE_CHECKING:
    from asyncsim.machine import Machine

T = TypeVar("T")

EXIT_OF = {
    Verdict.CLEAN: ExitCode.CLEAN,
    Verdict.FINDINGS: ExitCode.FINDINGS,
    Verdict.INCOMPLETE: ExitCode.INCOMPLETE,
}


def prove(subject: Subject, *, quiet: bool, trips: bool = False) -> CheckResult:
    """The verdict; a rule that broke the build, or breaks the op stream, is a finding like any.
    ``trips``: with the larger trip counts that it holds for."""
    schedule = subject.schedule
    if schedule is None:
        return _built_badly(subject)
    from asyncsim.check import check

    try:
        with working(f"checking {schedule.name}", quiet=quiet):
            return with_user_code(subject, lambda: check(schedule, trips=trips, witnesses=True))
    except ScheduleError as error:
        return _from_stream(error)


def prove_and_predict(
    subject: Subject,
    machine: Machine,
    *,
    l2: str,
    exact: bool,
    keep_trace: bool,
    quiet: bool,
    operands: str = "random",
    power_limit_w: float | None = None,
) -> tuple[CheckResult, Prediction | None]:
    """The verdict, and the prediction where there is one (not of a deadlock)."""
    schedule = subject.schedule
    if schedule is None:
        return _built_badly(subject), None
    from asyncsim.predict import predict

    try:
        with working(f"checking {schedule.name}", quiet=quiet) as tell:
            return with_user_code(
                subject,
                lambda: predict(
                    schedule,
                    machine,
                    exact=exact,
                    l2=l2,
                    keep_trace=keep_trace,
                    operands=operands,
                    power_limit_w=power_limit_w,
                    progress=tell,
                ),
            )
    except ScheduleError as error:
        return _from_stream(error), None


def with_user_code(subject: Subject, call: Callable[[], T]) -> T:
    """Call a reader; an exception out of the scenario's own code (a ``work`` or ``numpy`` function)
    is the user's, in one line."""
    try:
        return call()
    except (ScheduleError, UsageError, EnvironmentError_):
        raise
    except Exception as error:
        place = user_place(error.__traceback__)
        if place is None or Path(place.file).suffix != ".py":
            raise
        raise UsageError(
            f"{place}: in {subject.scenario.name}: {exception_text(error)}; correct that line"
        ) from error


def _built_badly(subject: Subject) -> CheckResult:
    assert subject.finding is not None
    return CheckResult(verdict=Verdict.FINDINGS, findings=(subject.finding,))


def _from_stream(error: ScheduleError) -> CheckResult:
    if error.rule is None:
        raise error
    return CheckResult(verdict=Verdict.FINDINGS, findings=(as_finding(error),))
