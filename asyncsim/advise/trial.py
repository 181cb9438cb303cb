"""One combination: what became of it, and the two steps that a worker takes for it.

``try_out`` predicts as if the conditions of the certificate held, which is what most schedules are
found to do; ``prove`` decides whether they do, and predicts again where they do not.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING

from asyncsim.advise.limit import TookTooLong, time_limit
from asyncsim.errors import ScheduleError, SourceLoc, UsageError
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Prediction, Verdict
from asyncsim.scenario import Scenario

if TYPE_CHECKING:
    from asyncsim.machine import Machine

MAX_TEXT = 300


def own_version() -> str:
    """The version of the asyncsim that runs here."""
    return str(import_module("asyncsim").__version__)


class Status(Enum):
    """What is known of a combination. UNCHECKED: predicted, and nobody has asked for a proof."""

    CLEAN = "clean"
    FINDINGS = "findings"
    INCOMPLETE = "incomplete"
    UNCHECKED = "unchecked"
    NO_SCHEDULE = "no schedule"
    NO_END = "no end"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Medians over launches on the GPU at hand. ``trouble``: why there is none, or wrong data;
    ``contradicts``: a clean schedule does not show that."""

    cycles: float | None = None
    time_us: float | None = None
    trouble: str = ""
    contradicts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A combination of ``params``, all of the scenario's.

    ``prediction`` of an UNCHECKED one holds if it is ``certified``, which is not known yet.
    ``why``: what forbids the schedule, what is found, what is open, or what failed, in one line.
    ``version``: of the asyncsim that said so.
    """

    params: Mapping[str, int]
    status: Status
    why: str = ""
    prediction: Prediction | None = None
    certified: bool = True
    measured: Measured | None = None
    version: str = field(default_factory=own_version)

    @property
    def cycles(self) -> float:
        """Predicted; infinite where nothing is."""
        return self.prediction.cycles if self.prediction else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is the same for all combinations."""

    scenario: Scenario
    machine: Machine
    l2: str
    limit_s: float

    def try_out(self, params: Mapping[str, int]) -> Trial:
        """Build a combination and predict one run of it."""
        return self._guarded(Trial(params=params, status=Status.UNCHECKED), self._try_out)

    def prove(self, trial: Trial) -> Trial:
        """The verdict on a combination that has been predicted; if it is clean, its sustained run,
        too: among proven ones that decides."""
        return self._guarded(trial, self._prove)

    def again(self, trial: Trial) -> Trial:
        """Predict a proven combination once more, on the machine of this subject."""
        return self._guarded(trial, self._again)

    def sustain(self, trial: Trial) -> Trial:
        """The sustained run of a combination that has been predicted."""
        return self._guarded(trial, self._sustain)

    def build(self, params: Mapping[str, int]) -> Schedule | Program:
        """Trace a combination. Raises ScheduleError, also for another architecture."""
        schedule = self.scenario.trace(params)
        if not isinstance(schedule, Schedule | Program):
            raise ScheduleError(
                f"{self.scenario.name} returned {type(schedule).__name__}, not a Schedule",
                fix="end it with `return k.finish()`",
            )
        if self.machine.architecture not in schedule.archs:
            raise ScheduleError(
                f"{schedule.name} is written for {', '.join(schedule.archs)}, machine "
                f"{self.machine.name} is {self.machine.architecture}",
                fix="choose another machine",
            )
        return schedule

    def simulate(
        self, schedule: Schedule | Program, *, certified: bool, clock_mhz: float | None = None
    ) -> Prediction:
        """Predict one run of a schedule, or of a program. Raises as asyncsim.sim.simulate does."""
        from asyncsim.sim import simulate

        return simulate(
            schedule, self.machine, certified=certified, l2=self.l2, clock_mhz=clock_mhz, ties=False
        )

    def with_sustained(
        self, schedule: Schedule | Program, prediction: Prediction, *, certified: bool
    ) -> Prediction:
        """A prediction of the schedule with its sustained run, as ``predict`` adds it: where DRAM
        is busy that is simulated at its own clock."""
        from asyncsim.predict.power import sustained

        def at(mhz: float) -> Prediction:
            return self.simulate(schedule, certified=certified, clock_mhz=mhz)

        return replace(prediction, sustained=sustained(prediction, self.machine, cycles_at=at))

    def _guarded(self, trial: Trial, step: Step) -> Trial:
        """One bad combination must not cost the others: every end of it is a Trial."""
        try:
            with time_limit(self.limit_s):
                return step(trial)
        except ScheduleError as error:
            return replace(trial, status=Status.NO_SCHEDULE, why=str(error), prediction=None)
        except TookTooLong:
            why = f"took longer than {self.limit_s:g} s"
        except UsageError as error:
            why = _line(str(error))
        except Exception as error:
            why = _text(error)
        return replace(trial, status=Status.FAILED, why=why, prediction=None)

    def _try_out(self, trial: Trial) -> Trial:
        from asyncsim.sim import Deadlock
        from asyncsim.stream import StreamLimit
        from asyncsim.sync import SyncFault

        schedule = self.build(trial.params)
        why = ""
        for certified in (True, False):
            try:
                prediction = self.simulate(schedule, certified=certified)
            except (Deadlock, SyncFault, StreamLimit) as stopped:
                why = _line(str(stopped))
            else:
                return replace(trial, prediction=prediction)
        return replace(trial, status=Status.NO_END, why=why)

    def _prove(self, trial: Trial) -> Trial:
        from asyncsim.check import check

        schedule = self.build(trial.params)
        try:
            result = check(schedule)
        except ScheduleError as error:
            if error.rule is None:
                raise
            return replace(trial, status=Status.FINDINGS, why=str(error))
        status, why = _status(result)
        proven = replace(trial, status=status, why=why, certified=result.certified)
        if result.verdict is not Verdict.CLEAN:
            return proven
        return self._predicted(proven, schedule, trial.prediction if result.certified else None)

    def _again(self, trial: Trial) -> Trial:
        return self._predicted(trial, self.build(trial.params), None)

    def _sustain(self, trial: Trial) -> Trial:
        return self._predicted(trial, self.build(trial.params), trial.prediction)

    def _predicted(
        self, trial: Trial, schedule: Schedule | Program, alone: Prediction | None
    ) -> Trial:
        """The trial with a whole prediction; ``alone``: that of one run, if it is known."""
        certified = trial.certified
        alone = alone or self.simulate(schedule, certified=certified)
        prediction = self.with_sustained(schedule, alone, certified=certified)
        return replace(trial, prediction=prediction)


Step = Callable[[Trial], Trial]


def _text(error: BaseException) -> str:
    """The exception in one line, with the place that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{SourceLoc(frames[-1].filename, frames[-1].lineno or 0)}: " if frames else ""
    return _line(f"{place}{type(error).__name__}: {error}")


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TEXT else line[:MAX_TEXT] + "..."


def _status(result: CheckResult) -> tuple[Status, str]:
    match result.verdict:
        case Verdict.CLEAN:
            return Status.CLEAN, ""
        case Verdict.FINDINGS:
            rules = dict.fromkeys(f.rule.name for f in result.findings)
            return Status.FINDINGS, ", ".join(rules)
        case Verdict.INCOMPLETE:
            return Status.INCOMPLETE, result.note
