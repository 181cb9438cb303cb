"""Handlers of compute and of plain loads and stores."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, assert_never

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import AccessMode, ComputeDef, Work
from asyncsim.machine import TICKS_PER_CYCLE, ticks
from asyncsim.sim.beside import LEAST, PIECE, WHOLE, beside, slower
from asyncsim.sim.memory import Moved
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.partitions import partition_counts
from asyncsim.sim.path import L2_WRITE, STORE, Cause
from asyncsim.sim.sectors import sectors_of
from asyncsim.sim.steps import Bound, Maker, Step

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values

PIPES = ("fma", "alu", "mufu", "shuffle", "issue")
KINDS = ("ffma", "mufu", "others")  # of instructions, as they are counted
STORE_RUN = 2048  # bytes of a warp's stores that are one request
LONG_PORT_USE = 2048  # bytes from which a use of the shared-memory port is posted


def memory(b: Bound, op: ops.MemoryOp) -> Maker:
    numbers = b.model.numbers
    match op:
        case ops.Compute():
            return _compute_maker(b, op)
        case ops.LdGlobal(src=src):
            step = b.step(ld_global, ticks(numbers.exact("smem.load_issue")))
            step.amount = b.bytes(src) * b.times
            return b.boxed(src, lambda values: step)
        case ops.StGlobal():
            return _store_maker(b, op)
        case ops.LdShared(src=view):
            amount = b.lane_bytes(view)
            cost = _shared_cost(numbers, amount * b.lanes, load=True)
            if view.rank is not None:
                cost += numbers.ticks("smem.remote_load_latency")
                cost -= numbers.ticks("smem.load_latency")
            step = b.step(local, cost)
            return b.constant(_port(step, amount * b.times))
        case ops.StShared(dst=view):
            amount = b.lane_bytes(view)
            step = b.step(local, _shared_cost(numbers, amount * b.lanes, load=False))
            return b.constant(_port(step, amount * b.times))
        case _ as unreachable:
            assert_never(unreachable)


def _store_maker(b: Bound, op: ops.StGlobal) -> Maker:
    """amount = bytes; work = (store port, what it is worth in bytes of whole sectors).

    The alignment of a warp's first execution stands for all.
    """
    numbers, made = b.model.numbers, list[Step]()
    starts = b.ev.lanes(op.dst.start, one=False)

    def build(values: Values) -> Step:
        if not made:
            sectors = sectors_of(b, op, starts(values, b.first_thread))
            step = b.step(st_global, numbers.ticks("cp_async.issue") * sectors.accesses)
            step.amount, step.count = b.bytes(op.dst) * b.times, b.warps
            issue, worth = b.model.store_costs(sectors)
            step.work = issue * b.warps, worth * b.warps
            made.append(step)
        return made[0]

    return build


def _port(step: Step, amount: int) -> Step:
    step.amount = amount
    if amount >= LONG_PORT_USE:
        step.run = ported
    return step


def _shared_cost(numbers: Numbers, amount: int, *, load: bool) -> int:
    """Ticks of a warp's shared-memory access: issue or transfer, and for a load its latency."""
    issue = numbers.exact("smem.load_issue" if load else "smem.store_issue")
    moving = amount / numbers.rate("smem.warp") / TICKS_PER_CYCLE
    latency = numbers.exact("smem.load_latency") if load else 0
    return ticks(max(issue, moving) + latency)


# -- compute -----------------------------------------------------------------------------------


def _compute_maker(b: Bound, op: ops.Compute) -> Maker:
    defn, numbers = op.defn, b.model.numbers
    pairs = list(zip(defn.operands, op.operands, strict=True))
    formals = [f.name for f, _ in pairs if f.kind == "int"]
    ints = [
        b.ev.value(actual)
        for f, actual in pairs
        if f.kind == "int" and not isinstance(actual, ops.FragmentRef | ops.SmemView)
    ]

    def key(values: Values) -> tuple[int, ...]:
        return tuple([i(values) for i in ints])

    spacing = _spacing(b, op)
    writes = any(f.kind == "smem" and f.mode is not AccessMode.READ for f, _ in pairs)

    def build(values: Values) -> Step:
        phases = _phases(defn, dict(zip(formals, key(values), strict=True)), op)
        timed = [work_ticks(numbers, work) for work in phases]
        most = max(partition_counts(b.model.warps.warps))
        costs = [max(chain, *(most * p for p in pipes)) for chain, _, pipes in timed]
        step = b.step(compute_in_place if writes else compute, sum(costs))
        step.name, step.value = defn.name, min(costs[0], timed[0][1])
        step.work = tuple(map(sum, zip(*(pipes for _, _, pipes in timed), strict=True)))
        step.instructions = tuple(map(sum, zip(*map(instructions, phases), strict=True)))
        step.amount = sum(work.lds_bytes + work.sts_bytes for work in phases) * b.warps
        if b.model.products:
            step.beside = beside(numbers, phases, costs, most, spacing)
        step.shared = b.model.contended or b.model.products or step.amount >= LONG_PORT_USE
        return step

    return b.table(key, build)


