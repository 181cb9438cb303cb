"""``check``: the verdict on a schedule.

One CTA of each kind is executed once; the conditions on that execution decide (cta.py). What the
other CTAs do differently is coordinates: bounds and overlaps of global writes follow from them.
"""

from __future__ import annotations

from dataclasses import replace

from asyncsim.check.affine import BlockUse, block_use
from asyncsim.check.assignments import check_assignments
from asyncsim.check.cta import CtaVerdict, check_cta, clean_at_once
from asyncsim.check.ctas import Block, Survey, survey
from asyncsim.check.dependent import check_dependence, overlap
from asyncsim.check.execution import Execution
from asyncsim.check.findings import finding_of_fault, merge_findings
from asyncsim.check.grid import Bounds, overlapping_deltas
from asyncsim.check.report import Fault
from asyncsim.check.tiles_apart import with_tiles_apart
from asyncsim.check.trips import all_trips
from asyncsim.check.width import too_wide
from asyncsim.ir.program import Program as Dependence
from asyncsim.ir.schedule import Schedule, refuse_unfinished
from asyncsim.predict.result import CheckResult, Trips, Verdict
from asyncsim.rules import Finding, Rule, Severity
from asyncsim.stream.program import Program, StreamLimit

MAX_COMPARED = 10_000  # ops over all CTAs that are enumerated where moves do not decide


def check(
    schedule: Schedule | Dependence,
    *,
    max_states: int = 1_000_000,
    jump: bool = True,
    trips: bool = False,
    witnesses: bool = False,
) -> CheckResult:
    """The verdict for every interleaving of warps and every order of completions.

    ``max_states`` bounds the search behind a condition that does not hold; when it is used up the
    verdict is INCOMPLETE and ``note`` names the condition and the two ops. ``jump``: pass over
    rounds of loops that only repeat, and let two warps speak for all that do the same; the result
    is the same without. ``trips``: say which larger trip counts a verdict CLEAN holds for.
    ``witnesses``: find the shortest witness of each finding; else it is the end of the execution
    that failed. Raises ScheduleError for an expression that fails (a division by zero). Of a
    program: the verdict on each of its schedules, and on what they do to each other.
    """
    try:
        if isinstance(schedule, Dependence):
            return _check_both(schedule, max_states, jump, witnesses)
        refuse_unfinished("check", schedule)
        return _check(schedule, max_states, jump, "" if trips else None, witnesses)
    except StreamLimit as limit:
        return CheckResult(verdict=Verdict.INCOMPLETE, note=str(limit))


def _check(
    schedule: Schedule,
    max_states: int,
    jump: bool,
    trips: str | None = None,
    witnesses: bool = False,
) -> CheckResult:
    """``trips``: the argument whose larger values are asked for, "" any; None asks for none."""
    if schedule.assigned:
        given = check_assignments(
            schedule, lambda s, trips: _check(s, max_states, jump, trips, witnesses)
        )
        why = "tiles are handed out while the kernel runs"
        asked = trips is not None and given.verdict is Verdict.CLEAN
        return replace(given, unclaimed=why * asked)
    program = Program(schedule)
    use = block_use(schedule)
    kinds = Survey([(0, 0, 0)]) if use.uniform else survey(schedule, use)
    bounds = Bounds(schedule, use.moves if use.uniform else {})
    notes: list[str] = []
    found: list[Finding] = [finding_of_fault(f) for f in kinds.faults.values()]
    certified = kinds.complete
    if not kinds.complete:
        notes.append(
            f"the block index decides what each of {schedule.ctas} CTAs executes; not all of them "
            "were looked at"
        )
    if wide := too_wide(schedule):
        notes.append(wide)
    stats = {"ops": 0, "passed": 0, "states": 0, "ctas": len(kinds.blocks)}
    plain = _clean_with_tiles_apart(schedule, kinds) if jump else {}
    for block in kinds.blocks:
        cta = plain.get(block) or check_cta(
            program, block, bounds, max_states, jump=jump, witnesses=witnesses
        )
        found += cta.findings
        certified &= cta.certified
        notes += [cta.note] if cta.note else []
        stats["ops"] += cta.ops
        stats["passed"] += cta.execution.report.passed
        stats["states"] += cta.states
        if use.uniform and not _has_error(found):
            found += _overlaps(schedule, use, cta, notes)
    found = merge_findings(found)
    if _has_error(found):
        verdict = Verdict.FINDINGS
    else:
        verdict = Verdict.INCOMPLETE if notes else Verdict.CLEAN
    longer: Trips | str = ""
    if trips is not None and verdict is Verdict.CLEAN:
        longer = "the CTAs differ, or one order of phases does not speak for all"
        if not jump:
            longer = "no rounds are passed over"
        elif use.uniform and certified:
            longer = all_trips(program, bounds, trips)
    return CheckResult(
        verdict=verdict,
        trips=longer if isinstance(longer, Trips) else None,
        unclaimed=longer if isinstance(longer, str) else "",
        findings=tuple(found),
        certified=certified and verdict is Verdict.CLEAN,
        note="; ".join(notes) if verdict is Verdict.INCOMPLETE else "",
        stats=stats,
    )


