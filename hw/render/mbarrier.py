"""CUDA text of the mbarrier family."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import Context
from asyncsim.hw.render.expr import c_text
from asyncsim.ir import op as ops
from asyncsim.ir.op import MbarrierOp


def render_mbarrier(c: Context, op: MbarrierOp) -> None:
    match op:
        case ops.MbarrierInit(mbarrier=ref, count=count):
            c.put(f"mbar_init({c.barrier(ref)}, {count});")
        case ops.MbarrierInval(mbarrier=ref):
            c.put(f"mbar_inval({c.barrier(ref)});")
        case ops.MbarrierArrive(mbarrier=ref, count=count, state=state):
            form = f"{'_drop' if op.drop else ''}{'_no_complete' if op.no_complete else ''}"
            operands = f"{c.barrier(ref)}{f', {count}' if count != 1 or form else ''}"
            if form:
                c.put(f"{f's_{state} = ' if state else ''}mbar_arrive{form}({operands});")
            else:
                c.put(_returning(state, "mbar_arrive", operands))
        case ops.MbarrierCompleteTx(mbarrier=ref, bytes=amount):
            c.put(f"mbar_complete_tx({c.barrier(ref)}, {c_text(amount)});")
        case ops.MbarrierTestWait(mbarrier=ref, parity=parity, token=token):
            c.put(f"p_{token} = mbar_test_wait({c.barrier(ref)}, {c_text(parity)});")
        case ops.MbarrierExpectTx(mbarrier=ref, bytes=amount):
            c.put(f"mbar_expect_tx({c.barrier(ref)}, {c_text(amount)});")
        case ops.MbarrierArriveExpectTx(mbarrier=ref, bytes=amount, state=state):
            operands = f"{c.barrier(ref)}, {c_text(amount)}"
            c.put(_returning(state, "mbar_arrive_expect_tx", operands))
        case ops.MbarrierWait(mbarrier=ref, parity=parity):
            _wait(c, op, "mbar_wait", f"{c.barrier(ref)}, {c_text(parity)}")
        case ops.MbarrierWaitState(mbarrier=ref, state=state):
            _wait(c, op, "mbar_wait_state", f"{c.barrier(ref)}, s_{state}")
        case _ as unreachable:
            assert_never(unreachable)


def _returning(state: str | None, function: str, operands: str) -> str:
    """The call of an arrive, by the form that returns the state if it is kept."""
    if state is None:
        return f"{function}({operands});"
    return f"s_{state} = {function}_state({operands});"


def _wait(c: Context, op: ops.MbarrierWaitOp, function: str, operands: str) -> None:
    """An elected lane that gives up leaves its region; whole warps run on (they may have to
    meet others at hardware barriers and collectives)."""
    call = f"{function}(guard, {operands}, {op.id}, {c.loop_index()})"
    if isinstance(op, ops.MbarrierWait) and op.peek is not None:
        call = f"(p_{op.peek} || {call})"
    if c.way_out:
        c.used_labels.add(c.way_out)
        c.put(f"if (!{call}) goto {c.way_out};")
    else:
        c.put(f"{call};")
