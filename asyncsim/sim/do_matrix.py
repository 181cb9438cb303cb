"""Handlers of ldmatrix, stmatrix and mma.sync, and of the registers that they write later.

A warp issues in order and goes on: what waits is the first op that uses a register which is still
being written. A product starts when its operands are there and the tensor core of its sub-partition
takes it; the warp cannot issue anything behind it before. See docs/model-notes.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from asyncsim.ir import op as ops
from asyncsim.ir.dtype import DType
from asyncsim.ir.matrix import ROW_BYTES, ROWS
from asyncsim.ir.op import FragmentRef, OpBase
from asyncsim.ir.validate.views import parts_of
from asyncsim.machine import TICKS_PER_CYCLE, ticks
from asyncsim.sim.do_compute import local
from asyncsim.sim.path import MMA_LATENCY, SMEM, Cause, after
from asyncsim.sim.steps import Bound, Maker, Registers, Step

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values

RUN = 16  # ops that a warp issues before others of the SM have their turn
KINDS = {
    DType.F16: "f16",
    DType.BF16: "f16",
    DType.TF32: "tf32",
    DType.E4M3: "f8",
    DType.E5M2: "f8",
    DType.I8: "i8",
    DType.U8: "i8",
}


class Scoreboard:
    """When the registers of a warp hold what has been issued to them, and why then."""

    __slots__ = ("_written",)

    def __init__(self) -> None:
        self._written: dict[str, dict[int, tuple[int, Cause]]] = {}

    def write(self, registers: Registers, time: int, cause: Cause) -> None:
        name, first, end = registers
        self._written.setdefault(name, {}).update(dict.fromkeys(range(first, end), (time, cause)))

    def state(self) -> tuple[list[object], list[int]]:
        """What decides later answers, and its ticks."""
        known = [(n, i, t) for n, of in self._written.items() for i, (t, _) in of.items()]
        return [(n, i) for n, i, _ in known], [t for _, _, t in known]

    def ready(self, reads: tuple[Registers, ...], now: int) -> tuple[int, Cause] | None:
        """The last of some registers to be written, if that is later than now."""
        latest: tuple[int, Cause] | None = None
        for name, first, end in reads:
            written = self._written.get(name)
            if written is None:
                continue
            for i in range(first, end):
                known = written.get(i)
                if known is not None and known[0] > now:
                    now, latest = known[0], known
        return latest


def behind_writes(op: OpBase, names: frozenset[str], maker: Maker) -> Maker:
    """Steps of another op, which wait for the registers that it uses."""
    refs = [r for r in parts_of(op, FragmentRef) if r.name in names]
    if not refs or isinstance(op, ops.LdMatrix | ops.MmaSync):
        return maker
    used = tuple(map(_registers, refs))

    def make(values: Values) -> Step:
        step = maker(values)
        step.reads = used
        return step

    return make


def waits(a: Agent, s: Step) -> bool:
    """Whether the registers of a step were late; then the agent has waited for them."""
    late = a.scoreboard.ready(s.reads, a.t)
    if late is None:
        return False
    a.enabled(s, *late)
    return True


def _registers(ref: FragmentRef) -> Registers:
    return ref.name, ref.first, ref.first + ref.count


# -- steps -------------------------------------------------------------------------------------


def matrix_maker(b: Bound, op: ops.MatrixOp) -> Maker:
    """amount = bytes of a warp; work = (occupancy of the warp's own path, latency behind the port)
    of a move, (interval, latency beside it) of a product."""
    n = b.model.numbers
    match op:
        case ops.LdMatrix(dst=dst, num=num):
            step = b.step(together, TICKS_PER_CYCLE)
            step.amount, step.writes = num * ROWS * ROW_BYTES, _registers(dst)
            own = step.amount / n.rate("smem.ldmatrix_warp") / TICKS_PER_CYCLE
            own = max(own, n.exact("smem.load_issue"))  # of the path: the warp goes on at once
            step.work = ticks(own), n.ticks("smem.ldmatrix_latency")
        case ops.StMatrix(num=num):
            amount = num * ROWS * ROW_BYTES
            own = amount / n.rate("smem.stmatrix_warp") / TICKS_PER_CYCLE
            step = b.step(local, max(ticks(own), n.ticks("smem.store_issue")))
        case ops.MmaSync(a=a, b=right, c=c, d=d):
            kind = KINDS[b.model.schedule.element_type(a)]
            step = b.step(together, TICKS_PER_CYCLE)
            interval = n.ticks(f"mma.{kind}")
            step.work = interval, n.ticks(f"mma.{kind}_latency") - interval
            step.reads, step.writes = tuple(map(_registers, (a, right, c))), _registers(d)
            step.name = f"m16n8k{op.k}"
        case _ as unreachable:
            assert_never(unreachable)
    step.aside = b.model.among(op)
    return b.constant(step)


def together(a: Agent, s: Step) -> bool:
    """Loads and products that follow each other are served in one event."""
    run, start = [s], a.t
    while len(run) < RUN and (step := a.further(together)):
        run.append(step)
    a.model.clock.post(max(start, a.model.clock.now), a.key, _serve, (a, run))
    return False


def _serve(args: tuple[Agent, list[Step]]) -> None:
    a, run = args
    for s in run:
        waits(a, s)
        serve = _product if s.reads else _load
        serve(a, s)
    a.advance()
    a.model.drain()


def _load(a: Agent, s: Step) -> None:
    own, latency = s.work
    start = max(a.t, a.loads_free)
    a.loads_free = start + own
    end, why = a.cta.sm.use_port(start, s.amount * len(a.warps.warps), a.cause())
    assert s.writes is not None
    done = end + latency
    a.scoreboard.write(s.writes, done, after(why, done, SMEM))
    a.aside += s.aside
    a.t += s.cost


def _product(a: Agent, s: Step) -> None:
    """Warps of one sub-partition issue theirs one after the other."""
    interval, latency = s.work
    aside, a.aside = a.aside + s.aside, 0
    interval, latency = interval + aside, latency - aside
    sm, cause, now = a.cta.sm, a.cause(), a.t
    accepted, done, why = now, now, cause
    for pipe, warps in zip(sm.products, a.model.partitions[a.index], strict=True):
        if not warps:
            continue
        start, end, _ = pipe.serve(now, warps * interval, cause)
        accepted = max(accepted, start + (warps - 1) * interval)
        if end > done and pipe.last is not None:
            done, why = end, pipe.last
    assert s.writes is not None
    if accepted > now:
        a.enabled(s, accepted, after(why, accepted, MMA_LATENCY))
    done += latency
    a.scoreboard.write(s.writes, done, after(why, done, MMA_LATENCY))
    a.t += s.cost
