"""The verdict on one CTA: the reference execution, and what a failing condition calls for."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.check.execution import Execution
from asyncsim.check.exits import check_exit
from asyncsim.check.findings import breach_text, findings_of
from asyncsim.check.grid import Bounds
from asyncsim.check.model import Breach, Condition, End, Report
from asyncsim.check.policy import Directed, Eager, Lazy, Policy, Random
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Finding, Rule, Severity
from asyncsim.stream.program import Program

RANDOM_RUNS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CtaVerdict:
    """``note`` is empty if the CTA was decided; ``execution`` is the reference."""

    findings: tuple[Finding, ...]
    certified: bool
    note: str
    ops: int
    states: int
    execution: Execution


def check_cta(
    program: Program, block: tuple[int, int, int], bounds: Bounds, max_states: int
) -> CtaVerdict:
    """Decide one CTA."""

    def execute(policy: Policy, *, chain_phases: bool = False) -> tuple[Execution, Report]:
        schedule: Schedule = program.schedule
        warps = range(schedule.warps)
        execution = Execution(
            schedule,
            [program.place(block, w) for w in warps],
            [program.stream(block, w) for w in warps],
            policy,
            chain_phases=chain_phases,
            bounds=bounds,
        )
        report = execution.run()
        if report.end is End.FINISHED:
            check_exit(execution)
        return execution, report

    reference, report = execute(Eager())
    breaches = list(report.breaches.values())
    found = findings_of(reference, report)

    def verdict(
        findings: list[Finding], *, certified: bool = False, note: str = "", states: int = 0
    ) -> CtaVerdict:
        return CtaVerdict(
            findings=tuple(findings),
            certified=certified,
            note=note,
            ops=report.steps,
            states=states,
            execution=reference,
        )

    if not breaches:
        return verdict(found, certified=not _errors(found))
    # without the conditions the graph of the reference speaks for the reference only, and there a
    # wait also acquires what earlier phases released
    exact, exact_report = execute(Eager(), chain_phases=True)
    found = findings_of(exact, exact_report)
    if _errors(found) and not _perhaps_lapped(found, breaches):
        return verdict(found)
    for policy in _directed(breaches):
        execution, shown = execute(policy, chain_phases=True)
        more = findings_of(execution, shown)
        if _errors(more) and (not _errors(found) or _named(more)):
            return verdict(more)
    if _errors(found):
        return verdict(found)
    warnings = [f for f in found if f.severity is Severity.WARNING]
    note = f"condition {breaches[0].condition.name} does not hold: {breach_text(breaches[0])}"
    return verdict(warnings, note=note)


def _errors(found: list[Finding]) -> bool:
    return any(f.severity is Severity.ERROR for f in found)


def _named(found: list[Finding]) -> bool:
    return any(f.rule is Rule.LAPPED_WAITER for f in found)


def _perhaps_lapped(found: list[Finding], breaches: list[Breach]) -> bool:
    """A race whose reader can also miss its phase: the wait is the root, if a run shows it."""
    races = {Rule.WRITE_BEFORE_RELEASE, Rule.WRITE_WRITE_RACE}
    errors = {f.rule for f in found if f.severity is Severity.ERROR}
    return errors <= races and any(b.condition is Condition.C for b in breaches)


def _directed(breaches: list[Breach]) -> list[Policy]:
    """Executions that a failing condition suggests: one of its ops held back, or run early."""
    policies: list[Policy] = []
    for breach in breaches[:4]:
        for step in (breach.step, breach.other):
            if step is None:
                continue
            for ahead in (False, True):
                since = 0 if ahead else step.pos
                for eager in (True, False):
                    policies.append(Directed(step.warp.index, since, ahead=ahead, eager=eager))
    return [Lazy(), *policies, *(Random(seed) for seed in range(RANDOM_RUNS))]
