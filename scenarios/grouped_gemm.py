"""grouped_gemm: products of different heights in one persistent launch, as experts have them.

Group g has ``m - g * ragged`` rows. Its rows of A follow those of the group before; it has a B of
its own. The table of groups is known when the schedule is built, so that a tile finds its group by
a few comparisons. A box of A at the end of a group goes on into the next one, which is harmless:
those rows are not stored. So every group has a tensor map of its own for C, which clips them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from asyncsim import Rule, ScheduleBuilder, ScheduleError, Value
from asyncsim.build.handles import TileView
from asyncsim.build.value import Index
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import OneCtaPerSm, Stages, TileM, TileN, Twin, Warpgroups, scenario
from asyncsim.scenarios.gemm_epilogue import Epilogue, c_type
from asyncsim.scenarios.gemm_operands import Blocks, Operands, Roles

TWINS = (
    Twin(
        name="one_map",
        rule=Rule.GLOBAL_WRITE_OVERLAP,
        summary="all groups are stored by one map: the edge of a group covers the next one",
    ),
    Twin(
        name="rows_of_first",
        rule=Rule.WRONG_TILE,
        summary="the producer forgets where the rows of a group begin in A",
        params={"ctas": 1},
    ),
    Twin(
        name="weights_of_first",
        rule=Rule.WRONG_TILE,
        summary="all groups are multiplied with the B of the first",
        params={"ctas": 1},
    ),
    Twin(
        name="read_too_loose",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="wait_group.read leaves one store too many, the one that has the buffer",
        params={"groups": 1},
    ),
    Twin(
        name="no_store_fence",
        rule=Rule.MISSING_PROXY_FENCE,
        summary="no fence.proxy.async between the strip and the TMA store of it",
        params={"groups": 1},
    ),
)


@dataclass(frozen=True, slots=True)
class Groups:
    """The table: rows of each group, tiles that are ``block_m`` high, ``columns`` beside each
    other."""

    rows: tuple[int, ...]
    block_m: int
    columns: int

    @property
    def starts(self) -> tuple[int, ...]:
        """Row of A where each begins."""
        return tuple(accumulate(self.rows[:-1], initial=0))

    @property
    def first_tiles(self) -> tuple[int, ...]:
        """Of each group, and the number of all tiles."""
        heights = (-(-rows // self.block_m) for rows in self.rows)
        return tuple(accumulate((h * self.columns for h in heights), initial=0))

    def of(self, tile: Value) -> Index:
        """The group of a tile."""
        return self.by_group(tile, range(len(self.rows)))

    def by_group(self, tile: Value, values: Sequence[int]) -> Index:
        """The value of the tile's group: each begins with its first tile."""
        found: Index = values[0]
        for first, (before, after) in zip(self.first_tiles[1:], pairwise(values), strict=False):
            found = found + (tile >= first) * (after - before)
        return found


@scenario(
    summary="persistent grouped GEMM: ragged groups, a tensor map of C for each",
    archs=("sm_90a",),
    twins=TWINS,
)
def grouped_gemm(
    *,
    groups: int = 4,
    m: int = 2048,
    ragged: int = 200,
    n: int = 4096,
    k: int = 4096,
    block_m: TileM = 128,
    block_n: TileN = 256,
    block_k: int = 64,
    stages: Stages = 4,
    lag: int = 1,
    buffers: int = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 132,
    consumers: Warpgroups = 2,
    setmaxnreg: int = 1,
    twin: str = "",
) -> Schedule:
    if not 1 <= groups <= 16 or m - (groups - 1) * ragged < 1 or ragged < 0:
        raise ScheduleError(
            f"{groups} groups of {m} rows, each {ragged} fewer than the one before",
            fix="1 to 16 groups, each with at least 1 row",
        )
    if n % block_n:
        raise ScheduleError(f"n = {n}", fix=f"a multiple of block_n = {block_n}: B is in one piece")
    rows = tuple(m - g * ragged for g in range(groups))
    blocks = Blocks(
        m=sum(rows),
        n=n * groups,
        k=k,
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        stages=stages,
        lag=lag,
        warpgroups=consumers,
    )
    table = Groups(rows, block_m, n // block_n)
    b = ScheduleBuilder("grouped_gemm", archs=("sm_90a",))
    steps = b.arg("steps", blocks.steps)
    operands = Operands.declare(b, blocks)
    consumers_meet = b.named_barrier("consumers_meet", id=1, threads=128 * consumers)
    epilogue = Epilogue.declare(
        b,
        blocks,
        c_type(f32),
        buffers=buffers,
        meet=lambda: b.bar.sync(consumers_meet),
        twin=twin,
    )
    heights = (blocks.m,) if twin == "one_map" else rows
    outputs = [
        b.global_tensor(f"c{g}", (height, n), c_type(f32), output=True)
        for g, height in enumerate(heights)
    ]
    c_maps = [epilogue.map_of(c) for c in outputs]
    acc = [b.accumulator(f"acc{h}", n=block_n) for h in range(blocks.halves)]
    tiles = b.arg("tiles", table.first_tiles[-1])
    stride = min(ctas, table.first_tiles[-1])
    b.grid(stride)
    own_tiles = (tiles - b.block_idx + (stride - 1)) // stride

    def place(tile: Value) -> tuple[Index, Index]:
        """Row and column of a tile in the C of its group."""
        inside = tile - table.by_group(tile, table.first_tiles)
        return inside // table.columns * block_m, inside % table.columns * block_n

    def leave(tile: Value, column: Index, strip: TileView) -> None:
        row0, col0 = place(tile)
        if twin == "one_map":
            start = table.by_group(tile, table.starts)
            b.tma.store(c_maps[0], (start + row0, col0 + column), strip)
            return
        for g, c_map in enumerate(c_maps):
            with b.when(table.of(tile) == g):
                b.tma.store(c_map, (row0, col0 + column), strip)

    roles = Roles(b, consumers, setmaxnreg)
    operands.init()

    with b.specialize():
        with roles.consumers():
            first_row = b.warp_in_role // 4 * (block_m // consumers)
            state = b.pipeline_state(stages)
            done = b.pipeline_state(stages, name="done") if lag else state
            with b.loop(own_tiles, name="t") as t:
                tile = b.block_idx + t * stride
                row0, col0 = place(tile)
                corner = (
                    row0 + table.by_group(tile, table.starts),
                    col0 + table.of(tile) * n,
                )
                with b.loop(steps) as i:
                    operands.multiply(state, acc, first_row, corner, i)
                    b.wgmma.wait_group(lag)
                    with b.when(i >= lag):
                        operands.release(done)
                        if lag:
                            done.advance()
                    state.advance()
                b.wgmma.wait_group(0)
                if lag:
                    operands.release(done)
                    done.advance()
                epilogue.store(acc, first_row, lambda column, strip: leave(tile, column, strip))
            epilogue.drain()
        with roles.producer():
            state = b.pipeline_state(stages, producer=True)
            with b.loop(own_tiles, name="t") as t:
                tile = b.block_idx + t * stride
                row0, col0 = place(tile)
                if twin != "rows_of_first":
                    row0 = row0 + table.by_group(tile, table.starts)
                if twin != "weights_of_first":
                    col0 = col0 + table.of(tile) * n
                with b.loop(steps) as i:
                    operands.fetch(state, row0, col0, i)
    return b.finish()
