"""Findings from one execution's report: one per defect, consequences of a root dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from asyncsim.check.classify import Named, name_clash
from asyncsim.check.deadlock import Hang, explain_hang
from asyncsim.check.describe import loc_of, op_text, step_place, who_text
from asyncsim.check.execution import Execution
from asyncsim.check.model import Step, Touch
from asyncsim.check.repairs import fault_advice
from asyncsim.check.report import Breach, Clash, Condition, End, Fault, Reason, Report
from asyncsim.check.tcgen05_names import name_tcgen05
from asyncsim.check.witness import in_order, racing
from asyncsim.check.witness import steps as witness_of
from asyncsim.errors import SourceLoc
from asyncsim.ir.op import BarSync, MbarrierInval
from asyncsim.rules import Finding, Place, Rule, Severity

GROUP_RULES = frozenset(
    {
        Rule.WAIT_GROUP_TOO_LOOSE,
        Rule.UNCOMMITTED_COPY,
        Rule.WAIT_BY_NON_ISSUER,
        Rule.MISSING_BLOCK_BARRIER,
        Rule.OPERAND_IN_FLIGHT,
        Rule.SMEM_REUSED_BEFORE_STORE_READ,
    }
)
RACE_RULES = frozenset({Rule.READ_BEFORE_ARRIVAL, Rule.WRITE_BEFORE_RELEASE, Rule.WRITE_WRITE_RACE})
ROOT_WAITS = frozenset({Rule.LAPPED_WAITER, Rule.VACUOUS_WAIT})
DATA_RULES = RACE_RULES | GROUP_RULES | {Rule.WRONG_TILE, Rule.MISSING_PROXY_FENCE, Rule.PROXY_WAR}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finding before consequences are dropped.

    ``name``: the tile, tensor, fragment or barrier array; ``culprit``: the line to change;
    ``barrier``: the mbarrier array of the copy, if any. ``waited``: the mbarrier arrays that the
    two warps of a race, or the blocked ones of a hang, have waited on. ``registers``: of them only.
    ``last``: the steps that a witness ends with; ``race``: the accesses, if nothing orders them;
    ``hang``: they are blocked for ever.
    """

    finding: Finding
    name: str
    culprit: SourceLoc | None = None
    proxy: bool = False
    barrier: str = ""
    waited: frozenset[str] = frozenset()
    registers: bool = False
    last: tuple[Step, ...] = ()
    race: tuple[Touch, Touch] | None = None
    hang: bool = False


def findings_of(
    execution: Execution, report: Report, suspects: Sequence[Breach] = ()
) -> list[Finding]:
    """The findings that an execution shows, hang included, without consequences of others."""
    return [c.finding for c in _merged(_roots(candidates_of(execution, report, suspects)))]


def candidates_of(
    execution: Execution, report: Report, suspects: Sequence[Breach] = (), *, hang: bool = True
) -> list[Candidate]:
    """Everything that an execution shows; without ``hang`` it was only stopped.

    A race that follows from arrivals or bytes that count in the wrong phase is named by a condition
    that fails here, or else on the reference (``suspects``). A hang is named by those of the
    reference first: once a waiter has been lapped, other conditions fail as well.
    """
    here = list(report.breaches.values())
    breaches = [*here, *suspects]
    found = [_from_clash(c) for c in report.clashes.values()]
    found = [_by_breach(c, breaches, report.late) for c in found]
    found += [_from_fault(f) for f in report.faults.values()]
    if report.end is End.HANG and hang:
        found.append(
            _from_hang(name_hang(explain_hang(execution), [*suspects, *here]), execution.recent)
        )
    return found


def finding_of_fault(fault: Fault) -> Finding:
    return _from_fault(fault).finding


def merge_findings(found: list[Finding]) -> list[Finding]:
    """Errors first; one finding per rule and places."""
    kept: dict[object, Finding] = {}
    for f in found:
        kept.setdefault((f.rule, f.message, tuple(p.loc for p in f.where)), f)
    return sorted(kept.values(), key=lambda f: f.severity is Severity.WARNING)


