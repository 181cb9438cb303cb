"""Tensors of which one tile touches each element once: no order of accesses matters there."""

from __future__ import annotations

from dataclasses import replace

from asyncsim.check.affine import only_reduced
from asyncsim.check.global_memory import Row, rows
from asyncsim.ir import op as ops
from asyncsim.ir.op import Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox
from asyncsim.stream.program import Program

EVENT_LIMIT = 100_000


def written(schedule: Schedule) -> set[str]:
    """The tensors that a kernel writes, but for those that it only reduces into."""
    stores = (o for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp))
    return {o.dst.tensor for o in stores} - only_reduced(schedule)


def touched_once(schedule: Schedule) -> frozenset[str]:
    """Those of the written tensors of which the first cluster touches no element twice."""
    names, seen = written(schedule), dict[Row, int]()
    program, events = Program(schedule), 0
    for block in schedule.cluster_of((0, 0, 0)):
        for warp in range(schedule.warps):
            for dyn, _ in program.stream(block, warp):
                events += 1
                if events > EVENT_LIMIT:
                    return frozenset()
                for access in dyn.accesses:
                    box = access.region
                    if not isinstance(box, GlobalBox) or box.tensor not in names:
                        continue
                    if not access.lanes and dyn.op.scope in (Scope.ALL_LANES, Scope.OTHERS):
                        names.discard(box.tensor)  # by each of them
                    for lane in access.lanes or (box,):
                        for row, bits in rows(replace(access, region=lane, lanes=())):
                            if seen.get(row, 0) & bits:
                                names.discard(box.tensor)
                            seen[row] = seen.get(row, 0) | bits
    return frozenset(names)
