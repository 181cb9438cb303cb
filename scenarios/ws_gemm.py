"""ws_gemm: warp-specialised Hopper GEMM, C (M, N) = A (M, K) times B (N, K) transposed.

One producer warp loads 128-byte-swizzled bf16 tiles by TMA; one or two consumer warpgroups, each
with its own rows, multiply with wgmma into fp32 registers, keep ``lag`` groups in flight, and store
C directly. A stage is empty when every consumer warpgroup has arrived. ``k_order`` 0 multiplies all
k-slices of a step for 64 rows, then for the next 64; 1 takes the rows in turn at every k-slice.

``setmaxnreg`` 1: the producer is a warpgroup of its own, of which one thread issues; it gives its
registers to the consumers.

The producer loads step i when the stage of step i - ``distance`` is empty: with ``distance =
stages``, the default, when its own stage is.

Edge tiles: a box that lies partly outside its matrix arrives whole, filled with zeros, and counts
with all its bytes; C is stored where it exists.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.build.value import Index, minimum
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Stages, Switch, TileM, TileN, Twin, Warpgroups, scenario
from asyncsim.scenarios.distance import producer_ahead

TRADING = {"setmaxnreg": 1, "consumers": 2, "block_m": 256}


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers of a thread: at launch with so many CTAs per SM, then by role.

    All warps together use what the launch gives them.
    """

    launch: int
    ctas_per_sm: int
    producer: int
    consumer: int


REGISTERS = {
    1: Registers(launch=128, ctas_per_sm=2, producer=40, consumer=216),
    2: Registers(launch=168, ctas_per_sm=1, producer=40, consumer=232),
}
"""By the number of consumer warpgroups."""

TWINS = (
    Twin(
        name="release_in_flight",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="releases the stage whose wgmma group may still be pending",
    ),
    Twin(
        name="no_wgmma_wait",
        rule=Rule.OPERAND_IN_FLIGHT,
        summary="releases stages without any wgmma wait in the loop",
    ),
    Twin(
        name="no_final_wait",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="stores the accumulator after wait_group(lag): the last wgmma group may still run",
        params={"lag": 1},
    ),
    Twin(
        name="one_group_arrives",
        rule=Rule.LAPPED_WAITER,
        summary="a stage counts as empty when one of two consumer warpgroups has arrived",
        params={"consumers": 2, "block_m": 256},
    ),
    Twin(
        name="same_rows",
        rule=Rule.WRITE_WRITE_RACE,
        summary="both consumer warpgroups take the first rows",
        params={"consumers": 2, "block_m": 256},
    ),
    Twin(
        name="no_wgmma_fence",
        rule=Rule.MISSING_WGMMA_FENCE,
        summary="no wgmma.fence before the first wgmma",
    ),
    Twin(
        name="expect_a_only",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="announces the bytes of A, copies A and B",
    ),
    Twin(
        name="expect_inside",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="announces the bytes that lie inside the matrices; the fill counts as well",
        params={"m": 200},
    ),
    Twin(
        name="unclipped_store",
        rule=Rule.OUT_OF_BOUNDS,
        summary="stores the whole edge tile",
        params={"m": 200},
        launch=False,
    ),
    Twin(
        name="swapped_k",
        rule=Rule.WRONG_TILE,
        summary="B is fetched one k-step ahead of A",
    ),
    Twin(
        name="pool_short",
        rule=Rule.REGISTER_POOL,
        summary="the consumers ask for more registers than the producer gives back",
        params=TRADING,
        launch=False,
    ),
    Twin(
        name="dec_above",
        rule=Rule.REGISTER_POOL,
        summary="the producer's dec names more registers than it holds",
        params=TRADING,
        launch=False,
    ),
    Twin(
        name="warps_disagree",
        rule=Rule.REGISTER_POOL,
        summary="the warps of the producer warpgroup execute two setmaxnreg, not one",
        params=TRADING,
        launch=False,
    ),
    Twin(
        name="dec_twice",
        rule=Rule.REGISTER_POOL,
        summary="two setmaxnreg in a row without a synchronisation of the warpgroup",
        params=TRADING,
        launch=False,
    ),
)


