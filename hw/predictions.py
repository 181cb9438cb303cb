"""Predictions of many configurations at once, by processes, each kept in the user's cache.

The suite is simulated, not proven: a proof that is stored with a schedule's text (``proven``)
licenses the run, and only a schedule that differs from what was proven is checked again. A kept
prediction is that of the same schedule, machine and sources; after any change it is run again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

import asyncsim
from asyncsim.catalog import find_scenario
from asyncsim.collecting import collect_rarely
from asyncsim.hw.compile import cache_folder
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.text import schedule_text
from asyncsim.machine import Machine, load_machine
from asyncsim.trace.files import write_whole

OPEN = "open "
EACH = 8  # rows that are worth a process
_ROOT = Path(asyncsim.__file__).parent
_MODEL = ("build", "ir", "machine", "memory", "scenarios", "sim", "stream", "sync")
_PLACE = re.compile(r"\s+(#\d+ )?\S+\.py:\d+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A configuration, ``params`` over the scenario's defaults. ``proven``: what ``Predicted`` had
    when the row was stored, "" if it is new. ``clock_mhz``: of the SMs, None for the usual one."""

    scenario: str
    params: tuple[tuple[str, int], ...]
    l2: str
    proven: str = ""
    clock_mhz: int | None = None


@dataclass(frozen=True, slots=True)
class Predicted:
    """``cycles``: None if the run does not end. ``proven``: the schedule's fingerprint if it is
    proven clean; behind ``OPEN`` if check did not decide it, so that it ran in strict order."""

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
    place = _place(asked, mark, machine)
    kept = _kept(place)
    if kept is not None:
        return kept
    known = asked.proven.removeprefix(OPEN) == mark
    certified = not asked.proven.startswith(OPEN) if known else check(schedule).certified
    try:
        cycles: float | None
        run = simulate(
            schedule,
            machine,
            certified=certified,
            l2=asked.l2,
            clock_mhz=asked.clock_mhz,
            ties=False,
        )
        cycles = run.cycles
    except (Deadlock, SyncFault, StreamLimit):
        cycles = None
    found = Predicted(cycles, mark if certified else OPEN + mark)
    with suppress(OSError):  # a cache that cannot be written to costs time alone
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(asdict(found)).encode())
    return found


def _each(asked: Sequence[Asked], machine: str, workers: int) -> Iterator[Predicted]:
    if workers < 2:
        gpu = load_machine(machine)
        yield from (predict_row(a, gpu) for a in asked)
        return
    tasks = [(a, machine) for a in asked]
    spawn = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=collect_rarely) as pool:
        yield from pool.map(_in_process, tasks)


def _in_process(task: tuple[Asked, str]) -> Predicted:
    asked, machine = task
    return predict_row(asked, load_machine(machine))


@cache
def _sources() -> str:
    """Of all that a prediction may depend on but the schedule and the machine's numbers."""
    digest = sha256()
    for path in sorted(p for folder in _MODEL for p in (_ROOT / folder).glob("**/*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _kept(place: Path) -> Predicted | None:
    try:
        return Predicted(**json.loads(place.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return None


def _place(asked: Asked, mark: str, machine: Machine) -> Path:
    key = "\0".join([mark, asked.proven, asked.l2, str(asked.clock_mhz), repr(machine), _sources()])
    return cache_folder() / "predictions" / f"{sha256(key.encode()).hexdigest()[:32]}.json"
