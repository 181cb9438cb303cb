"""Addresses of bulk copies behind a wait, computed before it.

Copies take their operands from uniform registers. Left to itself, ptxas computes them behind the
wait, one uniform instruction after the other; what is settled before it is computed beside the
first try, and only moved behind it. See docs/model-notes.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.hw.render.context import Context
from asyncsim.ir import op as ops
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import statements
from asyncsim.ir.stmt import Set, Stmt, When


def settle_addresses(c: Context, rest: tuple[Stmt, ...]) -> None:
    """Put those of the copies that no other wait and no new value of a variable stands before.

    ``rest``: what follows the wait in its block. What is computed for a branch that is not taken
    is for nothing. Declared without a value, since a wait that gives up jumps over them.
    """
    known: dict[str, str] = {}
    for op in _copies(rest):
        far, near = (op.src, op.dst) if isinstance(op, ops.BulkLoad) else (op.dst, op.src)
        names = []
        for kind, text, name in (
            ("void*", f"(void*)({c.element(far)})", f"far_{op.id}"),
            ("u32", f"smem_base + {c.logical_text(near)}", f"near_{op.id}"),
        ):
            if text not in known:
                known[text] = name
                c.put(f"{kind} {name};")
                c.put(f"{name} = settled({text});")
            names.append(known[text])
        c.ahead[op.id] = (names[0], names[1])


def _copies(rest: tuple[Stmt, ...]) -> Iterator[ops.BulkLoad | ops.BulkStore]:
    for s in rest:
        match s:
            case ops.MbarrierWait() | ops.MbarrierWaitState():
                return
            case ops.BulkLoad(multicast=None) | ops.BulkStore(reduce=None):
                yield s
            case OpBase():
                pass
            case When(body=body):
                yield from _copies(body)
                if any(isinstance(i, Set | ops.MbarrierWaitOp) for i in statements((s,))):
                    return
            case _:
                return
