"""What mbarrier ops, fences and hardware barriers do in an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.cta import Blocked, Cta
from asyncsim.evaluate.operands import Operands
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Expr
from asyncsim.ir.op import MbarrierOp, MbarrierRef, OpBase, SyncOp
from asyncsim.rules import Rule
from asyncsim.stream.operands import Values, constant
from asyncsim.sync import ArriveState, MbarrierState, SyncFault

Step = Callable[[Values], Blocked | None]


def mbarrier_step(op: MbarrierOp, use: Operands, warp: int, cta: Cta) -> Step:
    """Each lane that executes the op counts on its own."""
    at = stage_of(op.mbarrier, use, cta)

    def kept(state: str | None, b: MbarrierState) -> MbarrierState:
        """The barrier, after keeping what an arrive on it returns now."""
        if state is not None:
            for elected in use.observers:
                cta.states[warp, elected, state] = b.arrive_state()
        return b

    match op:
        case ops.MbarrierInit(count=count):
            return lambda v: _each(use, lambda: at(v).init(count))
        case ops.MbarrierInval():
            return lambda v: _each(use, lambda: at(v).inval())
        case ops.MbarrierArrive(count=count, state=state, drop=drop, no_complete=no_complete):

            def arrive(b: MbarrierState) -> None:
                (b.arrive_drop if drop else b.arrive)(count, no_complete=no_complete)

            return lambda v: _each(use, lambda: arrive(kept(state, at(v))))
        case ops.MbarrierCompleteTx(bytes=amount):
            size = use.value(amount)
            return lambda v: _each(use, lambda: at(v).complete_tx(size(v)))
        case ops.MbarrierTestWait():
            return lambda v: None  # the wait that its token lets a thread skip passes then, too
        case ops.MbarrierExpectTx(bytes=amount):
            size = use.value(amount)
            return lambda v: _each(use, lambda: at(v).expect_tx(size(v)))
        case ops.MbarrierArriveExpectTx(bytes=amount, state=state):
            size = use.value(amount)
            return lambda v: _each(use, lambda: kept(state, at(v)).arrive_expect_tx(size(v)))
        case ops.MbarrierWait(parity=parity):
            return _wait(op, use.value(parity), at)
        case ops.MbarrierWaitState(state=name):
            keys = [(warp, elected, name) for elected in use.observers]
            return _wait_state(op, lambda: list(map(cta.states.get, keys)), at)
        case _ as unreachable:
            assert_never(unreachable)


def sync_step(op: SyncOp, warp: int, cta: Cta) -> Step:
    match op:
        case ops.FenceMbarrierInit() | ops.FenceProxyAsync() | ops.BarWarpSync():
            return lambda v: None  # one lane after the other: lanes and proxies agree already
        case ops.SetMaxNReg():
            return lambda v: None  # an evaluation has registers for everybody
        case ops.BarSync(barrier=barrier, threads=threads):
            return _bar(op, barrier, threads or cta.schedule.threads, warp, cta, wait=True)
        case ops.BarArrive(barrier=barrier, threads=threads):
            return _bar(op, barrier, threads or cta.schedule.threads, warp, cta, wait=False)
        case _ as unreachable:
            assert_never(unreachable)


def stage_of(ref: MbarrierRef, use: Operands, cta: Cta) -> Callable[[Values], MbarrierState]:
    """The mbarrier that a reference names."""
    owner, stage = owner_of(ref.rank, use, cta), use.value(ref.stage)
    stages = cta.schedule.mbarrier(ref.name).stages

    def state(values: Values) -> MbarrierState:
        index = stage(values)
        if not 0 <= index < stages:
            raise ScheduleError(
                f"mbarrier {ref.name}[{index}] of {stages}",
                fix=f"the stage must be 0..{stages - 1}",
                loc=use.op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )
        return owner(values).mbarriers[ref.name][index]

    return state


def owner_of(rank: Expr | None, use: Operands, cta: Cta) -> Callable[[Values], Cta]:
    """The CTA whose shared memory an operand names: that of ``rank``, or the own."""
    if rank is None:
        return constant(cta)
    number, ctas = use.value(rank), cta.cluster.ctas

    def owner(values: Values) -> Cta:
        index = number(values)
        if not 0 <= index < len(ctas):
            raise ScheduleError(
                f"CTA {index} of a cluster of {len(ctas)}",
                fix=f"a rank is 0..{len(ctas) - 1}",
                loc=use.op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )
        return ctas[index]

    return owner


def ranks_of_mask(bits: int, ctas: int, op: OpBase) -> list[int]:
    """The CTAs of a cluster of ``ctas`` that a multicast mask names."""
    if bits <= 0 or bits >> ctas:
        raise ScheduleError(
            f"multicast mask {bits:#x} in a cluster of {ctas} CTAs",
            fix=f"set at least one of the bits 0..{ctas - 1}, and no other",
            loc=op.loc,
            rule=Rule.OUT_OF_BOUNDS,
        )
    return [rank for rank in range(ctas) if bits >> rank & 1]


def _each(use: Operands, act: Callable[[], object]) -> None:
    for _ in range(use.lanes):
        act()


def _wait(
    op: ops.MbarrierWait, bit: Callable[[Values], int], at: Callable[[Values], MbarrierState]
) -> Step:
    def step(values: Values) -> Blocked | None:
        state, parity = at(values), bit(values)
        if parity not in (0, 1):
            raise SyncFault(Rule.PARITY_OUT_OF_RANGE, f"wait on parity {parity}")
        if state.passes(parity):
            return None
        return Blocked(
            op,
            lambda: state.passes(parity),
            lambda: (
                f"parity {parity} of generation {state.generation}: {state.pending} of "
                f"{state.count} arrivals and {state.tx} bytes missing"
            ),
        )

    return step


def _wait_state(
    op: ops.MbarrierWaitState,
    held: Callable[[], list[ArriveState | None]],
    at: Callable[[Values], MbarrierState],
) -> Step:
    def step(values: Values) -> Blocked | None:
        state, states = at(values), held()
        if state.passes_state(*states):
            return None
        return Blocked(
            op,
            lambda: state.passes_state(*states),
            lambda: (
                f"generation {state.generation}: {state.pending} of {state.count} arrivals and "
                f"{state.tx} bytes missing"
            ),
        )

    return step


def _bar(op: SyncOp, barrier: int, threads: int, warp: int, cta: Cta, *, wait: bool) -> Step:
    def step(values: Values) -> Blocked | None:
        state = cta.named[barrier]
        generation = state.generation
        if state.arrive(warp, threads) or not wait:
            return None
        return Blocked(
            op,
            lambda: state.generation != generation,
            lambda: f"barrier {barrier}: {state.arrived} of {threads} threads have arrived",
        )

    return step
