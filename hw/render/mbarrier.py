"""CUDA text of the mbarrier family."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import Context
from asyncsim.hw.render.expr import c_text
from asyncsim.ir import op as ops
from asyncsim.ir.op import MbarrierOp, MbarrierRef, MemScope


def render_mbarrier(c: Context, op: MbarrierOp) -> None:
    match op:
        case ops.MbarrierInit(mbarrier=ref, count=count):
            c.put(f"mbar_init({c.barrier(ref)}, {count});")
        case ops.MbarrierInval(mbarrier=ref):
            c.put(f"mbar_inval({c.barrier(ref)});")
        case ops.MbarrierArrive(count=count) if is_ordered(op):
            c.put(_ordered(c, op, "arrive_drop" if op.drop else "arrive", str(count)))
        case ops.MbarrierArrive(mbarrier=ref, count=count, state=state):
            form = f"{'_drop' if op.drop else ''}{'_no_complete' if op.no_complete else ''}"
            operands = f"{c.barrier(ref)}{f', {count}' if count != 1 or form else ''}"
            if form:
                c.put(f"{f's_{state} = ' if state else ''}mbar_arrive{form}({operands});")
            else:
                c.put(_returning(state, "mbar_arrive", operands))
        case ops.MbarrierCompleteTx(mbarrier=ref, bytes=amount) if ref.rank is not None:
            c.put(_remote_tx(c, "complete_tx", ref, c_text(amount)))
        case ops.MbarrierCompleteTx(mbarrier=ref, bytes=amount):
            c.put(f"mbar_complete_tx({c.barrier(ref)}, {c_text(amount)});")
        case ops.MbarrierTestWait(mbarrier=ref, parity=parity, token=token):
            function = _ordered_test(c, op) if is_ordered(op) else "mbar_test_wait"
            c.put(f"p_{token} = {function}({c.barrier(ref)}, {c_text(parity)});")
        case ops.MbarrierExpectTx(mbarrier=ref, bytes=amount) if ref.rank is not None:
            c.put(_remote_tx(c, "expect_tx", ref, c_text(amount)))
        case ops.MbarrierExpectTx(mbarrier=ref, bytes=amount):
            c.put(f"mbar_expect_tx({c.barrier(ref)}, {c_text(amount)});")
        case ops.MbarrierArriveExpectTx(bytes=amount) if is_ordered(op):
            c.put(_ordered(c, op, "arrive.expect_tx", c_text(amount)))
        case ops.MbarrierArriveExpectTx(mbarrier=ref, bytes=amount, state=state):
            operands = f"{c.barrier(ref)}, {c_text(amount)}"
            c.put(_returning(state, "mbar_arrive_expect_tx", operands))
        case ops.MbarrierWait(mbarrier=ref, parity=parity):
            _wait(c, op, "mbar_wait", ref, c_text(parity))
        case ops.MbarrierWaitState(mbarrier=ref, state=state):
            _wait(c, op, "mbar_wait_state", ref, f"s_{state}")
        case _ as unreachable:
            assert_never(unreachable)


def _returning(state: str | None, function: str, operands: str) -> str:
    """The call of an arrive, by the form that returns the state if it is kept."""
    if state is None:
        return f"{function}({operands});"
    return f"s_{state} = {function}_state({operands});"


def is_ordered(op: ops.MbarrierArriveOp | ops.MbarrierWaitOp | ops.MbarrierTestWait) -> bool:
    """Whether the barrier is of another CTA, or the order other than release.cta, acquire.cta."""
    return op.mbarrier.rank is not None or op.relaxed or op.memory is not MemScope.CTA


def _ordered(c: Context, op: ops.MbarrierArriveOp, what: str, operand: str) -> str:
    """The call of an arrive of that space and order; its function is written when it is needed."""
    order = "relaxed" if op.relaxed else "release"
    space = "cta" if op.mbarrier.rank is None else "cluster"
    opcode = f"mbarrier.{what}.{order}.{op.memory.value}.shared::{space}.b64"
    remote = "" if op.mbarrier.rank is None else "remote_"
    name = f"{remote}mbar_{what.replace('.', '_')}_{order}_{op.memory.value}"
    inputs = '"r"(bar), "r"(n) : "memory"'
    if op.state is None:
        head, body = f"void {name}", f'asm volatile("{opcode} _, [%0], %1;" :: {inputs});'
    else:
        name += "_state"
        head = f"u64 {name}"
        act = f'asm volatile("{opcode} %0, [%1], %2;" : "=l"(s) : {inputs});'
        body = f"u64 s; {act} return s;"
    c.functions[name] = f"DEV {head}(u32 bar, u32 n) {{\n  {body}\n}}"
    call = f"{name}({c.barrier(op.mbarrier)}, {operand});"
    return call if op.state is None else f"s_{op.state} = {call}"


def _ordered_test(c: Context, op: ops.MbarrierTestWait) -> str:
    order = f"{'relaxed' if op.relaxed else 'acquire'}.{op.memory.value}"
    name = f"mbar_test_wait_{order.replace('.', '_')}"
    c.functions[name] = (
        f"DEV u32 {name}(u32 bar, u32 parity) {{\n"
        f'  u32 done;\n  asm volatile("{{ .reg .pred p; mbarrier.test_wait.parity.{order}'
        '.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"\n'
        '               : "=r"(done) : "r"(bar), "r"(parity) : "memory");\n  return done;\n}'
    )
    return name


def _remote_tx(c: Context, what: str, ref: MbarrierRef, amount: str) -> str:
    name, opcode = f"remote_mbar_{what}", f"mbarrier.{what}.relaxed.cluster.shared::cluster.b64"
    c.functions[name] = (
        f"DEV void {name}(u32 bar, u32 n) {{\n"
        f'  asm volatile("{opcode} [%0], %1;" :: "r"(bar), "r"(n) : "memory");\n}}'
    )
    return f"{name}({c.barrier(ref)}, {amount});"


def _wait(c: Context, op: ops.MbarrierWaitOp, function: str, ref: MbarrierRef, phase: str) -> None:
    """An elected lane that gives up leaves its region; whole warps run on (they may have to
    meet others at hardware barriers and collectives)."""
    if is_ordered(op):
        order = ("Relaxed" if op.relaxed else "Acquire") + op.memory.value.capitalize()
        parity = isinstance(op, ops.MbarrierWait)
        phase = f"Parity{order}{{(u32)({phase})}}" if parity else f"State{order}{{{phase}}}"
        function = "mbar_wait_phase"
    call = f"{function}(guard, {c.barrier(ref)}, {phase}, {op.id}, {c.loop_index()})"
    if isinstance(op, ops.MbarrierWait) and op.peek is not None:
        call = f"(p_{op.peek} || {call})"
    if c.way_out:
        c.used_labels.add(c.way_out)
        c.put(f"if (!{call}) goto {c.way_out};")
    else:
        c.put(f"{call};")
