"""``check --repair`` and ``check --lint``: proven changes beside the findings."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from asyncsim.cli.progress import working
from asyncsim.cli.subject import Subject, load_machine_for
from asyncsim.errors import UsageError
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict

if TYPE_CHECKING:
    from asyncsim.machine import Machine
    from asyncsim.repair import Repair

USUAL = ("h200", "a100", "b200")


@dataclass(slots=True)
class Advice:
    """``repairs`` by the index of the finding; ``removable`` None where it was not asked for."""

    repairs: dict[int, list[Repair]] = field(default_factory=dict)
    removable: list[Repair] | None = None
    tried: int = 0

    @property
    def below(self) -> dict[int, str]:
        """Text under each finding."""
        from asyncsim.cli.repair_text import repairs_text

        return {i: repairs_text(found) for i, found in self.repairs.items()}

    @property
    def lint(self) -> str:
        """Text below the verdict; empty where it was not asked for."""
        from asyncsim.cli.repair_text import lint_text

        return "" if self.removable is None else lint_text(self.removable, self.tried)

    def added_to(self, report: dict[str, Any]) -> dict[str, Any]:
        """The report with ``repairs`` in its findings and ``removable``, where asked for."""
        from asyncsim.cli.repair_text import repair_json

        for i, found in self.repairs.items():
            report["findings"][i]["repairs"] = [repair_json(r) for r in found]
        if self.removable is not None:
            report["removable"] = [repair_json(r) for r in self.removable]
        return report


def advise(
    args: Namespace, subject: Subject, result: CheckResult, machine: Machine | None, *, quiet: bool
) -> Advice:
    """Search for what the options ask. Raises UsageError for a lint of what is not clean."""
    advice = Advice()
    schedule = subject.schedule
    if args.lint and result.verdict is not Verdict.CLEAN:
        raise UsageError("--lint is for clean schedules; use --repair, or mend the findings first")
    if schedule is None or not (args.repair or args.lint):
        return advice
    if not isinstance(schedule, Schedule):
        raise UsageError("--repair and --lint change one schedule; name one of the two")
    from asyncsim.repair import omissions, removable, repairs

    priced = machine or _usual(subject)
    with working(f"checking {schedule.name}", quiet=quiet) as tell:
        if args.repair:
            for i, finding in enumerate(result.findings):
                found = repairs(schedule, result, finding, priced, progress=tell)
                advice.repairs[i] = found
        if args.lint:
            advice.tried = len(omissions(schedule))
            advice.removable = list(removable(schedule, result, priced, progress=tell))
    return advice


def _usual(subject: Subject) -> Machine | None:
    """The first shipped machine that the schedule is written for: what changes are priced on."""
    for name in USUAL:
        try:
            return load_machine_for(name, subject.schedule)
        except UsageError:
            continue
    return None
