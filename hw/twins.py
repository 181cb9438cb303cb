"""What the GPU shows of broken twins: guarded launches, and delays that provoke what timing hides.

A twin shows when a wait times out, CUDA raises an exception, or the data are not what the clean
schedule computes. Launched are, until it does: the twin as it is; with the delays that check's
findings suggest; with one op after the other delayed; with random delays. All that for each of
its problems (small.py), with L2 cold and warm. The clean schedule is launched on the same
problem: what it does not compute either says nothing of the twin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.errors import ScheduleError
from asyncsim.hw.compile import CompileError, compile_schedule
from asyncsim.hw.delays import random_table, table_of
from asyncsim.hw.guide import Try, tries
from asyncsim.hw.launch.child_process import Child, LaunchFailed
from asyncsim.hw.launch.series import Meaning, Series, meaning_of, run_series
from asyncsim.hw.render import Variant
from asyncsim.hw.small import twin_problems, why_not_launched
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Scenario, Twin

PLAIN, RANDOM, CONTROL = 50, 200, 5
_MOST_CTAS = 16
_L2 = ("cold", "warm")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One set of parameters of a twin: what it ought to compute, and what to try."""

    scenario: str
    twin: str
    params: dict[str, int]
    meaning: Meaning
    tries: list[Try]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a twin showed, and after which launches. ``form``: "hidden" if it did not show."""

    form: str
    what: str = ""
    delay: str = ""
    launches: int = 0
    advisories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A twin and its problems, which are being prepared."""

    scenario: Scenario
    twin: Twin
    problems: list[Future[Problem]]


def submit_twins(names: Iterable[str], pool: ProcessPoolExecutor) -> list[Task]:
    """Have every problem of every twin of these scenarios prepared."""
    tasks = []
    for scenario in map(find_scenario, names):
        for twin in scenario.twins:
            sets = [p for p, _ in twin_problems(scenario, twin)] if twin.launch else []
            work = [pool.submit(prepare, scenario.name, twin.name, p) for p in sets]
            tasks.append(Task(scenario=scenario, twin=twin, problems=work))
    return tasks


def measure_twins(tasks: Iterable[Task], child: Child, seed: int) -> Iterator[Row]:
    """A row for every twin: its rule, and how it shows on the GPU, if at all."""
    for task in tasks:
        yield _twin_row(child, task.scenario, task.twin, task.problems, seed)


def prepare(scenario: str, twin: str, params: dict[str, int]) -> Problem:
    """What takes time on the host: check, ``evaluate`` of the clean schedule, the compiler."""
    found = find_scenario(scenario)
    broken = found.build(params, twin)
    for delays in (False, True):
        compile_schedule(broken, variant=Variant(delays=delays), allow_advisories=True)
    return Problem(
        scenario=scenario,
        twin=twin,
        params=params,
        meaning=meaning_of(found.build(params), _MOST_CTAS),
        tries=tries(broken, check(broken).findings),
    )


def _outputs(schedule: Schedule) -> dict[str, tuple[int, ...]]:
    return {t.name: t.shape for t in schedule.of_kind(GlobalTensor) if t.output}


def _twin_row(
    child: Child, scenario: Scenario, twin: Twin, problems: list[Future[Problem]], seed: int
) -> Row:
    row: Row = {"scenario": scenario.name, "twin": twin.name, "rule": twin.rule.name}
    if not twin.launch:
        return {**row, "form": "not launched", "what": why_not_launched(twin)}
    launches = 0
    try:
        for problem in problems:
            p = problem.result()
            clean, broken = scenario.build(p.params), scenario.build(p.params, twin.name)
            if _outputs(clean) != _outputs(broken):
                what = "its outputs are not those of the clean form: nothing to compare with"
                return {**row, "form": "not launched", "what": what}
            for l2 in _L2:
                _control(child, clean, p, l2)
                shown = show(child, broken, p.meaning, p.tries, l2=l2, seed=seed)
                launches += shown.launches
                row |= {"params": p.params, "l2": l2, "launches": launches, "form": shown.form}
                row |= {"what": shown.what, "delay": shown.delay, "advisories": shown.advisories}
                if shown.form != "hidden" or shown.advisories:  # what ptxas repaired stays hidden
                    return row
    except (ScheduleError, CompileError, LaunchFailed) as error:  # before the first launch
        return {**row, "form": "not launched", "what": str(error)}
    finally:
        for rest in problems:
            rest.cancel()
    return row


def _control(child: Child, clean: Schedule, p: Problem, l2: str) -> None:
    r = run_series(clean, p.meaning, child, launches=CONTROL, l2=l2)
    if r.failure is not None:
        raise LaunchFailed(f"the clean schedule fails on this problem: {r.failure.what}")


def show(
    child: Child,
    schedule: Schedule,
    meaning: Meaning,
    guided: Iterable[Try],
    *,
    l2: str = "cold",
    seed: int = 0,
) -> Shown:
    """Launch a broken schedule until it shows: plain, with the delays given, with random ones."""
    import numpy as np

    plain = run_series(schedule, meaning, child, launches=PLAIN, l2=l2, broken=True)
    if plain.failure is not None:
        return _shown(plain, "", 0)
    seeds = range(seed, seed + RANDOM)
    plan = [(table_of(schedule, t.delays), t.what) for t in guided]
    plan += [(random_table(schedule, s), f"random delays, seed {s}") for s in seeds]
    tables = np.stack([table for table, _ in plan])
    delayed = run_series(schedule, meaning, child, tables=tables, l2=l2, broken=True)
    return _shown(delayed, "" if delayed.failure is None else plan[delayed.done][1], plain.done)


def _shown(r: Series, delay: str, before: int) -> Shown:
    return Shown(
        form="hidden" if r.failure is None else r.failure.form.value,
        what="" if r.failure is None else r.failure.what,
        delay=delay,
        launches=before + r.done + (r.failure is not None),
        advisories=r.compiled.resources.advisories,
    )
