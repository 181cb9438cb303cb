"""What a command works on: the scenario, its parameters, and the schedule traced from them."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from asyncsim.cli.guard import stranger
from asyncsim.cli.options import parse_parameters
from asyncsim.errors import ScheduleError, UsageError
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Finding, Place, Severity
from asyncsim.scenario import Scenario

if TYPE_CHECKING:
    from asyncsim.machine import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A scenario with parameters. ``schedule`` is one, or a Program of two; None when building it
    broke a rule: then ``finding`` says which."""

    scenario: Scenario
    spec: str
    params: dict[str, int]
    twin: str
    schedule: Schedule | Program | None
    finding: Finding | None = None

    @property
    def title(self) -> str:
        """Name and parameters in one line."""
        pairs = " ".join(f"{n}={v}" for n, v in self.params.items())
        twin = f" twin={self.twin}" if self.twin else ""
        return f"{self.scenario.name} {pairs}{twin}".rstrip()

    @property
    def built_in(self) -> bool:
        """It comes with asyncsim; a file may define another scenario of the same name."""
        return self.scenario.function.__module__.startswith("asyncsim.scenarios.")

    @property
    def kernels(self) -> tuple[Schedule, ...]:
        """The schedules, in the order of their launch."""
        if self.schedule is None:
            return ()
        return self.schedule.kernels if isinstance(self.schedule, Program) else (self.schedule,)

    def needs_schedule(self) -> Schedule | Program:
        """The schedule, for commands that cannot do without. Raises ScheduleError."""
        if self.schedule is None:
            assert self.finding is not None
            where = self.finding.where[0].loc if self.finding.where else None
            raise ScheduleError(
                self.finding.message, fix=self.finding.repair, loc=where, rule=self.finding.rule
            )
        return self.schedule


def load_subject(args: Namespace) -> Subject:
    """Find the scenario and trace it. Raises UsageError; ScheduleError if it names no rule."""
    scenario = load_scenario(args.scenario)
    return build_subject(scenario, args.scenario, parse_parameters(args.params), args.twin)


def build_subject(scenario: Scenario, spec: str, given: dict[str, int], twin: str) -> Subject:
    """Trace a scenario. Raises as ``load_subject``."""
    params = scenario.values(given, twin)
    schedule, finding = None, None
    try:
        with stranger(f"building {scenario.name}"):
            schedule = scenario.trace(given, twin)
    except ScheduleError as error:
        if error.rule is None:
            raise
        finding = as_finding(error)
    if finding is None and not isinstance(schedule, Schedule | Program):
        raise UsageError(
            f"{spec} returned {type(schedule).__name__}, not a Schedule; end it with "
            "`return k.finish()`"
        )
    return Subject(
        scenario=scenario,
        spec=spec,
        params=params,
        twin=twin,
        schedule=schedule,
        finding=finding,
    )


def load_scenario(spec: str) -> Scenario:
    """``find_scenario`` with a guard around the file's code."""
    from asyncsim.catalog import find_scenario

    with stranger(f"loading {Path(spec.partition(':')[0]).name}"):
        return find_scenario(spec)


def as_finding(error: ScheduleError) -> Finding:
    """A ScheduleError that names a rule, as what ``check`` reports."""
    assert error.rule is not None
    places = (Place(what="declared or issued", who="", loc=error.loc),) if error.loc else ()
    return Finding(
        rule=error.rule,
        severity=Severity.ERROR,
        message=error.message,
        where=places,
        repair=error.fix,
    )


def load_machine_for(name: str, schedule: Schedule | Program | None) -> Machine:
    """The machine of ``--machine``, fit for the schedule. Raises UsageError, MachineError."""
    from asyncsim.machine import known_machines, load_machine

    machine = load_machine(name)
    if schedule is not None and machine.architecture not in schedule.archs:
        fit = [m for m in known_machines() if load_machine(m).architecture in schedule.archs]
        raise UsageError(
            f"{schedule.name} is written for {', '.join(schedule.archs)}; machine "
            f"{machine.name!r} is {machine.architecture}; "
            + (f"use --machine {' or '.join(fit)}" if fit else "no machine file is for it")
        )
    return machine
