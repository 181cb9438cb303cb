"""Single changes to a schedule that may repair a finding, most plausible first.

Candidates only: search.py proves them. They touch what the finding names: its two accesses, the ops
of its witness, and all ops on the same barriers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from asyncsim.errors import SourceLoc
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Const, Expr, Var, walk
from asyncsim.ir.op import FenceSpace, MbarrierOp, MbarrierRef, Op, Scope, SmemView
from asyncsim.ir.rewrite import by_other_lanes, inserted, moved, replaced, with_statement
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Set
from asyncsim.ir.validate.views import parts_of
from asyncsim.repair.additions import additions
from asyncsim.rules import Finding, Rule

MAX_MOVES = 4
_SOME = (Scope.ELECTED, Scope.OTHERS)
_SYNC = (
    ops.MbarrierArrive
    | ops.MbarrierWaitOp
    | ops.CommitGroup
    | ops.WaitGroup
    | ops.BarSync
    | ops.FenceProxyAsync
    | ops.FenceMbarrierInit
    | ops.WgmmaFence
    | ops.BarWarpSync
    | ops.Tcgen05Fence
    | ops.Tcgen05Wait
    | ops.Tcgen05Commit
)

LAST_STEPS = 12  # of a witness, those whose ops are looked at


class Kind(Enum):
    """What an edit changes."""

    DEPTH = "how many groups a wait leaves pending"
    PHASE = "a parity, or where a phase starts"
    COUNT = "the arrivals that a barrier expects"
    BYTES = "the bytes that are announced"
    FENCE = "an added fence, or a wider one"
    BARRIER = "an added block or warp barrier"
    WAIT = "an added wait"
    COMMIT = "an added commit"
    MOVE = "a statement elsewhere"
    LANES = "who runs an op"


_FIRST: dict[Rule, tuple[Kind, ...]] = {
    Rule.DEADLOCK: (Kind.PHASE,),
    Rule.VACUOUS_WAIT: (Kind.PHASE,),
    Rule.LAPPED_WAITER: (Kind.COUNT, Kind.MOVE),
    Rule.ARRIVAL_OVERFLOW: (Kind.COUNT, Kind.LANES),
    Rule.ARRIVAL_SHORTFALL: (Kind.COUNT, Kind.LANES),
    Rule.TX_BYTES_MISMATCH: (Kind.BYTES,),
    Rule.EARLY_COMPLETION: (Kind.MOVE,),
    Rule.READ_BEFORE_ARRIVAL: (Kind.WAIT, Kind.BARRIER, Kind.MOVE),
    Rule.WRITE_BEFORE_RELEASE: (Kind.MOVE, Kind.BARRIER),
    Rule.WRITE_WRITE_RACE: (Kind.LANES, Kind.BARRIER),
    Rule.WAIT_GROUP_TOO_LOOSE: (Kind.DEPTH, Kind.COMMIT, Kind.MOVE),
    Rule.UNCOMMITTED_COPY: (Kind.COMMIT,),
    Rule.OPERAND_IN_FLIGHT: (Kind.WAIT, Kind.MOVE),
    Rule.OUTSTANDING_AT_EXIT: (Kind.WAIT,),
    Rule.SMEM_REUSED_BEFORE_STORE_READ: (Kind.WAIT,),
    Rule.MISSING_BLOCK_BARRIER: (Kind.BARRIER,),
    Rule.MISSING_PROXY_FENCE: (Kind.FENCE,),
    Rule.PROXY_WAR: (Kind.FENCE,),
    Rule.MISSING_INIT_FENCE: (Kind.FENCE,),
    Rule.MISSING_WGMMA_FENCE: (Kind.FENCE,),
    Rule.MISSING_TCGEN05_FENCE: (Kind.FENCE,),
    Rule.FRAGMENT_IN_FLIGHT: (Kind.WAIT,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """``what`` changes, in the author's words, at ``loc``; ``schedule`` is the result."""

    what: str
    loc: SourceLoc | None
    schedule: Schedule
    kind: Kind = Kind.MOVE


def edits(schedule: Schedule, finding: Finding) -> list[Edit]:
    """Candidates for one finding, not validated; those that its rule suggests first."""
    first = _FIRST.get(finding.rule, ())
    found = list(_edits(schedule, finding))
    return sorted(found, key=lambda e: first.index(e.kind) if e.kind in first else len(first))


