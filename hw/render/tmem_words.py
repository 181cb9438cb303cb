"""Words that hold addresses of tensor memory: who uses them, and which stand before the roles."""

from __future__ import annotations

from asyncsim.ir import op as ops
from asyncsim.ir.op import OpBase, TmemView
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Specialize


def words_of(op: OpBase, schedule: Schedule) -> set[str]:
    """The words that an op reads to find its tiles, or what it frees."""
    if isinstance(op, ops.Tcgen05Dealloc):
        return {op.address.tile}
    values = [getattr(op, name) for name in type(op).__dataclass_fields__]
    return {schedule.tmem_tile(v.tile).address for v in values if isinstance(v, TmemView)}


def settled_words(schedule: Schedule) -> frozenset[str]:
    """Those that are written once, before a barrier of the whole block that the roles follow."""
    before: set[str] = set()
    settled: set[str] = set()
    for statement in schedule.body:
        if isinstance(statement, Specialize):
            break
        written = [s for s in statements((statement,)) if isinstance(s, ops.Tcgen05Alloc)]
        before.update(s.address.tile for s in written)
        whole = isinstance(statement, ops.BarSync) and statement.barrier == 0
        if whole or isinstance(statement, ops.BarrierClusterWait):
            settled |= before
    writes = [op.address.tile for op in schedule.ops() if isinstance(op, ops.Tcgen05Alloc)]
    return frozenset(tile for tile in settled if writes.count(tile) == 1)