def _from_clash(clash: Clash) -> Candidate:
    named: Named = name_tcgen05(clash) or name_clash(clash)
    x, y = clash.earlier, clash.later
    if clash.reason is Reason.RACE:
        witness = racing(clash.recent, x, y)
    else:
        witness = in_order(clash.recent, x.step, y.step)
    finding = Finding(
        rule=named.rule,
        severity=named.severity,
        message=named.message,
        where=(step_place(x.step, x.who), step_place(y.step, y.who)),
        missing=named.missing,
        witness=witness,
        repair=named.repair,
    )
    proxy = clash.reason is Reason.PROXY
    copy = x if x.access.write else y
    barrier = copy.barrier.name if copy.barrier is not None else ""
    chains = [c for t in (x, y) for c in t.step.warp.chains(t.who)]
    waited = frozenset(key.name for c in chains for key in c.phase_waits)
    return Candidate(
        finding,
        clash.name,
        loc_of(named.culprit),
        proxy,
        barrier,
        waited,
        last=(x.step, y.step),
        race=(x, y) if clash.reason is Reason.RACE else None,
    )


def _by_breach(c: Candidate, breaches: Sequence[Breach], late: Mapping[str, Breach]) -> Candidate:
    """A race under the name of the phase that completes too early, where that explains it."""
    rule = c.finding.rule
    if rule not in RACE_RULES:
        return c
    for breach in breaches:
        early = breach.condition is Condition.E and breach.array == c.barrier
        if (early and rule is Rule.READ_BEFORE_ARRIVAL) or (
            breach.surplus and breach.array in c.waited
        ):
            break
    else:
        if rule is not Rule.READ_BEFORE_ARRIVAL or c.barrier not in late:
            return c
        breach = late[c.barrier]
    rule = Rule.EARLY_COMPLETION
    missing, repair = fault_advice(Rule.ARRIVAL_OVERFLOW if breach.surplus else rule)
    steps = [s for s in (breach.other, breach.step) if s is not None]
    finding = replace(
        c.finding,
        rule=rule,
        message=f"{breach_text(breach)}. Then {c.finding.message}",
        where=(*map(step_place, steps), *c.finding.where),
        missing=missing,
        repair=repair,
        condition=breach.condition.name,
    )
    return replace(c, finding=finding, culprit=loc_of(breach.step))


def _from_fault(fault: Fault) -> Candidate:
    steps = [s for s in (fault.other, fault.step) if s is not None]
    where = tuple(step_place(s) for s in steps)
    if not steps and fault.loc:
        where = (Place(what="issued", who="", loc=fault.loc),)
    missing, repair = fault_advice(fault.rule)
    finding = Finding(
        rule=fault.rule,
        severity=Severity.WARNING if fault.warning else Severity.ERROR,
        message=fault.message,
        where=where,
        missing=fault.missing or missing,
        witness=in_order(fault.recent, *steps) if fault.other else witness_of(fault.recent, steps),
        repair=fault.repair or repair,
    )
    culprit = fault.other if fault.rule is Rule.WAIT_GROUP_TOO_LOOSE else fault.step
    copy = fault.other.dyn.barrier if fault.other and fault.rule is Rule.WRONG_TILE else None
    return Candidate(
        finding,
        fault.name,
        loc_of(culprit) if culprit else fault.loc,
        barrier=copy.name if copy else "",
        registers=fault.registers,
        last=tuple(steps),
    )


def _from_hang(hang: Hang, recent: Iterable[tuple[Step, bool]]) -> Candidate:
    missing, repair = fault_advice(hang.rule)
    finding = Finding(
        rule=hang.rule,
        severity=Severity.ERROR,
        message=hang.message,
        where=tuple(step_place(s) for s in hang.steps),
        missing=missing,
        witness=witness_of(recent, hang.steps),
        repair=repair,
        detail=hang.detail,
        condition=hang.condition,
    )
    waited = frozenset(s.dyn.barrier.name for s in hang.steps if s.dyn.barrier)
    return Candidate(finding, hang.name, waited=waited, last=hang.steps, hang=True)


BREACH_RULES = {
    Condition.A: Rule.EARLY_COMPLETION,
    Condition.B: Rule.TX_BYTES_MISMATCH,
    Condition.C: Rule.LAPPED_WAITER,
    Condition.D: Rule.VACUOUS_WAIT,
    Condition.E: Rule.EARLY_COMPLETION,
    Condition.F: Rule.USE_BEFORE_INIT,
    Condition.N: Rule.NAMED_BARRIER_OVERRUN,
    Condition.P: Rule.REGISTER_POOL,
    Condition.M: Rule.TMEM_CAPACITY,
}


