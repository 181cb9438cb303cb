"""CUDA text of tiles that are handed out while the kernel runs: loops over them, and who asks.

A cluster begins with the tile of its own index. The next one is what a counter says, beyond those
first tiles, or the index of a cluster that cluster launch control has taken from the launch.
"""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import Context
from asyncsim.hw.render.expr import c_text
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import For

OWN_INDEX, CLUSTERS = "cluster_index", "clusters"


def loop_head(c: Context, loop: For) -> str:
    """Ends with a ticket that is no tile, and when the thread, or one of its warp, has given up."""
    var, ticket = loop.var, loop.ticket
    assert ticket is not None
    following = f"(int){c.register(ticket, 0)}"
    if c.waits:
        gave_up = "guard.aborted" if c.way_out else "__any_sync(0xffffffffu, guard.aborted)"
        following = f"{gave_up} ? -1 : {following}"
    return (
        f"for (int v_{var} = {OWN_INDEX}, n_{var} = {c_text(loop.trip_count)}; "
        f"(u32)v_{var} < (u32)n_{var}; v_{var} = {following}) {{"
    )


def render_tile(c: Context, op: ops.TileOp) -> None:
    match op:
        case ops.AtomAdd(dst=ticket, counter=box):
            c.put(f"{c.register(ticket, 0)} = {CLUSTERS} + atomicAdd({c.element(box)}, 1);")
        case ops.ClcTryCancel(dst=view, mbarrier=ref, multicast=multicast):
            name = "clc_try_cancel_multicast" if multicast else "clc_try_cancel"
            at = f"smem_base + {c.logical_text(view)}"
            c.put_guarded(f"{name}({at}, {c.barrier(ref)});")
        case ops.ClcQueryCancel(dst=ticket, src=view):
            at = f"smem_base + {c.logical_text(view)}"
            x = c.schedule.cluster[0]
            c.put(f"{c.register(ticket, 0)} = clc_query_cancel<{x}>({at});")
        case _ as unreachable:
            assert_never(unreachable)


def cluster_constants(s: Schedule) -> dict[str, str]:
    """The index of the cluster in the grid, x fastest, and the number of clusters, as C text."""
    index = number = ""
    for axis, grid, size in zip("zyx", reversed(s.grid), reversed(s.cluster), strict=True):
        if grid == size:
            continue
        by = f" / {size}" if size > 1 else ""
        here, extent = f"block_{axis}{by}", f"(int)gridDim.{axis}{by}"
        index = f"({index}) * ({extent}) + {here}" if index else here
        number = f"{number} * ({extent})" if number else extent
    return {OWN_INDEX: index or "0", CLUSTERS: number or "1"}
