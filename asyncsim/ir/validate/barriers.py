"""mbarriers and hardware barriers: counts, parities, stages, announced bytes."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier, NamedBarrier
from asyncsim.ir.expr import Const
from asyncsim.ir.op import MbarrierOp, MemScope
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule
from asyncsim.sync.mbarrier import COUNT_LIMIT, TX_LIMIT

BULK_BYTES = 16  # a bulk copy moves a multiple of this


def _named_barriers(s: Schedule) -> Iterator[ScheduleError]:
    for b in s.of_kind(NamedBarrier):
        if b.threads % 32 or not 32 <= b.threads <= s.threads:
            yield ScheduleError(
                f"named barrier {b.name!r} counts {b.threads} threads of {s.threads}",
                fix="use a multiple of 32, at most the block",
                loc=b.loc,
            )


def _initialised(s: Schedule) -> Iterator[ScheduleError]:
    initialised = {o.mbarrier.name for o in s.ops() if isinstance(o, ops.MbarrierInit)}
    for b in s.of_kind(Mbarrier):
        if b.name not in initialised:
            yield ScheduleError(
                f"mbarrier {b.name!r} is never initialised",
                loc=b.loc,
                rule=Rule.USE_BEFORE_INIT,
                fix="add k.mbarrier.init_all(...) in an elected thread before the block barrier",
            )


def _stages(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if isinstance(op, MbarrierOp | ops.LoadOp | ops.CpAsyncMbarrierArrive | ops.ClcTryCancel):
            ref = op.mbarrier
            have = s.mbarrier(ref.name).stages
            if isinstance(ref.stage, Const) and not 0 <= ref.stage.value < have:
                yield ScheduleError(
                    f"mbarrier {ref.name}[{ref.stage.value}] of {have}",
                    fix=f"the stage must be 0..{have - 1}",
                    loc=op.loc,
                    rule=Rule.OUT_OF_BOUNDS,
                )


def _counts(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if isinstance(op, ops.MbarrierInit | ops.MbarrierArrive) and not (
            1 <= op.count <= COUNT_LIMIT
        ):
            yield ScheduleError(
                f"{type(op).__name__} with count {op.count}",
                fix=f"a count is 1 to {COUNT_LIMIT}",
                loc=op.loc,
                rule=Rule.ARRIVAL_OVERFLOW,
            )


def _parities(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if (
            isinstance(op, ops.MbarrierWait | ops.MbarrierTestWait)
            and isinstance(op.parity, Const)
            and op.parity.value not in (0, 1)
        ):
            yield ScheduleError(
                f"wait on parity {op.parity.value} of {op.mbarrier.name!r}",
                fix="a parity is 0 or 1: the phase number modulo 2",
                loc=op.loc,
                rule=Rule.PARITY_OUT_OF_RANGE,
            )


def _states(s: Schedule) -> Iterator[ScheduleError]:
    """A wait by a state that no arrive on the same array writes. Stages are for ``check``."""
    arrives = [o for o in s.ops() if isinstance(o, ops.MbarrierArriveOp) and o.state is not None]
    for arrive in arrives:
        if arrive.mbarrier.rank is not None:
            yield ScheduleError(
                f"an arrive on {arrive.mbarrier.name!r} of another CTA returns no state",
                fix="wait by parity in the CTA that owns it",
                loc=arrive.loc,
            )
    written = {(o.mbarrier.name, o.state) for o in arrives}
    for op in s.ops():
        if not isinstance(op, ops.MbarrierWaitState):
            continue
        if (op.mbarrier.name, op.state) not in written:
            yield ScheduleError(
                f"no arrive on {op.mbarrier.name!r} writes the state {op.state!r}",
                fix=f"pass state={op.state} to the arrive whose phase is waited for",
                loc=op.loc,
                rule=Rule.FOREIGN_STATE,
            )


def _tokens(s: Schedule) -> Iterator[ScheduleError]:
    """A wait by a token that no peek at the same array writes. Stages are for ``check``."""
    peeks = {(o.mbarrier.name, o.token) for o in s.ops() if isinstance(o, ops.MbarrierTestWait)}
    for op in s.ops():
        if not isinstance(op, ops.MbarrierWait) or op.peek is None:
            continue
        if (op.mbarrier.name, op.peek) not in peeks:
            yield ScheduleError(
                f"no peek at {op.mbarrier.name!r} writes the token {op.peek!r}",
                fix=f"pass {op.peek} to k.mbarrier.peek of the phase that is waited for",
                loc=op.loc,
                rule=Rule.FOREIGN_STATE,
            )


def _no_complete(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if not (isinstance(op, ops.MbarrierArrive) and op.no_complete):
            continue
        if op.mbarrier.rank is not None or op.relaxed or op.memory is not MemScope.CTA:
            yield ScheduleError(
                f"arrive.noComplete on {op.mbarrier.name!r} of another CTA, or in another order",
                fix="arrive without no_complete: PTX has that form as release.cta, in the own CTA",
                loc=op.loc,
            )


def _announced_bytes(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if not isinstance(op, ops.MbarrierTxOp | ops.MbarrierArriveExpectTx):
            continue
        if not isinstance(op.bytes, Const):
            continue
        amount = op.bytes.value
        if not 0 <= amount <= TX_LIMIT:
            yield ScheduleError(
                f"{amount} bytes announced on {op.mbarrier.name!r}",
                fix=f"a transaction count is 0 to {TX_LIMIT}",
                loc=op.loc,
                rule=Rule.TX_RANGE,
            )
        elif amount % BULK_BYTES:
            yield ScheduleError(
                f"{amount} bytes announced on {op.mbarrier.name!r}; bulk copies move multiples of "
                f"{BULK_BYTES}",
                fix="announce exactly the bytes of the boxes",
                loc=op.loc,
                rule=Rule.TX_BYTES_MISMATCH,
            )


CHECKS = (
    _named_barriers,
    _initialised,
    _stages,
    _counts,
    _parities,
    _states,
    _tokens,
    _no_complete,
    _announced_bytes,
)
