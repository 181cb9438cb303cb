"""What a sweep found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from asyncsim.advise.space import Space
from asyncsim.advise.trial import Status, Trial
from asyncsim.predict.result import Prediction

SAME = 0.01  # sustained times are not known better; their mean error is 5 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Relief:
    """The same schedule where what bounds it takes half the time: ``name`` is the resource."""

    name: str
    prediction: Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The best schedule with one parameter a step further: a trial that has been proven, or not a
    clean schedule."""

    name: str
    value: int
    trial: Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Of the best schedule. ``reliefs``: first of what bounds it, then of what bounds that.
    ``steps``: down and up in every free parameter, of those that differ."""

    reliefs: tuple[Relief, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The trials of a sweep, in the order of its combinations.

    A combination that was not reached (``interrupted``) is not among them.
    """

    scenario: str
    machine: str
    l2: str
    space: Space
    trials: tuple[Trial, ...]
    why: Why = Why()
    interrupted: bool = False

    @property
    def ranked(self) -> tuple[Trial, ...]:
        """The proven-clean schedules, best first: those that were measured by measured cycles, then
        the others by predicted time, sustained; of equal ones that which is faster by itself, then
        that with less shared memory."""
        fastest = self._fastest()
        return tuple(sorted(self.of(Status.CLEAN), key=lambda t: rank(t, fastest)))

    @property
    def best(self) -> Trial | None:
        """The one to use; None if none was proven clean."""
        return next(iter(self.ranked), None)

    @property
    def foreseen(self) -> Trial | None:
        """The one that is predicted to be the best, whatever was measured."""
        fastest = self._fastest()
        clean = self.of(Status.CLEAN)
        return min(clean, key=lambda t: foreseen_rank(t, fastest), default=None)

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many combinations ended how."""
        return Counter(t.status for t in self.trials)

    def _fastest(self) -> float:
        """The least of the sustained times that are predicted, in us."""
        return min((foreseen_us(t) for t in self.of(Status.CLEAN)), default=0.0)

    def of(self, status: Status) -> tuple[Trial, ...]:
        """The trials that ended so."""
        return tuple(t for t in self.trials if t.status is status)


def rank(trial: Trial, fastest: float) -> tuple[int, float, float, int]:
    """Measured ones first, and last those that failed then."""
    foreseen = foreseen_rank(trial, fastest)
    m = trial.measured
    if m is None:
        return 1, *foreseen
    return (2, *foreseen) if m.trouble or m.cycles is None else (0, m.cycles, *foreseen[1:])


def foreseen_rank(trial: Trial, fastest: float) -> tuple[float, float, int]:
    """By the predicted time of a sustained run, where ``fastest`` and what is within ``SAME`` of it
    are equal; then as one run alone: where the power limit makes schedules alike, the one that
    needs fewer cycles is the better one."""
    return (sustained_rank(foreseen_us(trial), fastest), *single_rank(trial))


def sustained_rank(us: float, fastest: float) -> float:
    """The time itself, but for those that are as good as the fastest."""
    return max(us, (1 + SAME) * fastest)


def foreseen_us(trial: Trial) -> float:
    """The predicted time in a sustained run, whose clock the power limit may lower; where that is
    not known, of one run alone; infinite without a prediction."""
    p = trial.prediction
    return p.sustained.time_us if p and p.sustained else single_rank(trial)[0]


def single_rank(trial: Trial) -> tuple[float, int]:
    """By the predicted time of one run, then by shared memory."""
    p = trial.prediction
    return (p.time_us, p.occupancy.smem_bytes) if p else (float("inf"), 0)