def name_hang(hang: Hang, breaches: Sequence[Breach]) -> Hang:
    """A hang that a failing condition explains carries the name of that condition."""
    if hang.rule in (Rule.TX_BYTES_MISMATCH, Rule.RECEIVER_NOT_ARMED, Rule.LAPPED_WAITER):
        return hang
    waited = {s.dyn.barrier.name for s in hang.steps if s.dyn.barrier}
    waited |= {f"barrier {s.dyn.op.barrier}" for s in hang.steps if isinstance(s.dyn.op, BarSync)}
    for breach in breaches:
        if breach.array in waited and not breach.first:
            rule = BREACH_RULES[breach.condition]
            message = f"{breach_text(breach)}. Then {hang.message}"
            return replace(hang, rule=rule, message=message, condition=breach.condition.name)
    return hang


def breach_text(breach: Breach) -> str:
    """What a failing condition means here."""
    step = f"{who_text(breach.step)} at {op_text(breach.step.dyn)} ({breach.step.dyn.op.loc})"
    other = f"{op_text(breach.other.dyn)} ({breach.other.dyn.op.loc})" if breach.other else ""
    phase = f"phase {breach.generation} of {breach.barrier}"
    match breach.condition:
        case Condition.A if breach.surplus:
            return f"{step} comes after {phase}, which {other} of the same step completes alone"
        case Condition.A:
            return f"{step} counts in the phase after {phase}, whose completion it does not know"
        case Condition.B:
            return f"{phase} does not add up at {step}"
        case Condition.C:
            return f"{step} can miss its phase: {other} completes {phase} without waiting for it"
        case Condition.D:
            before = f": nothing orders it after {other}" if other else ""
            return f"{step} can pass on a phase older than {phase} of the same parity{before}"
        case Condition.E:
            return f"{phase} can complete before all its bytes are announced, see {step}"
        case Condition.F if isinstance(breach.step.dyn.op, MbarrierInval):
            before = f" {other}" if other else " what others do with it"
            return f"{step} may come before{before}: nothing orders it after"
        case Condition.F:
            return f"{step} may run before the init of {breach.barrier}"
        case Condition.M:
            return f"{step} may find {breach.generation} columns taken, and has to wait"
        case Condition.N:
            return f"{step} may arrive on {breach.barrier} before round {breach.generation} begins"
        case Condition.P:
            return f"{step} may wait for registers for ever"


def _merged(found: list[Candidate]) -> list[Candidate]:
    """One candidate per rule and line to change; per buffer too, where the buffer matters.

    One missing release lets every buffer of the reader be overwritten: that is one defect.
    """
    kept: dict[object, Candidate] = {}
    for c in found:
        rule = c.finding.rule
        what = c.name if rule in _BY_NAME else ""
        if rule is Rule.READ_BEFORE_ARRIVAL:
            what = c.barrier  # the buffers that one mbarrier guards lack one wait
        key = rule, c.culprit, what
        known = kept.get(key)
        if known is None or (_is_error(c) and not _is_error(known)):
            kept[key] = c
    return list(kept.values())


def _is_error(c: Candidate) -> bool:
    return c.finding.severity is Severity.ERROR


def _is_overwrite(c: Candidate) -> bool:
    return c.finding.rule is Rule.WRITE_BEFORE_RELEASE and len(c.finding.where) > 1


