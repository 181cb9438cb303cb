"""The verdict on one CTA: the reference execution, and what a failing condition calls for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from asyncsim.check.counting import (
    MAX_ROUNDS,
    Counting,
    CountingLog,
    countable,
    counts_hold,
    next_must,
)
from asyncsim.check.describe import op_text, who_text
from asyncsim.check.execution import Execution
from asyncsim.check.executions import Executions
from asyncsim.check.findings import breach_text
from asyncsim.check.grid import Bounds
from asyncsim.check.model import Step
from asyncsim.check.policy import Eager
from asyncsim.check.replay import ReplayMismatch, Scripted
from asyncsim.check.report import Breach, Condition, End
from asyncsim.check.search import Choice, Search, SearchResult
from asyncsim.check.shortest import Shortening
from asyncsim.check.skeleton import build_skeleton, lives_twice, some_leave_early
from asyncsim.check.ways import REFERENCE, Way, directed
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.op import MaxNRegDirection, MemScope, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Finding, Rule, Severity
from asyncsim.stream.program import Program

DIRECTED_OPS = 500_000  # ops of all directed executions together
COUNTING_OPS = 2_000_000  # the same for the rounds of the counting certificate
MAX_CLUSTER_STATES = 60_000  # a state of a cluster is larger
MAX_SHORTENED = 20_000  # ops of an execution whose witnesses are shortened


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
    program: Program,
    block: tuple[int, int, int],
    bounds: Bounds,
    max_states: int,
    *,
    jump: bool = True,
    witnesses: bool = False,
) -> CtaVerdict:
    """Decide one CTA. ``jump``: rounds that only repeat what has been executed are passed over.
    ``witnesses``: the shortest ones, which takes trials."""
    cta = Executions(program, block, bounds)
    reference, found = cta.reference(jump=jump)
    parted = reference.report.parted
    cta.suspects = breaches = list(reference.report.breaches.values())

    def verdict(
        findings: list[Finding],
        way: Way | None = None,
        *,
        certified: bool = False,
        note: str = "",
        states: int = 0,
    ) -> CtaVerdict:
        if witnesses and way is not None and _ops(reference) <= MAX_SHORTENED:
            findings = [_shortened(cta, way, f) for f in findings]
        if parted is not None and not _errors(findings):
            certified, note = False, note or _parted_text(parted)
        return CtaVerdict(
            findings=tuple(findings),
            certified=certified,
            note=note,
            ops=reference.report.steps,
            states=states,
            execution=reference,
        )

    if not breaches:
        return verdict(found, REFERENCE, certified=not _errors(found))
    if not _errors(found) and _count(cta, reference):
        return verdict(found)
    # without the conditions the graph of the reference speaks for the reference only, and there a
    # wait also acquires what earlier phases released
    found = cta.execute(Way(Eager))[1]
    if _errors(found) and not _perhaps_lapped(found, breaches):
        return verdict(found, Way(Eager))
    runs = max(4, DIRECTED_OPS // max(1, reference.report.steps))
    for way in directed(breaches)[:runs]:
        if way.parts and _errors(found):
            break  # the race that is known says more than lanes that miss a phase after it
        more = cta.execute(way)[1]
        if _errors(more) and (not _errors(found) or _named(more)):
            return verdict(more, way)
    if _errors(found):
        return verdict(found, Way(Eager))
    result, more, shown = _search(cta, max_states)
    if result.found and _errors(more):
        return verdict(more, shown, states=result.states)
    warnings = [f for f in found if f.severity is Severity.WARNING]
    if result.exhausted:
        return verdict(warnings, states=result.states)
    note = (
        f"condition {breaches[0].condition.name} does not hold and {result.states} states did not "
        f"decide it: {breach_text(breaches[0])}"
    )
    return verdict(warnings, note=note, states=result.states)


def clean_at_once(
    program: Program, block: tuple[int, int, int], bounds: Bounds
) -> CtaVerdict | None:
    """The verdict on a CTA of which one execution, with jumps, shows that it is clean, and that
    all conditions hold; else None."""
    try:
        execution, found = Executions(program, block, bounds).reference(jump=True)
    except ScheduleError:
        return None
    report = execution.report
    if found or report.breaches or report.parted is not None:
        return None
    return CtaVerdict(
        findings=(), certified=True, note="", ops=report.steps, states=0, execution=execution
    )


def _count(cta: Executions, reference: Execution) -> bool:
    """Whether counting proves the CTA free of errors."""
    if _beyond_search(cta.schedule):
        return False
    with_bytes = {
        o.mbarrier.name
        for o in cta.schedule.ops()
        if isinstance(
            o,
            ops.LoadOp
            | ops.ClcTryCancel
            | ops.BulkSend
            | ops.RedAsync
            | ops.StAsync
            | ops.MbarrierTxOp
            | ops.MbarrierArriveExpectTx
            | ops.CpAsyncMbarrierArrive,
        )
    }
    # a wait by a state is for whatever phase its arrival counts in: counting does not say which
    varying = {
        o.mbarrier.name
        for o in cta.schedule.ops()
        if isinstance(o, ops.MbarrierInval | ops.MbarrierWaitState | ops.MbarrierTestWait)
        or (isinstance(o, ops.MbarrierArrive) and (o.drop or o.no_complete))
    }
    barriers = reference.barriers.by_key
    left_out = with_bytes | varying | _narrow(cta.schedule)
    keys = frozenset(k for k in barriers if k.name not in left_out)
    if not keys or reference.report.end is not End.FINISHED or _requests_registers(cta.schedule):
        return False
    counts = {k: barriers[k].state.count for k in keys}
    log: CountingLog | None = None
    rounds = COUNTING_OPS // max(1, reference.report.steps)
    for _ in range(min(MAX_ROUNDS, rounds)):
        counting = Counting(counts, log)
        execution, found = cta.execute(Way(Eager, chain_phases=False), counting=counting)
        if not countable(barriers, counting.log):
            return False
        log = counting.log
        if next_must(execution.layout, log, counts) == counting.must:
            proven = not _errors(found) and not execution.report.breaches
            return proven and counts_hold(execution.layout, log, counts) is None
    return False


def _narrow(schedule: Schedule) -> set[str]:
    """The mbarrier arrays that CTAs share and on which some op does not speak to all of them:
    counting takes it that a wait learns what arrivals know."""
    users = [
        o
        for o in schedule.ops()
        if isinstance(o, ops.MbarrierArriveOp | ops.MbarrierWaitOp | ops.MbarrierTestWait)
    ]
    shared = {o.mbarrier.name for o in users if o.mbarrier.rank is not None}
    narrow = {o.mbarrier.name for o in users if o.memory is not MemScope.CLUSTER}
    return shared & narrow


def _requests_registers(schedule: Schedule) -> bool:
    """Whether somebody may wait for the register pool: counting knows nothing of it."""
    return any(
        isinstance(o, ops.SetMaxNReg) and o.direction is MaxNRegDirection.INC
        for o in schedule.ops()
    )


def _search(cta: Executions, max_states: int) -> tuple[SearchResult, list[Finding], Way | None]:
    """Visit every state of the skeleton; replay what differs, and what fails."""
    if _beyond_search(cta.schedule):
        return SearchResult(), [], None
    events = cta.events()
    if events is None:
        return SearchResult(), [], None
    skeleton = build_skeleton(cta.schedule, events)
    if cta.schedule.cluster_ctas > 1:
        max_states = min(max_states, MAX_CLUSTER_STATES)
        if some_leave_early(skeleton):
            return SearchResult(), [], None
    shown: list[Finding] = []
    ways: list[Way] = []
    suspects = list(cta.suspects)
    undecided: list[list[Choice]] = []

    def replay(path: list[Choice]) -> bool:
        way = Way(partial(Scripted, skeleton, path))
        try:
            execution, found = cta.execute(way)
        except ReplayMismatch:
            undecided.append(path)
            return False
        suspects.extend(execution.report.breaches.values())
        shown[:] = found
        ways[:] = [way]
        return _errors(found)

    result = Search(skeleton, replay, max_states).run()
    # a barrier that lives twice: the search numbers the phases of each life from 0
    if lives_twice(skeleton):
        result.exhausted = False
    # elections that hold lanes are not in the search
    if result.parted:
        result.exhausted = False
    # the search takes lanes 1..31 as one; where their arrivals may part, it proves nothing
    if undecided or any(map(_lanes_may_part, suspects)):
        result.exhausted = False
    return result, shown, ways[0] if ways else None


def _ops(execution: Execution) -> int:
    return execution.report.steps + execution.report.passed


def _shortened(cta: Executions, way: Way, finding: Finding) -> Finding:
    """With its shortest witness, where a replay shows the finding and trials may take as long."""
    shortening = Shortening(partial(cta.again, way), way.policy(), finding, cta.suspects)
    witness = shortening.witness()
    return finding if witness is None else replace(finding, witness=witness)


def _beyond_search(schedule: Schedule) -> bool:
    """Whether there are ops that search and counting do not know: those whose lanes land one by
    one, those of tensor memory, and orders smaller than release and acquire."""
    return any(
        isinstance(o, ops.StAsync | ops.Tcgen05Op | ops.BulkSend | ops.RedAsync)
        or getattr(o, "relaxed", False)
        for o in schedule.ops()
    )


def _parted_text(step: Step) -> str:
    return (
        f"{who_text(step)} waits inside an election, at {op_text(step.dyn)} ({step.dyn.op.loc}), "
        "for what its warp's other lanes do after it, and they may be held until it is through; "
        "write what they do under `with k.others():`"
    )


def _lanes_may_part(breach: Breach) -> bool:
    counts = breach.condition in (Condition.A, Condition.E)
    return counts and breach.step.dyn.op.scope in (Scope.ALL_LANES, Scope.OTHERS)


def _is_error(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR


def _errors(found: list[Finding]) -> bool:
    return any(map(_is_error, found))


def _named(found: list[Finding]) -> bool:
    return any(f.rule is Rule.LAPPED_WAITER for f in found)


def _perhaps_lapped(found: list[Finding], breaches: list[Breach]) -> bool:
    """A race whose reader can also miss its phase: the wait is the root, if a run shows it."""
    races = {Rule.WRITE_BEFORE_RELEASE, Rule.WRITE_WRITE_RACE}
    errors = {f.rule for f in found if f.severity is Severity.ERROR}
    return errors <= races and any(b.condition is Condition.C for b in breaches)
