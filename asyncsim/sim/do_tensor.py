"""Handlers of wgmma: issue, commit, wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.machine import ticks
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.steps import Bound, Maker, Step

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent


def mma_maker(b: Bound, op: ops.WgmmaMmaAsync) -> Maker:
    """work = (interval, tail after it); amount = operand bytes read from shared memory; value =
    what a stall adds to the issue."""
    numbers = b.model.numbers
    step = b.step(mma, ticks(numbers.curve("wgmma.issue_by_n").at(op.n)))
    registers = step.in_registers = isinstance(op.a, ops.FragmentRef)
    tail = numbers.exact("wgmma.tail_rs" if registers else "wgmma.tail_ss")
    step.work = (interval(numbers, op.n, rs=registers), ticks(tail - numbers.exact("wgmma.fence")))
    element = b.model.schedule.tile(op.b.tile).dtype.bytes
    step.value = max(0, numbers.ticks("wgmma.queue_wake") - step.cost)
    step.amount = (op.n if registers else 64 + op.n) * op.k * element
    step.name = f"m64n{op.n}k{op.k}"
    return b.constant(step)


def interval(numbers: Numbers, n: int, *, rs: bool = False) -> int:
    """Ticks between wgmma instructions; ``rs``: with A in registers, not in shared memory."""
    math = n * numbers.exact("wgmma.per_column")
    if rs:
        return ticks(max(math, numbers.exact("wgmma.rs_floor")))
    operands = numbers.exact("wgmma.ss_base") + n * numbers.exact("wgmma.ss_base_per_column")
    return ticks(max(math, operands))


def mma(a: Agent, s: Step) -> bool:
    """Issue stalls while the warpgroup has ``queue_depth`` instructions in flight. A run of them
    is issued at once."""
    group, slot = a.warpgroup, a.slot
    assert group is not None
    alone = a.model.strict or a.rec is not None
    while True:
        issued = group.issued[slot]
        oldest = issued - group.queue_depth
        if oldest >= 0:
            end = group.end_of(oldest)
            if end is None:
                group.parked.append(a)
                return False
            if end[0] > a.t:
                a.enabled(s, end[0] + s.value, end[1])
                if a.model.strict:
                    a.held = s
                    return True
        group.issued[slot] = issued + 1
        group.issue(a, s)
        a.t += s.cost
        if alone or s.reads:
            return True
        following = a.further(mma)
        if following is None:
            return True
        a.blocked = s = following


def commit(a: Agent, s: Step) -> bool:
    group = a.warpgroup
    assert group is not None
    group.commits[a.slot] += 1
    group.issue(a, None)
    a.t += s.cost
    if a.rec is not None:
        a.rec.group_committed(a, "wgmma", group.commits[a.slot])
    return True


def wait(a: Agent, s: Step) -> bool:
    """Parks until all warps have issued what is waited for, then until it has completed."""
    group = a.warpgroup
    assert group is not None
    covered = group.commits[a.slot] - s.value
    if group.closed < covered:
        group.parked.append(a)
        return False
    a.t += s.cost
    a.sync += s.cost
    if covered > group.waited[a.slot] and not s.value:  # takes that long even if they are complete
        a.t += s.work[0]
        a.sync += s.work[0]
    if covered > 0:
        time, cause = group.group_done(covered - 1)
        if time > a.t:
            a.enabled(s, time, cause)
    if a.rec is not None:
        a.rec.group_waited(a, s, "wgmma", group.known(a.slot))
    group.covered(a.slot, s.value)
    group.waited[a.slot] = max(group.waited[a.slot], covered)
    group.retire()
    return True