def _roots(found: list[Candidate]) -> list[Candidate]:
    """Without what another error explains; a warning explains nothing."""
    errors = [c for c in found if _is_error(c)]
    rules = {c.finding.rule for c in errors}
    stopped = any(c.finding.rule in _STOPPED and not c.registers for c in errors)
    by_group = {c.name for c in errors if c.finding.rule in GROUP_RULES}
    raced = {c.name for c in errors if c.finding.rule in RACE_RULES}
    reads = [c for c in errors if c.finding.rule is Rule.READ_BEFORE_ARRIVAL]
    early = {c.name for c in reads}
    unlanded = {c.name for c in reads if c.barrier}
    unreleased = {c.name: {p.op_id for p in c.finding.where} for c in errors if _is_overwrite(c)}
    loading = {c.finding.where[0].loc for c in errors if c.finding.rule is Rule.FRAGMENT_IN_FLIGHT}
    awaited = {c.culprit for c in reads if c.barrier}
    unallocated = {c.culprit for c in errors if c.finding.rule in _ADDRESS_RULES}
    misread = {c.barrier for c in errors if c.finding.rule is Rule.WRONG_TILE}

    def explained(c: Candidate) -> bool:
        rule = c.finding.rule
        if _BYTES & rules and (rule in DATA_RULES or rule in _PHASE_RULES):
            return True
        if stopped and rule in DATA_RULES:
            return True
        if rule is Rule.READ_BEFORE_ARRIVAL and not c.barrier and c.culprit in awaited:
            return True
        if rule is Rule.READ_BEFORE_ARRIVAL and c.culprit in unallocated:
            return True  # its address is the word that no alloc has written
        if rule in RACE_RULES | {Rule.WRONG_TILE}:
            landed = rule is Rule.READ_BEFORE_ARRIVAL and c.barrier
            if (c.name in by_group and not landed) or (rule is Rule.WRONG_TILE and c.name in raced):
                return True
            if rule is not Rule.READ_BEFORE_ARRIVAL and c.name in early:
                return True  # a read that is not after its data cannot be before the next either
            itself = any(p.op_id in unreleased.get(c.name, ()) for p in c.finding.where)
            if rule is Rule.WRITE_WRITE_RACE and itself:
                return True  # a copy that waits for no reader meets itself, and what stood there
            waits = {Rule.VACUOUS_WAIT} if rule is Rule.READ_BEFORE_ARRIVAL else ROOT_WAITS
            if waits & rules:
                return True
        if rule is Rule.OPERAND_IN_FLIGHT and c.name in unlanded:
            return True
        if rule is Rule.TMEM_DEALLOC and c.name in raced:
            return True  # what is not waited for before a read is not before the dealloc either
        if rule is Rule.TMEM_LEAK and Rule.TMEM_DEALLOC in rules:
            return True  # a dealloc that misses its allocation
        if rule is Rule.WRITE_BEFORE_RELEASE and c.culprit in loading:
            return True  # one wait::ld for the registers and for the memory
        if rule is Rule.MISSING_INIT_FENCE and Rule.PEER_NOT_STARTED in rules:
            return True
        if rule is Rule.WRONG_TILE and Rule.EARLY_COMPLETION in rules:
            return True
        if rule is Rule.ARRIVAL_OVERFLOW and ROOT_WAITS & rules:
            return True  # who passes a wait too early arrives too early as well
        if rule in (Rule.DEADLOCK, Rule.ARRIVAL_SHORTFALL) and misread & c.waited:
            return True  # who reads the wrong stage of a ring soon waits for a phase out of turn
        if rule is Rule.MISSING_WGMMA_FENCE and Rule.ROLES_DISAGREE in rules:
            return True  # the warps that went another way lack its fence
        if rule is Rule.LAPPED_WAITER and early:
            return True
        if rule in _PHASE_CONDITIONS and GROUP_RULES & rules:
            return True
        if c.proxy and c.name in by_group | raced:
            return True
        if rule in _AT_EXIT and rules - _AT_EXIT:
            return True
        if rule is Rule.PEER_NOT_STARTED and DATA_RULES & rules:
            return True
        return rule is Rule.UNCONSUMED_PHASE and bool(rules)

    kept = [c for c in found if not explained(c)]
    return kept if any(map(_is_error, kept)) else found if errors else kept


_ADDRESS_RULES = frozenset({Rule.TMEM_ALLOC, Rule.TMEM_DEALLOC})
_AT_EXIT = frozenset({Rule.OUTSTANDING_AT_EXIT, Rule.PEER_EXITED})
_BYTES = frozenset({Rule.TX_BYTES_MISMATCH, Rule.RECEIVER_NOT_ARMED})
_PHASE_RULES = frozenset({Rule.ARRIVAL_OVERFLOW, Rule.DEADLOCK, Rule.ARRIVAL_SHORTFALL})
_PHASE_CONDITIONS = frozenset({Rule.LAPPED_WAITER, Rule.VACUOUS_WAIT, Rule.EARLY_COMPLETION})
_BY_NAME = frozenset(
    {
        Rule.WRITE_WRITE_RACE,
        Rule.WRONG_TILE,
        Rule.MISSING_INIT_FENCE,
        Rule.TX_BYTES_MISMATCH,
        Rule.OUTSTANDING_AT_EXIT,
    }
)
_STOPPED = frozenset(
    {
        Rule.ARRIVAL_OVERFLOW,
        Rule.FOREIGN_STATE,
        Rule.USE_BEFORE_INIT,
        Rule.REINIT_WITHOUT_INVAL,
    }
)
