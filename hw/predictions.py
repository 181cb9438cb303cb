"""Predictions of many configurations at once, each by a process of its own.

The suite is simulated, not proven: a proof that is stored with a schedule's text (``proven``)
licenses the run, and only a schedule that differs from what was proven is checked again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context

from asyncsim.catalog import find_scenario
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.text import schedule_text
from asyncsim.machine import Machine, load_machine

EACH = 8  # rows that are worth a process
_PLACE = re.compile(r"\s+(#\d+ )?\S+\.py:\d+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A configuration, ``params`` over the scenario's defaults. ``proven``: the fingerprint of the
    schedule that was proven clean when the row was stored, "" if none was."""

    scenario: str
    params: tuple[tuple[str, int], ...]
    l2: str
    proven: str = ""


@dataclass(frozen=True, slots=True)
class Predicted:
    """``cycles``: None if the run does not end. ``proven``: the fingerprint of the schedule, "" if
    it is not proven clean."""

    cycles: float | None
    proven: str


def predict_all(
    asked: Sequence[Asked],
    machine: str = "h200",
    *,
    workers: int | None = None,
    tell: Callable[[str], None] = lambda now: None,
) -> list[Predicted]:
    """In the order asked. ``workers``: processes; by default one a core, none for a few rows."""
    cores = (os.cpu_count() or 1) if workers is None else workers
    found = []
    for done, predicted in enumerate(_each(asked, machine, min(cores, len(asked) // EACH)), 1):
        tell(f"predicted {done} rows of {len(asked)}")
        found.append(predicted)
    return found


def fingerprint(schedule: Schedule) -> str:
    """Of the schedule's text, without the source lines that it names."""
    return sha256(_PLACE.sub("", schedule_text(schedule)).encode()).hexdigest()[:16]


def predict_row(asked: Asked, machine: Machine) -> Predicted:
    """Simulated on this machine, with the licence of a proof: the stored one, or one made here."""
    from asyncsim.check import check
    from asyncsim.sim import Deadlock, simulate
    from asyncsim.stream import StreamLimit
    from asyncsim.sync import SyncFault

    schedule = find_scenario(asked.scenario).build(dict(asked.params))
    mark = fingerprint(schedule)
    certified = mark == asked.proven or check(schedule).certified
    try:
        cycles: float | None
        run = simulate(schedule, machine, certified=certified, l2=asked.l2, ties=False)
        cycles = run.cycles
    except (Deadlock, SyncFault, StreamLimit):
        cycles = None
    return Predicted(cycles, mark if certified else "")


def _each(asked: Sequence[Asked], machine: str, workers: int) -> Iterator[Predicted]:
    if workers < 2:
        gpu = load_machine(machine)
        yield from (predict_row(a, gpu) for a in asked)
        return
    tasks = [(a, machine) for a in asked]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_in_process, tasks)


def _in_process(task: tuple[Asked, str]) -> Predicted:
    asked, machine = task
    return predict_row(asked, load_machine(machine))
