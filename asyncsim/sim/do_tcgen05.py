"""Handlers of tcgen05: the tensor core as a server, tensor memory, commits.

An instruction occupies the tensor core of its SM, or of both SMs of a pair, for an interval, and is
complete some time after that started. What a thread has issued completes in order; a commit arrives
when the last of it is complete. See docs/model-notes.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

from asyncsim.ir import op as ops
from asyncsim.ir.op import SmemView
from asyncsim.ir.tcgen05 import LANES, Tcgen05Access
from asyncsim.machine import TICKS_PER_CYCLE, ticks
from asyncsim.sim import do_sync
from asyncsim.sim.barriers import TimedMbarrier
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.path import TCGEN05_TAIL, TMEM, Cause, after
from asyncsim.sim.steps import Bound, Maker, Run, Step

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import SmState
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values

SLICE_BYTES = 32  # of a row of A or B, for one instruction of any kind


def tcgen05_maker(b: Bound, op: ops.Tcgen05Op) -> Maker:
    numbers = b.model.numbers
    match op:
        case ops.Tcgen05Alloc(columns=columns):
            return _pair_step(b, op, alloc, numbers.ticks("tcgen05.alloc"), columns)
        case ops.Tcgen05Dealloc(columns=columns):
            return _pair_step(b, op, dealloc, numbers.ticks("tcgen05.dealloc"), columns)
        case ops.Tcgen05RelinquishAllocPermit():
            return b.constant(b.step(relinquish, numbers.ticks("tcgen05.fence")))
        case ops.Tcgen05Mma():
            return _mma_maker(b, op)
        case ops.Tcgen05Cp(shape=shape):
            return _copy_maker(b, op, shape.bytes, f"cp.{shape.value}")
        case ops.Tcgen05Shift():
            return _copy_maker(b, op, 32 * SLICE_BYTES, "shift")
        case ops.Tcgen05Commit():
            return _commit_maker(b, op)
        case ops.Tcgen05Ld(dst=regs):
            return _access_maker(b, regs.count, "ld")
        case ops.Tcgen05St(src=regs):
            return _access_maker(b, regs.count, "st")
        case ops.Tcgen05Wait(what=what):
            step = b.step(wait, numbers.ticks("tcgen05.wait"))
            step.value = int(what is Tcgen05Access.ST)
            return b.constant(step)
        case ops.Tcgen05Fence():
            return b.constant(b.step(do_sync.fence, numbers.ticks("tcgen05.fence")))
        case _ as unreachable:
            assert_never(unreachable)


def _pair_step(
    b: Bound, op: ops.Tcgen05Alloc | ops.Tcgen05Dealloc, run: Run, cost: int, columns: int
) -> Maker:
    step = b.step(run, cost)
    step.value, step.name, step.count = columns, op.address.tile, op.cta_group
    return b.constant(step)


# -- allocation --------------------------------------------------------------------------------


def alloc(a: Agent, s: Step) -> bool:
    """The columns of an SM are shared by its CTAs: first come, first served."""
    return _ask(a, _allocated)


def dealloc(a: Agent, s: Step) -> bool:
    return _ask(a, _freed)


def _ask(a: Agent, then: Callable[[Agent], bool]) -> bool:
    a.model.clock.post(max(a.t, a.model.clock.now), a.key, _asked, (a, then))
    return False


def _asked(args: tuple[Agent, Callable[[Agent], bool]]) -> None:
    """The two CTAs of a pair go on together, when both are there."""
    a, then = args
    s = a.blocked
    assert s is not None
    if s.count == 2:
        peer = a.cta.cluster.meet(s.op_id, a)
        if peer is None:
            return
        assert peer.blocked is not None
        if a.t > peer.t:
            peer.enabled(peer.blocked, a.t, a.cause())
        if then(peer):
            peer.resume()
    if then(a):
        a.advance()
    a.model.drain()


def _allocated(a: Agent) -> bool:
    if _take(a):
        return True
    a.cta.sm.tmem_waiters.append(a)
    return False


def _take(a: Agent) -> bool:
    s, sm = a.blocked, a.cta.sm
    assert s is not None
    first = sm.tmem.alloc(a.cta.number, s.value)
    if first is None:
        return False
    a.cta.tmem[s.name] = first
    a.t += s.cost
    a.sync += s.cost
    return True


def _freed(a: Agent) -> bool:
    s, sm = a.blocked, a.cta.sm
    assert s is not None
    sm.tmem.dealloc(a.cta.number, a.cta.tmem.pop(s.name, 0), s.value)
    cause = a.cause()
    waiting, sm.tmem_waiters = sm.tmem_waiters, []
    for other in waiting:
        step = other.blocked
        assert step is not None
        if a.t > other.t:
            other.enabled(step, a.t, cause)
        if _take(other):
            other.resume()
        else:
            sm.tmem_waiters.append(other)
    do_sync.fence(a, s)
    return True


def relinquish(a: Agent, s: Step) -> bool:
    a.cta.sm.tmem.relinquish(a.cta.number)
    return do_sync.fence(a, s)


# -- the tensor pipe ---------------------------------------------------------------------------


def operand_bytes(op: ops.Tcgen05Mma) -> int:
    """What an instruction reads from the shared memory of each SM."""
    rows = op.n // op.cta_group + (op.m // op.cta_group if isinstance(op.a, SmemView) else 0)
    return rows * SLICE_BYTES


def interval(numbers: Numbers, op: ops.Tcgen05Mma) -> int:
    """Ticks between instructions: what the products take, or reading the operands of an SM."""
    products = op.n * numbers.exact(_per_column(op))
    reading = operand_bytes(op) / numbers.rate("smem.port") / TICKS_PER_CYCLE
    if op.cta_group == 2 and reading > products:
        reading += numbers.curve("tcgen05.pair_reading_by_m").at(op.m)
    return ticks(max(products, reading))


def completion(numbers: Numbers, op: ops.Tcgen05Mma) -> int:
    """Ticks from the start of an instruction until a thread that waits for its commit passes."""
    from_smem = "ss" if isinstance(op.a, SmemView) else "ts"
    pair = "pair_" if op.cta_group == 2 else ""
    fixed = numbers.curve(f"tcgen05.{pair}completion_{from_smem}_by_m").at(op.m)
    return ticks(fixed + op.n * numbers.exact(_per_column(op)))


def _per_column(op: ops.Tcgen05Mma) -> str:
    folded = op.cta_group == 2 and op.m == LANES
    return "tcgen05.pair_per_column" if folded else "tcgen05.per_column"


def _mma_maker(b: Bound, op: ops.Tcgen05Mma) -> Maker:
    """work = (interval, start to completion); amount = operand bytes of each SM."""
    numbers = b.model.numbers
    step = b.step(issue, numbers.ticks("tcgen05.issue"))
    step.work = (interval(numbers, op), completion(numbers, op))
    step.amount, step.count, step.value = operand_bytes(op), b.times, op.cta_group
    step.name = f"m{op.m}n{op.n}k{op.k}"
    return b.constant(step)


def _copy_maker(b: Bound, op: ops.Tcgen05Cp | ops.Tcgen05Shift, amount: int, name: str) -> Maker:
    numbers = b.model.numbers
    step = b.step(issue, numbers.ticks("tcgen05.issue"))
    occupied = ticks(amount / numbers.rate("tcgen05.cp") / TICKS_PER_CYCLE)
    step.work = (occupied, occupied + numbers.ticks("tcgen05.cp_completion"))
    step.amount, step.count, step.value, step.name = amount, b.times, op.cta_group, name
    return b.constant(step)


def issue(a: Agent, s: Step) -> bool:
    """The tensor core takes instructions in time order: an event, if several threads use it."""
    model = a.model
    if model.tensor_issuers > 1 and not model.strict:
        model.clock.post(a.t, a.key, _issued, a)
        return False
    _occupy(a, s)
    return True


def _issued(a: Agent) -> None:
    assert a.blocked is not None
    _occupy(a, a.blocked)
    a.advance()
    a.model.drain()


def _occupy(a: Agent, s: Step) -> None:
    used = _sms(a, s.value)
    for _ in range(s.count):
        time = max([a.t, *(sm.tensor.free for sm in used)]) if len(used) > 1 else a.t
        for sm in used:
            start, end, _ = sm.tensor.serve(time, s.work[0], a.cause())
            sm.operand_bytes, sm.operand_ticks = s.amount, max(1, s.work[0])
            if sm.rec is not None:
                sm.rec.engine(sm, "tensor", s.name, start, end)
        link = used[0].tensor.last
        assert link is not None
        done = start + s.work[1]
        if done >= a.tensor_done[0]:
            a.tensor_done = done, after(link, done, TCGEN05_TAIL)
        a.t += s.cost


def _sms(a: Agent, cta_group: int) -> tuple[SmState, ...]:
    if cta_group == 1:
        return (a.cta.sm,)
    return (a.cta.sm, a.cta.cluster.cta(a.cta.rank ^ 1).sm)


def _commit_maker(b: Bound, op: ops.Tcgen05Commit) -> Maker:
    place, cost = b.place(op.mbarrier), b.model.numbers.ticks("tcgen05.commit")
    size = b.model.schedule.cluster_ctas
    mask = None if op.multicast is None else b.ev.value(op.multicast)

    def ranks(values: Values) -> tuple[int, ...]:
        bits = 0 if mask is None else mask(values)
        return tuple([r for r in range(size) if bits >> r & 1])

    def build(values: Values) -> Step:
        step = b.step(commit, cost)
        step.rank, step.barrier = place(values)
        step.count, step.value, step.peers = b.times, 1, ranks(values)
        return step

    return b.table(lambda v: (place(v), ranks(v)), build)


def commit(a: Agent, s: Step) -> bool:
    """An arrival when all that the thread has issued is complete; later in another CTA."""
    model = a.model
    stamp, cause = a.tensor_done
    if stamp < a.t + model.handover:
        stamp, cause = a.t + model.handover, a.cause()
    further = max(0, model.remote_handover - model.handover)
    if s.peers:
        targets = [a.cta.cluster.cta(rank) for rank in s.peers]
    else:
        targets = [a.cta if s.rank < 0 else a.cta.cluster.cta(s.rank)]
    for cta in targets:
        at = stamp + (0 if cta is a.cta else further)
        b = cta.mbarriers[s.barrier]
        if model.strict:
            model.clock.post(at, cta.sm.key, _committed, (a, s, b, at, cause))
        else:
            do_sync.arrive_all(a, b, s, at, cause)
    a.t += s.cost
    return True


def _committed(args: tuple[Agent, Step, TimedMbarrier, int, Cause]) -> None:
    a, s, b, stamp, cause = args
    do_sync.arrive_all(a, b, s, stamp, cause)
    a.model.drain()


# -- loads and stores --------------------------------------------------------------------------


def _access_maker(b: Bound, registers: int, what: str) -> Maker:
    """work = (transfer, latency beside it); a warp has a quarter of the bandwidth of its SM."""
    numbers = b.model.numbers
    step = b.step(access, numbers.ticks("tcgen05.access_issue"))
    quarter = numbers.rate(f"tcgen05.{what}") / numbers.count("gpu.sub_partitions")
    moving = ticks(4 * 32 * registers / quarter / TICKS_PER_CYCLE)
    step.work = (moving, numbers.ticks(f"tcgen05.{what}_latency"))
    step.value = int(what == "st")
    return b.constant(step)


def access(a: Agent, s: Step) -> bool:
    """A warp's accesses follow each other through the port of its 32 lanes."""
    cause = a.cause()
    a.tmem_free = max(a.tmem_free, a.t) + s.work[0]
    done = a.tmem_free + s.work[1]
    a.tmem_done[s.value] = done, after(cause, done, TMEM)
    a.t += s.cost
    return True


def wait(a: Agent, s: Step) -> bool:
    done, cause = a.tmem_done[s.value]
    do_sync.fence(a, s)
    if done > a.t:
        a.enabled(s, done, cause)
    return True