def _clean_with_tiles_apart(schedule: Schedule, kinds: Survey) -> dict[Block, CtaVerdict]:
    """The kinds of CTAs that are clean even if no two tiles of theirs have data in common; what
    differs from others in data alone is then executed once (tiles_apart.py)."""
    decided = kinds.shapes and kinds.complete and not kinds.faults
    apart = with_tiles_apart(schedule, kinds.once) if decided else None
    if apart is None:
        return {}
    program, bounds = Program(apart), Bounds(apart, {})
    shapes = {shape: clean_at_once(program, shape, bounds) for shape in set(kinds.shapes.values())}
    found = {block: shapes[shape] for block, shape in kinds.shapes.items()}
    return {block: cta for block, cta in found.items() if cta is not None}


def _check_both(program: Dependence, max_states: int, jump: bool, witnesses: bool) -> CheckResult:
    """What the dependent kernel touches early follows from its graph, if the certificate holds."""
    results = [
        _check(s, max_states, jump, witnesses=witnesses)
        for s in (program.primary, program.dependent)
    ]
    found = [f for result in results for f in result.findings]
    notes = [result.note for result in results if result.note]
    second = program.dependent
    use = block_use(second)
    kinds = Survey([(0, 0, 0)]) if use.uniform else survey(second, use)
    between: list[Finding] = []
    note = ""
    if overlap(program) and (program.primary.assigned or second.assigned):
        note = "what kernels do to each other whose tiles are handed out is not known"
    elif overlap(program) and results[1].verdict is Verdict.CLEAN and not results[1].certified:
        note = f"what {second.name} does before griddepcontrol.wait was not decided"
    elif overlap(program):
        between, note = check_dependence(program, kinds)
    found = merge_findings([*found, *between])
    notes += [note] if note else []
    verdict = Verdict.INCOMPLETE if notes else Verdict.CLEAN
    if _has_error(found):
        verdict = Verdict.FINDINGS
    return CheckResult(
        verdict=verdict,
        findings=tuple(found),
        certified=verdict is Verdict.CLEAN and all(result.certified for result in results),
        note="; ".join(notes) if verdict is Verdict.INCOMPLETE else "",
        stats={key: results[0].stats[key] + n for key, n in results[1].stats.items()},
    )


def _has_error(found: list[Finding]) -> bool:
    return any(f.severity is Severity.ERROR for f in found)


def _overlaps(
    schedule: Schedule, use: BlockUse, cta: CtaVerdict, notes: list[str]
) -> list[Finding]:
    """GLOBAL_WRITE_OVERLAP between CTAs that write the same, moved."""
    if schedule.ctas == schedule.cluster_ctas:
        return []
    execution: Execution = cta.execution
    found: list[Finding] = []
    every: Survey | None = None  # all CTAs, where their moves do not decide
    for tensor, step in execution.globals.writers.items():
        moves = {use.moves[id] for id in execution.globals.ops[tensor]}
        written = {row: b for row, b in execution.globals.writes.items() if row[0] == tensor}
        touched = {row: b for row, b in execution.globals.touched.items() if row[0] == tensor}
        delta = (
            overlapping_deltas(
                touched, written, moves.pop(), schedule.clusters, schedule.tensor(tensor).shape
            )
            if len(moves) == 1
            else False
        )
        if delta is False and schedule.ctas * max(1, cta.ops) <= MAX_COMPARED:
            every = every or survey(schedule, use)
            faults = [
                f
                for f in every.faults.values()
                if f.rule is Rule.GLOBAL_WRITE_OVERLAP and f.name == tensor
            ]
            found += [finding_of_fault(f) for f in faults]
            if faults or every.complete:
                continue
        if delta is False:
            notes.append(f"whether the CTAs write disjoint parts of {tensor} was not decided")
        elif delta is not None:
            what = "CTAs" if schedule.cluster_ctas == 1 else "clusters"
            message = (
                f"{what} whose indices differ by {delta} write common elements of {tensor}"
                if touched == written
                else f"of two {what} whose indices differ by {delta}, one writes elements of "
                f"{tensor} that the other touches"
            )
            fault = Fault(rule=Rule.GLOBAL_WRITE_OVERLAP, message=message, step=step, name=tensor)
            found.append(finding_of_fault(fault))
    return found
