"""advise: sweep the free parameters of a scenario, and say which values to use and why.

Predicting a combination and proving it cost about the same. All are predicted, but proven from the
fastest downwards only, until as many clean ones are found as asked for: those behind can only be
slower. What was not proven is not recommended, and says so. The best is the proven one that is
fastest in a sustained run.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from asyncsim.advise.result import Advice, Relief, Step, Why, single_rank
from asyncsim.advise.space import Space, neighbours, space_of
from asyncsim.advise.trial import Measured, Status, Subject, Trial, own_version
from asyncsim.advise.workers import (
    SILENCE,
    Foreign,
    InThisThread,
    Lost,
    Processes,
    Workers,
)
from asyncsim.errors import UsageError
from asyncsim.scenario import Scenario

if TYPE_CHECKING:
    from asyncsim.machine import Machine

LIMIT_S = 60.0
TOP = 5


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep; ``advice`` has what was finished."""

    def __init__(self, advice: Advice) -> None:
        self.advice = advice
        super().__init__("interrupted")


def advise(
    scenario: Scenario | str,
    machine: Machine | Path | str = "h200",
    *,
    params: Mapping[str, int] | None = None,
    vary: Mapping[str, Sequence[int]] | None = None,
    l2: str = "cold",
    top: int = TOP,
    prove_all: bool = False,
    limit_s: float = LIMIT_S,
    executor: Executor | None = None,
    jobs: int | None = None,
    measure: Callable[[Sequence[Trial]], Sequence[Measured]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Advice:
    """Predict every combination of the free parameters, prove the fastest, explain the best.

    ``params`` fixes parameters; ``vary`` names the values of those to sweep, in place of all that
    the scenario declares free. ``top``: so many clean ones are looked for; ``prove_all``: all.
    ``limit_s``: seconds for each step of a combination. Work goes to ``executor``, any of
    concurrent.futures, or to ``jobs`` processes, by default one for each CPU; 1 works here. With
    processes the caller is a module that can be imported (``if __name__ == "__main__":``).
    ``measure`` is given the ``top`` fastest; of those the fastest measured is the best.
    Raises UsageError, Interrupted with what was finished, and MachineError.
    """
    from asyncsim.catalog import find_scenario
    from asyncsim.machine import load_machine

    found = find_scenario(scenario) if isinstance(scenario, str) else scenario
    gpu = load_machine(machine) if isinstance(machine, str | Path) else machine
    if top < 1 or not 0 < limit_s < float("inf") or (jobs is not None and jobs < 1):
        raise UsageError(f"top = {top}, jobs = {jobs}, limit_s = {limit_s:g}; give at least 1")
    if l2 not in ("cold", "warm"):
        raise UsageError(f"l2 = {l2!r}; use 'cold' or 'warm'")
    space = space_of(found, gpu, params or {}, vary or {})
    subject = Subject(scenario=found, machine=gpu, l2=l2, limit_s=limit_s)
    sweep = _Sweep(
        subject, space, _workers(subject, executor, jobs), progress or (lambda now: None)
    )
    try:
        sweep.predict()
        sweep.prove(len(space) if prove_all else top)
        if measure is not None:
            sweep.measure(measure, top)
        why = sweep.explain()
    except KeyboardInterrupt:
        raise Interrupted(sweep.advice(interrupted=True)) from None
    finally:
        sweep.workers.close()
    return replace(sweep.advice(), why=why)


def _workers(subject: Subject, executor: Executor | None, jobs: int | None) -> Workers:
    if executor is not None:
        return Foreign(executor, SILENCE * subject.limit_s)
    jobs = jobs or _cpus()
    if jobs == 1:
        return InThisThread()
    try:
        pickle.dumps(subject)
    except pickle.PicklingError as error:
        raise UsageError(f"{error}, or work in this process, with jobs=1") from None
    return Processes(jobs, subject.limit_s)


def _cpus() -> int:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Sweep:
    """The trials so far, by the place of their combination."""

    def __init__(
        self, subject: Subject, space: Space, workers: Workers, tell: Callable[[str], None]
    ) -> None:
        self.workers = workers
        self._subject, self._space, self._tell = subject, space, tell
        self._trials: dict[int, Trial] = {}

    def advice(self, *, interrupted: bool = False) -> Advice:
        """What is known now."""
        return Advice(
            scenario=self._subject.scenario.name,
            machine=self._subject.machine.name,
            l2=self._subject.l2,
            space=self._space,
            trials=tuple(t for _, t in sorted(self._trials.items())),
            interrupted=interrupted,
        )

    def predict(self) -> None:
        """Try out all combinations. Raises UsageError when none of them is a schedule."""
        combinations = list(self._space.combinations())
        name = self._subject.scenario.name
        for index, result in self.workers.outcomes(self._subject.try_out, combinations):
            self._trials[index] = _trial(result, combinations[index])
            best = min(t.cycles for t in self._trials.values())
            said = f", best {best:,.0f} cycles" if best < float("inf") else ""
            self._tell(f"predicting {name}: {len(self._trials)} of {len(combinations)}{said}")
        none = [t for t in self._trials.values() if t.status is Status.NO_SCHEDULE]
        if len(none) == len(combinations):
            raise UsageError(f"no combination is a schedule; the first one: {none[0].why}")

    def prove(self, top: int) -> None:
        """Check the fastest ones, until ``top`` are clean or none is left."""
        while behind := self._unproven(top):
            self._check(behind)

    def _unproven(self, top: int) -> list[int]:
        """What stands among the first ``top`` without a proof."""
        hopeful = (Status.CLEAN, Status.UNCHECKED)
        ranked = sorted(
            (i for i, t in self._trials.items() if t.status in hopeful),
            key=lambda i: single_rank(self._trials[i]),
        )
        return [i for i in ranked[:top] if self._trials[i].status is Status.UNCHECKED]

    def _check(self, which: Sequence[int]) -> None:
        trials = [self._trials[i] for i in which]
        for n, result in self.workers.outcomes(self._subject.prove, trials):
            self._trials[which[n]] = _trial(result, trials[n].params)
            proven = sum(t.status is Status.CLEAN for t in self._trials.values())
            self._tell(f"checking {self._subject.scenario.name}: {proven} clean")

    def measure(self, measure: Callable[[Sequence[Trial]], Sequence[Measured]], top: int) -> None:
        """Have the fastest run."""
        clean = (i for i, t in self._trials.items() if t.status is Status.CLEAN)
        first = sorted(clean, key=lambda i: single_rank(self._trials[i]))[:top]
        for i, found in zip(first, measure([self._trials[i] for i in first]), strict=True):
            self._trials[i] = replace(self._trials[i], measured=found)

    def explain(self) -> Why:
        """Why the best one is: what binds it, and what its neighbours are like."""
        best = self.advice().best
        if best is None:
            return Why()
        self._tell(f"explaining {self._subject.scenario.name}")
        return Why(reliefs=tuple(self._reliefs(best)), steps=tuple(self._steps(best)))

    def _reliefs(self, best: Trial) -> Iterator[Relief]:
        from asyncsim.advise.relief import binding, relieved

        subject, trial = self._subject, best
        for _ in range(2):
            name = binding(trial.prediction) if trial.prediction else ""
            if not name:
                return
            subject = replace(subject, machine=relieved(subject.machine, name))
            for _, result in self.workers.outcomes(subject.again, [best]):
                trial = _trial(result, best.params)
            if trial.prediction is not None:
                yield Relief(name=name, prediction=trial.prediction)

    def _steps(self, best: Trial) -> Iterator[Step]:
        """Both neighbours of the best in each parameter, proven."""
        steps = [
            (name, value)
            for name, values in self._space.vary.items()
            for value in neighbours(values, best.params[name])
        ]
        places = [{**best.params, name: value} for name, value in steps]
        swept = {tuple(t.params.values()): i for i, t in self._trials.items()}
        at = [swept.get(tuple(place.values())) for place in places]
        trials = {n: self._trials[i] for n, i in enumerate(at) if i is not None}
        beyond = [n for n in range(len(places)) if n not in trials]
        for k, tried in self.workers.outcomes(self._subject.try_out, [places[n] for n in beyond]):
            trials[beyond[k]] = _trial(tried, places[beyond[k]])
        unproven = [n for n, t in trials.items() if t.status is Status.UNCHECKED]
        for k, proven in self.workers.outcomes(self._subject.prove, [trials[n] for n in unproven]):
            trials[unproven[k]] = _trial(proven, places[unproven[k]])
        for n, (name, value) in enumerate(steps):
            if (i := at[n]) is not None:
                self._trials[i] = trials[n]
            yield Step(name=name, value=value, trial=trials[n])


def _trial(result: Trial | Lost, params: Mapping[str, int]) -> Trial:
    if isinstance(result, Lost):
        return Trial(params=params, status=Status.FAILED, why=result.why)
    if result.version != own_version():
        raise UsageError(
            f"a worker has asyncsim {result.version}, this is {own_version()}; install the same"
        )
    return result
