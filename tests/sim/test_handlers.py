"""Handlers that the built-in scenarios do not use: bulk stores, named barriers, plain memory."""

from __future__ import annotations

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.sim import simulate
from asyncsim.sim.simulate import Options, run
from tests.sim.schedules import H200


def cycles(schedule: Schedule, **options: object) -> float:
    """The total, the same in every way to run it."""
    ahead = run(schedule, H200, Options(certified=True, **options)).end  # type: ignore[arg-type]
    strict = run(schedule, H200, Options(certified=False, **options)).end  # type: ignore[arg-type]
    assert ahead == strict
    return ahead / 64


def stores(n: int, rows: int, *, drain: bool) -> Schedule:
    """One lane stores a tile ``n`` times and waits after each, or once at the end."""
    k = ScheduleBuilder("stores", archs=("sm_90a",))
    out = k.global_tensor("out", (rows, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(rows, 32))
    tile = k.smem_tile("tile", (rows, 32), "f32")
    k.block(1)
    with k.elect():
        for _ in range(n):
            k.tma.store(out_map, (0, 0), tile[0])
            k.bulk.commit_group()
            if drain:
                k.bulk.wait_group(0, read=True)
        k.bulk.wait_group(0)
    return k.finish()


@pytest.mark.parametrize("rows", [8, 64, 128])
def test_a_drained_bulk_store_takes_its_bytes_and_its_latency(rows: int) -> None:
    one = cycles(stores(6, rows, drain=True)) - cycles(stores(5, rows, drain=True))
    measured = float(H200.tma.store_latency_cycles + rows * 128 / H200.tma.store_bytes_per_cycle)
    assert one == pytest.approx(measured, abs=1)


def test_bulk_stores_in_a_row_run_at_the_rate_of_the_engine() -> None:
    each = (cycles(stores(16, 128, drain=False)) - cycles(stores(8, 128, drain=False))) / 8
    assert each == pytest.approx(float(16384 / H200.tma.store_bytes_per_cycle), abs=1)


def test_a_copied_tile_takes_the_engine_for_load_and_store() -> None:
    """Measured on an H200: 645 cycles for 16 KB, the sum and no overlap."""

    def copy(n: int) -> Schedule:
        k = ScheduleBuilder("copy", archs=("sm_90a",))
        source = k.global_tensor("source", (1024, 32), "f32")
        out = k.global_tensor("out", (1024, 32), "f32", output=True)
        source_map = k.tensor_map("source_map", source, box=(128, 32))
        out_map = k.tensor_map("out_map", out, box=(128, 32))
        tile = k.smem_tile("tile", (128, 32), "f32", stages=4)
        full = k.mbarriers("full", count=1, stages=4)
        n_ = k.arg("n", n)
        k.block(1)
        with k.elect():
            k.mbarrier.init_all(full)
            k.fence.mbarrier_init()
            for s in range(3):
                k.mbarrier.arrive_expect_tx(full[s], 16384)
                k.tma.load(tile[s], source_map, (s * 128, 0), full[s])
            state, ahead = k.pipeline_state(4), k.pipeline_state(4, name="ahead")
            for _ in range(3):
                ahead.advance()
            with k.loop(n_) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                k.tma.store(out_map, (i % 8 * 128, 0), tile[state.stage])
                k.bulk.commit_group()
                k.bulk.wait_group(1, read=True)
                k.mbarrier.arrive_expect_tx(full[ahead.stage], 16384)
                k.tma.load(tile[ahead.stage], source_map, ((i + 3) % 8 * 128, 0), full[ahead.stage])
                state.advance()
                ahead.advance()
            k.bulk.wait_group(0)
        return k.finish()

    each = (cycles(copy(60), warm=True) - cycles(copy(20), warm=True)) / 40
    assert each == pytest.approx(645, rel=0.02)


def test_a_named_barrier_hands_over_from_arrivers_to_waiters() -> None:
    k = ScheduleBuilder("handover", archs=("sm_90a",))
    barrier = k.named_barrier("ready", id=1, threads=64)
    slow = ComputeDef(
        name="slow", operands=(), work=lambda: Work(chain_ffma=1000), cuda="", numpy=lambda: None
    )
    with k.specialize():
        with k.role("producer", warps=1):
            k.mem.compute(slow)
            k.bar.arrive(barrier)
        with k.role("consumer", warps=1):
            k.bar.sync(barrier)
    schedule = k.finish()
    latency = float(H200.barrier.sync_cycles + 2 * H200.barrier.sync_per_warp_cycles)
    total = cycles(schedule)
    assert total == pytest.approx(4000 + latency + 171.4 + 30, abs=1)
    stall = simulate(schedule, H200, certified=True).stalls[0]
    assert (stall.role, stall.what) == ("consumer", "bar.sync 1")
    assert stall.cycles == pytest.approx(4000, abs=1)


def test_a_block_barrier_opens_when_the_last_warp_ends_that_does_not_come() -> None:
    def leaving(*, early: bool) -> float:
        k = ScheduleBuilder("leaving", archs=("sm_90a",))
        slow = ComputeDef(
            name="slow",
            operands=(),
            work=lambda: Work(chain_ffma=1000),
            cuda="",
            numpy=lambda: None,
        )
        with k.specialize():
            with k.role("leaves", warps=1):
                if not early:
                    k.mem.compute(slow)
            with k.role("meets", warps=2):
                k.bar.sync()
                k.bar.sync()
        return cycles(k.finish())

    assert leaving(early=False) - leaving(early=True) == 4000


def compute(warps: int, work: Work) -> Schedule:
    k = ScheduleBuilder("compute", archs=("sm_90a",))
    k.block(warps)
    r = k.fragment("r", registers=1)
    defn = ComputeDef(
        name="busy",
        operands=(ComputeOperand(name="r", kind="fragment", mode=AccessMode.READ_WRITE),),
        work=lambda: work,
        cuda="",
        numpy=lambda r: None,
    )
    for _ in range(4):
        k.mem.compute(defn, r.all)
    return k.finish()


@pytest.mark.parametrize("warps", [1, 4, 8, 16])
def test_warps_of_a_sub_partition_share_its_pipes(warps: int) -> None:
    """MUFU: one warp instruction in 8 cycles on each of four sub-partitions; 9 of a warp alone."""
    alone, shared = (float(n) for n in (H200.alu.mufu_warp_cycles, H200.alu.mufu_cycles))
    mufu = 100 * max(alone, shared * -(-warps // 4))
    busy = cycles(compute(warps, Work(mufu=100))) - cycles(compute(warps, Work(alu=1)))
    assert busy == pytest.approx(4 * mufu, rel=0.01)
    assert cycles(compute(warps, Work(mufu=100)), merge=False) == pytest.approx(
        cycles(compute(warps, Work(mufu=100))), rel=0.01
    )


def test_chains_of_different_warps_overlap() -> None:
    one, many = (cycles(compute(w, Work(ffma=100, chain_ffma=100))) for w in (4, 16))
    assert many == pytest.approx(one, rel=0.01)


def test_plain_loads_wait_for_memory_and_shared_accesses_take_turns() -> None:
    def plain(n: int, *, shared: bool) -> Schedule:
        k = ScheduleBuilder("plain", archs=("sm_90a",))
        k.block(1)
        source = k.global_tensor("source", (32, 1), "f32")
        tile = k.smem_tile("tile", (32, 1), "f32")
        r = k.fragment("r", registers=1)
        for _ in range(n):
            if shared:
                k.mem.st_shared(tile[0].box((k.lane, 0), (1, 1)), r.all)
                k.mem.ld_shared(r.all, tile[0].box((k.lane, 0), (1, 1)))
            else:
                k.mem.ld_global(r.all, source.box((k.lane, 0), (1, 1)))
                k.bar.warp_sync()  # ends the run of loads that are in flight together
        return k.finish()

    load = cycles(plain(4, shared=False), warm=True) - cycles(plain(3, shared=False), warm=True)
    hit = H200.l2.latency_cycles + H200.l2.through_l1_cycles
    assert load == pytest.approx(float(hit), rel=0.02)
    pair = cycles(plain(4, shared=True)) - cycles(plain(3, shared=True))
    assert 25 <= pair <= 35  # measured: store, then load of the same address, 30 to 34


@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("kind", ["across", "along"])
def test_outer_products_take_the_sub_partition_for_reading_registers(warps: int, kind: str) -> None:
    """Beside them nothing is issued: loads and other instructions come on top."""
    each = H200.alu.ffma_across_cycles if kind == "across" else H200.alu.ffma_along_cycles
    own = 256 * each + H200.code.outer_products_cycles + 20 + 30
    work = Work(**{f"ffma_{kind}": 256}, lds=20, alu=30)
    idle = cycles(compute(warps, Work()))
    assert cycles(compute(warps, work)) - idle == pytest.approx(4 * warps / 4 * float(own), abs=1)


def test_loads_of_outer_products_lie_among_them() -> None:
    """Other computations load everything first."""
    bytes_ = 64 * 256
    moving = float(bytes_ / H200.smem.warp_bytes_per_cycle)

    def loads_cost(work: Work, loading: Work) -> float:
        return (cycles(compute(4, loading)) - cycles(compute(4, work))) / 4

    plain = loads_cost(Work(ffma=4000), Work(ffma=4000, lds_bytes=bytes_))
    outer = loads_cost(Work(ffma_across=4000), Work(ffma_across=4000, lds_bytes=bytes_))
    assert plain == pytest.approx(moving, abs=1)
    assert outer == 0