@scenario(
    summary="warp-specialised GEMM: TMA producer, wgmma consumer warpgroups, direct store",
    archs=("sm_90a",),
    twins=TWINS,
)
def ws_gemm(
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    block_m: TileM = 128,
    block_n: TileN = 128,
    block_k: int = 64,
    stages: Stages = 4,
    distance: int = 0,
    lag: Switch = 1,
    consumers: Warpgroups = 1,
    k_order: int = 0,
    setmaxnreg: Switch = 0,
    twin: str = "",
) -> Schedule:
    ahead = producer_ahead(stages, distance)
    _check(m, n, k, block_m, block_n, block_k, ahead, lag, consumers, k_order, setmaxnreg)
    b = ScheduleBuilder("ws_gemm", archs=("sm_90a",))
    steps = b.arg("steps", -(-k // block_k))
    a_global = b.global_tensor("a", (m, k), "bf16")
    b_global = b.global_tensor("b", (n, k), "bf16")
    c_global = b.global_tensor("c", (m, n), "f32", output=True)
    swizzle = 2 * block_k
    a_map = b.tensor_map("a_map", a_global, box=(block_m, block_k), swizzle=swizzle)
    b_map = b.tensor_map("b_map", b_global, box=(block_n, block_k), swizzle=swizzle)
    a_tile = b.smem_tile("a_tile", (block_m, block_k), "bf16", stages=stages, swizzle=swizzle)
    b_tile = b.smem_tile("b_tile", (block_n, block_k), "bf16", stages=stages, swizzle=swizzle)
    full = b.mbarriers("full", count=1, stages=stages)
    released_by = 1 if twin == "one_group_arrives" else consumers
    empty = b.mbarriers("empty", count=released_by, stages=stages)
    rows = block_m // consumers
    halves = rows // 64
    acc = [b.accumulator(f"acc{h}", n=block_n) for h in range(halves)]
    b.grid(-(-m // block_m), -(-n // block_n))
    clip = bool(m % block_m or n % block_n) and twin != "unclipped_store"
    row0, col0 = b.block_idx * block_m, b.block_idx_y * block_n
    tile_bytes = 2 * block_k * (block_m + block_n)

    registers = REGISTERS[consumers]
    if setmaxnreg:
        b.launch_bounds(registers.ctas_per_sm, maxnreg=registers.launch)

    with b.elect_thread():
        b.mbarrier.init_all(full, empty)
        b.fence.mbarrier_init()
    b.bar.sync()

    with b.specialize():
        with b.role("consumer", warps=4 * consumers):
            if setmaxnreg:
                b.setmaxnreg.inc(256 if twin == "pool_short" else registers.consumer)
            group = b.warp_in_role // 4 if consumers > 1 and twin != "same_rows" else 0
            first = group * rows
            state = b.pipeline_state(stages)
            done = b.pipeline_state(stages, name="done") if lag else state
            with b.loop(steps) as i:
                b.mbarrier.wait(full[state.stage], state.phase)
                if twin != "no_wgmma_fence":
                    b.wgmma.fence()
                meant_b = b_global.box((col0, i * block_k), (block_n, block_k))
                b_stage = b_tile[state.stage].expecting(meant_b)
                a_stages = []
                for h in range(halves):
                    meant_a = a_global.box((row0 + first + 64 * h, i * block_k), (64, block_k))
                    a_rows = a_tile[state.stage].box((first + 64 * h, 0), (64, block_k))
                    a_stages.append(a_rows.expecting(meant_a))
                for h, k0 in _slices(halves, block_k, k_order):
                    b.wgmma.mma(
                        acc[h],
                        a_stages[h].box((0, k0), (64, 16)),
                        b_stage.box((0, k0), (block_n, 16)),
                        accumulate=1 if k0 else i != 0,
                    )
                b.wgmma.commit_group()
                if twin != "no_wgmma_wait":
                    b.wgmma.wait_group(lag + (twin == "release_in_flight"))
                with b.when(i >= lag):
                    leads = b.warp_in_role % 4 if consumers > 1 else b.warp_in_role
                    if twin == "one_group_arrives":
                        leads = b.warp_in_role
                    with b.when(leads == 0), b.elect():
                        b.mbarrier.arrive(empty[done.stage])
                    if lag:
                        done.advance()
                state.advance()
            if twin != "no_final_wait":
                b.wgmma.wait_group(0)
            for h in range(halves):
                b.mem.store_accumulator(c_global, (row0 + first + 64 * h, col0), acc[h], clip=clip)
        with b.role("producer", warps=4 if setmaxnreg else 1):
            if setmaxnreg:
                _give_registers(b, registers, twin)
            with b.elect_thread() if setmaxnreg else b.elect():
                state = freed = b.pipeline_state(stages, producer=True)
                if ahead < stages:  # the release of step i - ahead is one of another stage
                    start = stages - ahead
                    freed = b.pipeline_state(stages, producer=True, start=start, name="freed")
                with b.loop(steps) as i:
                    b.mbarrier.wait(empty[freed.stage], freed.phase)
                    announced: Index = tile_bytes
                    if twin == "expect_a_only":
                        announced = 2 * block_k * block_m
                    elif twin == "expect_inside":
                        inside = minimum(m - row0, block_m) + minimum(n - col0, block_n)
                        announced = 2 * block_k * inside
                    b.mbarrier.arrive_expect_tx(full[state.stage], announced)
                    k_a = i * block_k
                    k_b = k_a + block_k if twin == "swapped_k" else k_a
                    b.tma.load(a_tile[state.stage], a_map, (row0, k_a), full[state.stage])
                    b.tma.load(b_tile[state.stage], b_map, (col0, k_b), full[state.stage])
                    if freed is not state:
                        freed.advance()
                    state.advance()
    return b.finish()


def _give_registers(b: ScheduleBuilder, registers: Registers, twin: str) -> None:
    if twin == "dec_above":
        b.setmaxnreg.dec(registers.launch + 8)
    elif twin == "warps_disagree":
        with b.when(b.warp_in_role == 0):
            b.setmaxnreg.dec(registers.producer)
        with b.when(b.warp_in_role != 0):
            b.setmaxnreg.dec(registers.producer)
    else:
        if twin == "dec_twice":
            b.setmaxnreg.dec(registers.producer + 8)
        b.setmaxnreg.dec(registers.producer)


def _slices(halves: int, block_k: int, k_order: int) -> list[tuple[int, int]]:
    """(half, first k of the slice) of every wgmma of a step, in order."""
    depth = range(0, block_k, 16)
    if k_order:
        return [(h, k0) for k0 in depth for h in range(halves)]
    return [(h, k0) for h in range(halves) for k0 in depth]


def _check(
    m: int,
    n: int,
    k: int,
    block_m: int,
    block_n: int,
    block_k: int,
    ahead: int,
    lag: int,
    consumers: int,
    k_order: int,
    setmaxnreg: int,
) -> None:
    if consumers not in (1, 2):
        raise ScheduleError(f"consumers = {consumers}", fix="use 1 or 2 consumer warpgroups")
    if block_m not in (64 * consumers, 128 * consumers):
        groups = "one warpgroup takes" if consumers == 1 else "two warpgroups take"
        raise ScheduleError(
            f"block_m = {block_m}", fix=f"{groups} {64 * consumers} or {128 * consumers} rows"
        )
    if block_n % 8 or not 8 <= block_n <= 256 or block_m * block_n > 128 * 128 * consumers:
        raise ScheduleError(
            f"block_n = {block_n} with block_m = {block_m}",
            fix="a multiple of 8 up to 256; one warpgroup holds at most 128x128 accumulators",
        )
    if k_order not in (0, 1):
        raise ScheduleError(f"k_order = {k_order}", fix="use 0 (rows outside) or 1 (k outside)")
    if setmaxnreg not in (0, 1):
        raise ScheduleError(f"setmaxnreg = {setmaxnreg}", fix="use 0 or 1")
    if block_k not in (16, 32, 64):
        raise ScheduleError(f"block_k = {block_k}", fix="use 16, 32 or 64 (swizzle span)")
    for name, size in (("m", m), ("n", n), ("k", k)):
        if size < 1:
            raise ScheduleError(f"{name} = {size}", fix="give at least 1")
    if lag not in (0, 1) or lag >= ahead:
        raise ScheduleError(
            f"lag = {lag} with loads {ahead} step{'s' * (ahead > 1)} ahead",
            fix="use 0 or 1, below the stages and the distance",
        )