def _spacing(b: Bound, op: ops.Compute) -> int:
    """Ticks of slower instructions in the computations next to this one, if they are known."""
    if not b.model.products:
        return 0
    others = [o for o in b.model.runs[op.id] if all(f.kind != "int" for f in o.defn.operands)]
    return sum(slower(b.model.numbers, w) for o in others for w in _phases(o.defn, {}, o))


def _phases(defn: ComputeDef, ints: dict[str, int], op: ops.Compute) -> tuple[Work, ...]:
    """What the definition says of its cost; ScheduleError where that is no cost."""
    work: object = defn.work(**ints)
    phases = work if isinstance(work, tuple) and work else (work,)
    for phase in phases:
        _check_work(defn, phase, op)
    return phases


def _check_work(defn: ComputeDef, work: object, op: ops.Compute) -> None:
    if not isinstance(work, Work):
        raise ScheduleError(
            f"work of compute {defn.name!r} returned {type(work).__name__}",
            fix="return Work(...), or a tuple of them",
            loc=op.loc,
        )
    for f in fields(Work):
        if getattr(work, f.name) < 0:
            raise ScheduleError(
                f"work of compute {defn.name!r} has {f.name} = {getattr(work, f.name)}",
                fix="counts are 0 or more",
                loc=op.loc,
            )


def work_ticks(numbers: Numbers, work: Work) -> tuple[int, int, tuple[int, ...]]:
    """Ticks of one warp: its dependent chain, the loads at the head of it, and each of PIPES."""
    n = numbers
    accesses = work.lds_bytes + work.sts_bytes
    moving = accesses / n.rate("smem.warp") / TICKS_PER_CYCLE if accesses else Fraction(0)
    loads = work.chain_lds * n.exact("smem.load_latency")
    outer = _outer_products(n, work)
    if not outer:  # its loads would lie among the FFMA
        loads = max(loads, moving)
    chain = (
        work.chain_ffma * n.exact("alu.ffma_latency")
        + work.chain_alu * n.exact("alu.alu_latency")
        + work.chain_lds * n.exact("smem.load_latency")
    )
    if work.mufu:  # a warp alone does not fill the pipe
        chain = max(chain, work.mufu * n.exact("alu.mufu_warp"))
    pipes = (
        (work.ffma * n.exact("alu.ffma") if work.ffma else 0) + outer,
        (work.alu * n.exact("alu.alu") if work.alu else 0)
        + (work.cvt * n.exact("alu.cvt") if work.cvt else 0),
        work.mufu * n.exact("alu.mufu") if work.mufu else 0,
        work.shuffle * n.exact("alu.shfl") if work.shuffle else 0,
        work.ffma + work.alu + work.cvt + work.mufu + work.shuffle + work.lds + outer,
    )
    return ticks(max(chain, moving)), ticks(loads), tuple(ticks(p) for p in pipes)


def instructions(work: Work) -> tuple[int, ...]:
    """Warp instructions of a warp, of KINDS."""
    others = work.alu + work.cvt + work.shuffle + work.lds + work.chain_alu
    return work.ffma + work.ffma_across + work.ffma_along + work.chain_ffma, work.mufu, others


def _count(a: Agent, s: Step) -> None:
    """The instructions of a whole computation."""
    warps = len(a.warps.warps)
    for tally, each in zip(a.cta.sm.issued, s.instructions, strict=True):
        tally.busy += each * warps


def _outer_products(n: Numbers, work: Work) -> Fraction:
    """Cycles of a sub-partition for a warp's outer products: they are limited by the reads of
    their registers, which stop every other instruction as well."""
    across, along = work.ffma_across, work.ffma_along
    cycles = Fraction(0)
    if across:
        cycles += across * n.exact("alu.ffma_across")
    if along:
        cycles += along * n.exact("alu.ffma_along")
    return cycles + n.exact("code.outer_products") if cycles else cycles


def compute(a: Agent, s: Step) -> bool:
    """Loads first; the arithmetic on registers is put off behind arrives and fences.

    Compilers schedule it so: an arrive orders memory, not registers.
    """
    lead = s.value
    a.t += lead
    a.comp += lead
    if s.cost > lead or s.shared:
        a.deferred = s
    else:
        _count(a, s)
    return True


def compute_in_place(a: Agent, s: Step) -> bool:
    """What writes shared memory is finished before the next op."""
    a.t += s.value
    a.comp += s.value
    return arithmetic(a, s)


def arithmetic(a: Agent, s: Step) -> bool:
    """The put-off part: local time, unless warps share the sub-partition's pipes."""
    _count(a, s)
    if s.shared:
        a.model.clock.post(max(a.t, a.model.clock.now), a.key, _serve_pipes, a)
        return False
    a.t += s.cost - s.value
    a.comp += s.cost - s.value
    return True


def local(a: Agent, s: Step) -> bool:
    a.t += s.cost
    return True


