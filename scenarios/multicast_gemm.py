"""multicast_gemm: cooperative_gemm in clusters of ``cluster_m`` x ``cluster_n`` CTAs.

The CTAs of a row of the cluster need the same tile of A, those of a column the same tile of B. Each
brings its part of the rows and multicasts it to all of them, so that L2 is read once. Their stages
fill together: each CTA announces the bytes of whole tiles on its own barrier, whoever brings them.
And they empty together: a warpgroup releases a stage in every CTA that writes into it. The CTAs
meet before the first copy, which needs the barriers of its peers, and before they exit, since a
peer may still arrive.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.build.pipeline import PipelineState
from asyncsim.build.value import Index
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import OneCtaPerSm, Stages, TileM, TileN, Twin, Warpgroups, scenario
from asyncsim.scenarios.gemm_epilogue import Epilogue, c_type
from asyncsim.scenarios.gemm_operands import Blocks, Operands, Roles
from asyncsim.scenarios.gemm_raster import Raster

TWINS = (
    Twin(
        name="own_part_announced",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="a CTA announces the bytes that it copies, not those that its peers bring as well",
    ),
    Twin(
        name="released_at_home",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="a stage is released in the own CTA only; a peer overwrites it",
    ),
    Twin(
        name="mask_of_column",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="A goes to the CTAs of the column, not of the row",
        params={"cluster_m": 2, "cluster_n": 2, "ctas": 4},
    ),
    Twin(
        name="peers_not_started",
        rule=Rule.PEER_NOT_STARTED,
        summary="the CTAs do not meet before the first multicast",
    ),
    Twin(
        name="early_exit",
        rule=Rule.PEER_EXITED,
        summary="the CTAs do not meet before they exit: a release comes to one that is gone",
    ),
)


@scenario(
    summary="persistent GEMM of clusters: TMA multicast of A and B, stored by TMA",
    archs=("sm_90a",),
    twins=TWINS,
)
def multicast_gemm(
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    block_m: TileM = 128,
    block_n: TileN = 256,
    block_k: int = 64,
    cluster_m: Warpgroups = 2,
    cluster_n: Warpgroups = 1,
    stages: Stages = 4,
    lag: int = 1,
    buffers: int = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 132,
    band: int = 8,
    consumers: Warpgroups = 2,
    setmaxnreg: int = 1,
    narrow: int = 0,
    twin: str = "",
) -> Schedule:
    blocks = Blocks(
        m=m,
        n=n,
        k=k,
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        stages=stages,
        lag=lag,
        warpgroups=consumers,
    )
    if narrow not in (0, 1):
        raise ScheduleError(f"narrow = {narrow}", fix="0 releases at cluster scope, 1 at CTA scope")
    size = _cluster_ctas(blocks, cluster_m, cluster_n, ctas)
    raster = Raster(
        -(-blocks.rows // cluster_m), -(-blocks.columns // cluster_n), band, ctas // size
    )
    b = ScheduleBuilder("multicast_gemm", archs=("sm_90a",))
    steps = b.arg("steps", blocks.steps)
    tiles = b.arg("tiles", raster.tiles)
    writers = 1 if twin == "released_at_home" else cluster_m + cluster_n - 1
    shared = (cluster_n, cluster_m)
    operands = Operands.declare(b, blocks, released_by=consumers * writers, shared=shared)
    c = b.global_tensor("c", (m, n), c_type(f32), output=True)
    consumers_meet = b.named_barrier("consumers_meet", id=1, threads=128 * consumers)
    epilogue = Epilogue.declare(
        b,
        blocks,
        c_type(f32),
        buffers=buffers,
        meet=lambda: b.bar.sync(consumers_meet),
        twin=twin,
    )
    c_map = epilogue.map_of(c)
    acc = [b.accumulator(f"acc{h}", n=block_n) for h in range(blocks.halves)]
    b.grid(raster.ctas * size)
    b.cluster(size)
    number = b.block_idx // size  # of the cluster
    in_row, in_column = b.cta_rank % cluster_m, b.cta_rank // cluster_m  # where the CTA stands
    own_tiles = (tiles - number + (raster.ctas - 1)) // raster.ctas
    scope = "cta" if narrow else "cluster"

    def corner(t: Index) -> tuple[Index, Index]:
        """Of the CTA's tile, of the t-th block of tiles of the cluster."""
        row, column = raster.place(number + t * raster.ctas)
        return (row * cluster_m + in_row) * block_m, (column * cluster_n + in_column) * block_n

    def release(done: PipelineState) -> None:
        """One lane of the warpgroup arrives at every CTA that writes into the stage."""
        row = [in_row + cluster_m * ((in_column + j) % cluster_n) for j in range(cluster_n)]
        column = [(in_row + i) % cluster_m + cluster_m * in_column for i in range(1, cluster_m)]
        ranks = [b.cta_rank] if twin == "released_at_home" else [*row, *column]
        with b.when(b.warp_in_role % 4 == 0), b.elect():
            for rank in ranks:
                at = b.mbarrier.at(operands.empty[done.stage], rank)
                b.mbarrier.arrive(at, scope=scope)

    def fetch(state: PipelineState, row0: Index, col0: Index, k0: Index) -> None:
        """Bring this CTA's parts to all that need them."""
        full = operands.full[state.stage]
        b.mbarrier.wait(operands.empty[state.stage], state.phase, scope=scope)
        announced = blocks.stage_bytes
        if twin == "own_part_announced":
            announced = 2 * block_k * (block_m // cluster_n + block_n // cluster_m)
        b.mbarrier.arrive_expect_tx(full, announced)
        part, rows = in_column * (block_m // cluster_n), block_m // cluster_n
        row_mask = sum(1 << cluster_m * j for j in range(cluster_n)) << in_row
        column_mask = ((1 << cluster_m) - 1) << cluster_m * in_column
        b.tma.load(
            operands.a_tile[state.stage].box((part, 0), (rows, block_k)),
            operands.a_map,
            (row0 + part, k0),
            full,
            multicast=column_mask if twin == "mask_of_column" else row_mask,
        )
        part, rows = in_row * (block_n // cluster_m), block_n // cluster_m
        b.tma.load(
            operands.b_tile[state.stage].box((part, 0), (rows, block_k)),
            operands.b_map,
            (col0 + part, k0),
            full,
            multicast=column_mask,
        )
        state.advance()

    def leave() -> None:
        if twin != "early_exit":
            b.cluster_barrier.sync()

    roles = Roles(b, consumers, setmaxnreg)
    operands.init(meet=b.bar.sync if twin == "peers_not_started" else b.cluster_barrier.sync)

    with b.specialize():
        with roles.consumers():
            first_row = b.warp_in_role // 4 * (block_m // consumers)
            state = b.pipeline_state(stages)
            done = b.pipeline_state(stages, name="done") if lag else state
            with b.loop(own_tiles, name="t") as t:
                row0, col0 = corner(t)
                with b.loop(steps) as i:
                    operands.multiply(state, acc, first_row, (row0, col0), i)
                    b.wgmma.wait_group(lag)
                    with b.when(i >= lag):
                        release(done)
                        if lag:
                            done.advance()
                    state.advance()
                b.wgmma.wait_group(0)
                if lag:
                    release(done)
                    done.advance()
                epilogue.store(
                    acc,
                    first_row,
                    lambda column, strip: b.tma.store(c_map, (row0, col0 + column), strip),
                )
            epilogue.drain()
            leave()
        with roles.producer(tail=leave):
            state = b.pipeline_state(stages, producer=True)
            with b.loop(own_tiles, name="t") as t:
                row0, col0 = corner(t)
                with b.loop(steps) as i:
                    fetch(state, row0, col0, i * block_k)
    return b.finish()


def _cluster_ctas(blocks: Blocks, cluster_m: int, cluster_n: int, ctas: int) -> int:
    """CTAs of a cluster. Raises ScheduleError."""
    size = cluster_m * cluster_n
    if cluster_m not in (1, 2, 4) or cluster_n not in (1, 2, 4) or not 2 <= size <= 8:
        raise ScheduleError(
            f"cluster of {cluster_m}x{cluster_n} CTAs",
            fix="1, 2 or 4 each, 2 to 8 together; cooperative_gemm has no clusters",
        )
    if blocks.block_m % (8 * cluster_n) or blocks.block_n % (8 * cluster_m):
        raise ScheduleError(
            f"tiles of {blocks.block_m}x{blocks.block_n} in a cluster of {cluster_m}x{cluster_n}",
            fix="each CTA brings a part of the rows that is a multiple of 8 (swizzle atom)",
        )
    if ctas < size:
        raise ScheduleError(f"ctas = {ctas}", fix=f"a cluster has {size}")
    return size