def _edits(schedule: Schedule, finding: Finding) -> Iterator[Edit]:
    involved = _involved(schedule, finding)
    places = {p.op_id for p in finding.where}
    if finding.rule is Rule.OUTSTANDING_AT_EXIT:  # a wait goes behind the commit
        places |= {op.id for op in involved if isinstance(op, ops.CommitGroup)}
    if finding.rule is Rule.MISSING_BLOCK_BARRIER:  # a barrier goes behind the wait
        places |= {op.id for op in involved if isinstance(op, ops.WaitGroup)}
    if finding.rule is Rule.MISSING_TCGEN05_FENCE:  # a fence before the signal goes behind the wait
        places |= {op.id for op in involved if isinstance(op, ops.Tcgen05Wait)}
    for op in involved:
        yield from _other_operands(schedule, op)
    yield from _other_counts(schedule, involved)
    yield from _other_phases(schedule, involved)
    for op in reversed([o for o in involved if o.id in places]):  # the later access first
        yield from _added_waits(schedule, op, involved)
        for name, what, at, changed in additions(schedule, op):
            yield Edit(what=what, loc=at.loc, schedule=changed, kind=Kind[name])
    for op in involved:
        if isinstance(op, _SYNC) or op.id in places:
            yield from _moves(schedule, op)
        if isinstance(op, MbarrierOp | ops.TmaLoad | ops.TmaStore):
            other = by_other_lanes(op)
            if other is not None:
                who = "one lane" if other.scope is Scope.ELECTED else "all lanes"
                changed = replaced(schedule, op, other)
                yield Edit(what=f"let {who} run it", loc=op.loc, schedule=changed, kind=Kind.LANES)


def _involved(schedule: Schedule, finding: Finding) -> list[Op]:
    """The ops that the finding names, then those on the same barriers, each once."""
    told = [step.place for step in finding.witness[-LAST_STEPS:]]
    named = [place.op_id for place in (*finding.where, *told)]
    by_id = {op.id: op for op in schedule.ops()}
    found = {id: by_id[id] for id in named if id in by_id}
    refs = (getattr(op, "mbarrier", None) for op in found.values())
    arrays = {ref.name for ref in refs if ref is not None}
    for op in by_id.values():
        shares = isinstance(op, MbarrierOp) and op.mbarrier.name in arrays
        if shares or isinstance(op, ops.WaitGroup | ops.CommitGroup | ops.Tcgen05Wait):
            found.setdefault(op.id, op)
    return list(found.values())


# -- operands ----------------------------------------------------------------------------------


def _other_operands(schedule: Schedule, op: Op) -> Iterator[Edit]:
    def put(kind: Kind, what: str, new: Op) -> Edit:
        changed = replaced(schedule, op, new)
        return Edit(what=what, loc=op.loc, schedule=changed, kind=kind)

    match op:
        case ops.WaitGroup(n=n):
            for fewer in range(n - 1, -1, -1):
                yield put(Kind.DEPTH, f"wait_group {n} -> {fewer}", replace(op, n=fewer))
        case ops.MbarrierWait(parity=Const(bit)) if bit in (0, 1):
            flipped = replace(op, parity=Const(1 - bit))
            yield put(Kind.PHASE, f"parity {bit} -> {1 - bit}", flipped)
        case ops.MbarrierExpectTx(bytes=amount) | ops.MbarrierArriveExpectTx(bytes=amount):
            for size in _sizes(schedule, op.mbarrier.name):
                if amount != Const(size):
                    new = replace(op, bytes=Const(size))
                    yield put(Kind.BYTES, f"announce {size} bytes", new)
        case ops.FenceProxyAsync(space=space) if space is not FenceSpace.ALL:
            wider = replace(op, space=FenceSpace.ALL)
            yield put(Kind.FENCE, f"fence all memory, not {space.value} alone", wider)
        case _:
            pass


def _sizes(schedule: Schedule, array: str) -> list[int]:
    """Bytes that the loads on a barrier bring: of all of them, and of each."""
    loads = [
        prod(op.src.shape) * schedule.tensor(op.src.tensor).dtype.bytes
        for op in schedule.ops()
        if isinstance(op, ops.TmaLoad) and op.mbarrier.name == array
    ]
    return list(dict.fromkeys([sum(loads), *loads])) if loads else []