def _serve_pipes(a: Agent) -> None:
    """Warps share the pipes of their sub-partition, and the shared-memory port.

    While the tensor core is busy the pipes are slower: such parts of a computation are served one
    by one, each as far as the tensor core is known to have work.
    """
    s, sm = a.blocked, a.cta.sm
    assert s is not None
    now, cause, left = a.t, a.cause(), a.left
    part, works, rest = left, s.work, s.cost - s.value
    counts = a.model.partitions[a.index]
    if s.beside:  # the exponentials of another warpgroup go between
        part = min(left, max(LEAST, PIECE * WHOLE // max(1, s.cost)))
    if s.beside is not None and sm.tensor.free > now:
        until = max([t for t, n in zip(sm.late.until(sm.tensor), counts, strict=True) if n])
        if until > now:
            part, works = s.beside.part(until, now, part), s.beside.pipes
            rest = max(rest, s.beside.own - s.value)
            s.beside.delay(sm, now, part, counts)
    rest = rest * part // WHOLE
    end, why = now + rest, cause
    busy = [(i, work * part) for i, work in enumerate(works) if work]
    for pipes, warps in zip(sm.pipes, counts, strict=True):
        if not warps:
            continue
        for i, work in busy:
            pipe = pipes[i]
            finish = pipe.take(now, warps * work // WHOLE, cause)
            if finish > end and pipe.last is not None:
                end, why = finish, pipe.last
    if s.amount >= LONG_PORT_USE and left == WHOLE:
        finish, last = sm.use_port(now, s.amount, cause)
        if finish > end:
            end, why = finish, last
    if part < left:
        a.left = left - part
        _pass_time(a, s, rest, end, why)
        a.model.clock.post(a.t, a.key, _serve_pipes, a)
        return
    a.left = WHOLE
    _go_on(a, s, rest, end, why)


def ported(a: Agent, s: Step) -> bool:
    """A long use of the shared-memory port."""
    a.model.clock.post(a.t, a.key, _serve_port, a)
    return False


def _serve_port(a: Agent) -> None:
    s = a.blocked
    assert s is not None
    end, why = a.cta.sm.use_port(a.t, s.amount, a.cause())
    _go_on(a, s, s.cost, end, why)


def _go_on(a: Agent, s: Step, ticks_: int, end: int, why: Cause) -> None:
    _pass_time(a, s, ticks_, end, why)
    a.advance()
    a.model.drain()


def _pass_time(a: Agent, s: Step, ticks_: int, end: int, why: Cause) -> None:
    """An agent has worked for so long, and could go on at ``end`` if that is later."""
    a.t += ticks_
    a.comp += ticks_
    if end > a.t:
        a.enabled(s, end, why)


# -- plain global memory -----------------------------------------------------------------------


def ld_global(a: Agent, s: Step) -> bool:
    """A run of loads is in flight together: the agent goes on when the last one has landed."""
    loads, start = [(s, a.t)], a.t
    a.t += s.cost
    while step := a.further(ld_global):
        loads.append((step, a.t))
        a.t += step.cost
    a.model.clock.post(max(start, a.model.clock.now), a.key, _loads, (a, loads))
    return False


def _loads(args: tuple[Agent, list[tuple[Step, int]]]) -> None:
    a, loads = args
    model, cta = a.model, a.cta
    cause = a.cause()
    landing, why, slowest = a.t, cause, loads[0][0]
    for s, at in loads:
        landed, link = model.memory.load(
            cta.sm,
            cta,
            at,
            Moved(s.amount, s.amount, s.amount, s.amount),
            s.box,
            cta.share(s.op_id),
            model.ld_latency,
            cause,
            cause,
        )
        if landed > landing:
            landing, why, slowest = landed, link, s
    if landing > a.t:
        a.enabled(slowest, landing, why)
    a.advance()
    model.drain()


def st_global(a: Agent, s: Step) -> bool:
    """A run of stores is one request, up to a size at which SMs that store at once take turns."""
    stores, start, cause = [s], a.t, a.cause()
    a.t += s.cost
    amount = s.amount
    while amount < STORE_RUN * s.count and (step := a.further(st_global)):
        stores.append(step)
        amount += step.amount
        a.t += step.cost
    a.model.clock.post(max(start, a.model.clock.now), a.key, _stores, (a, start, cause, stores))
    return False


def _stores(args: tuple[Agent, int, Cause, list[Step]]) -> None:
    a, start, cause, stores = args
    s, sm, memory_ = stores[-1], a.cta.sm, a.model.memory
    served, end, _ = sm.store.serve(start, sum(step.work[0] for step in stores), cause)
    link = sm.store.last
    assert link is not None
    worth, amount = (sum(n) for n in zip(*((s.work[1], s.amount) for s in stores), strict=True))
    finish, why = memory_.store(a.cta, start, worth, amount, cause)
    if finish > end:
        end, link = finish, why
    sm.store.hold(end)
    if end > a.t:
        a.enabled(s, end, link)
    if sm.rec is not None:
        sm.rec.engine(sm, "store", STORE if link[1] != L2_WRITE else L2_WRITE, served, end)
    a.advance()
    a.model.drain()