def _other_counts(schedule: Schedule, involved: list[Op]) -> Iterator[Edit]:
    """Other counts of a barrier array, in all its inits: by warps, threads or lanes of roles."""
    warps = {role.warps for role in schedule.roles()} | {schedule.warps}
    inits: dict[tuple[str, int], list[ops.MbarrierInit]] = {}
    for op in involved:
        if isinstance(op, ops.MbarrierInit):
            inits.setdefault((op.mbarrier.name, op.count), []).append(op)
    for (array, count), members in inits.items():
        found = {1, 2, 32, count - 1, count + 1, *warps, *(32 * w for w in warps)}
        for other in sorted(n for n in found if n > 0 and n != count):
            changed = schedule
            for init in members:
                changed = replaced(changed, init, replace(init, count=other))
            what = f"count of {array} {count} -> {other}"
            yield Edit(what=what, loc=members[0].loc, schedule=changed, kind=Kind.COUNT)


def _other_phases(schedule: Schedule, involved: list[Op]) -> Iterator[Edit]:
    """The other start value of the phase variables of the waits."""
    waits = [op for op in involved if isinstance(op, ops.MbarrierWait)]
    used = {n.name for op in waits for n in walk(op.parity) if isinstance(n, Var)}
    for s in statements(schedule.body):
        if not (isinstance(s, Set) and s.declare and s.var in used):
            continue
        match s.value:
            case Const((0 | 1) as bit):
                changed = with_statement(schedule, s, replace(s, value=Const(1 - bit)))
                what = f"start {s.var} at {1 - bit} instead of {bit}"
                yield Edit(what=what, loc=s.loc, schedule=changed, kind=Kind.PHASE)
            case _:
                pass


# -- waits and moves ---------------------------------------------------------------------------


def _added_waits(schedule: Schedule, op: Op, involved: list[Op]) -> Iterator[Edit]:
    """A wait, before a reader, on the barrier of the copy, with each phase that there is."""
    stages = [v.stage for v in parts_of(op, SmemView) if isinstance(v.stage, Expr)]
    arrays = {o.mbarrier.name for o in involved if isinstance(o, ops.TmaLoad)}
    for array in sorted(arrays):
        for stage in dict.fromkeys(stages):
            for phase in _phases(schedule):
                made = ops.MbarrierWait(
                    id=1 + max(o.id for o in schedule.ops()),
                    scope=op.scope if op.scope in _SOME else Scope.ALL_LANES,
                    loc=op.loc,
                    mbarrier=MbarrierRef(array, stage),
                    parity=Var(phase),
                )
                yield Edit(
                    what=f"wait for {array} with {phase} before it",
                    loc=op.loc,
                    schedule=_before(schedule, op, made),
                    kind=Kind.WAIT,
                )


def _before(schedule: Schedule, op: Op, new: Op) -> Schedule:
    return inserted(schedule, op, new, after=False)


def _phases(schedule: Schedule) -> list[str]:
    """Variables that start at 0 or 1 and are set to something of themselves: phase bits."""
    sets = [s for s in statements(schedule.body) if isinstance(s, Set)]
    starts = {s.var for s in sets if s.declare and s.value in (Const(0), Const(1))}
    waited = {
        n.name
        for op in schedule.ops()
        if isinstance(op, ops.MbarrierWait)
        for n in walk(op.parity)
        if isinstance(n, Var)
    }
    flips = {
        s.var
        for s in sets
        if not s.declare and any(n == Var(s.var) for n in walk(s.value)) and s.var in starts
    }
    return sorted(flips, key=lambda v: (v not in waited, v))


def _moves(schedule: Schedule, op: Op) -> Iterator[Edit]:
    for up in (False, True):
        changed: Schedule | None = schedule
        for n in range(1, MAX_MOVES + 1):
            assert changed is not None
            changed = moved(changed, op, up=up)
            if changed is None:
                break
            places = "1 statement" if n == 1 else f"{n} statements"
            what = f"move it {places} {'up' if up else 'down'}"
            yield Edit(what=what, loc=op.loc, schedule=changed)
