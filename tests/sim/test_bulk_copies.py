"""Times of bulk copies without a tensor map, of copies between CTAs, and of prefetches."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.tma_reduce import tma_reduce
from asyncsim.sim.simulate import Options, run
from tests.sim.schedules import H200, with_numbers

TMA = H200.tma
FENCES = {"cta": H200.fence.cta_cycles, "cluster": H200.fence.gpu_cycles}


def cycles(schedule: Schedule, *, warm: bool = True, certified: bool = True) -> float:
    return run(schedule, H200, Options(certified=certified, warm=warm)).end / 64


def stores(size: int, *, reduce: bool = False, mapped: bool = False, count: int = 1) -> Schedule:
    """``count`` stores of ``size`` bytes by one thread, one after the other."""
    k = ScheduleBuilder("stores", archs=("sm_90a",))
    k.block(1)
    width = size // 4
    out = k.global_tensor("out", (256, 64), "u32", output=True)
    rows = width // 64
    out_map = k.tensor_map("out_map", out, box=(rows, 64))
    tile = k.smem_tile("tile", (rows, 64), "u32")[0]
    with k.elect_thread():
        for _ in range(count):
            if mapped:
                k.tma.store(out_map, (0, 0), tile)
            elif reduce:
                k.bulk.reduce(out.box((0, 0), (rows, 64)), tile, op="add")
            else:
                k.bulk.store(out.box((0, 0), (rows, 64)), tile)
            k.bulk.commit_group()
            k.bulk.wait_group(0)
    return k.finish()


@pytest.mark.parametrize("size", [1024, 16384])
def test_a_store_takes_its_bytes_and_a_latency(size: int) -> None:
    """One more: 67 + bytes / 32, a tensor store 58 + bytes / 32, a reduction 67 + bytes / 25.6."""
    for reduce, mapped, rate, latency in (
        (False, False, TMA.store_bytes_per_cycle, TMA.bulk_store_latency_cycles),
        (False, True, TMA.store_bytes_per_cycle, TMA.store_latency_cycles),
        (True, False, TMA.reduce_bytes_per_cycle, TMA.bulk_store_latency_cycles),
    ):
        two, one = (cycles(stores(size, reduce=reduce, mapped=mapped, count=n)) for n in (2, 1))
        assert two - one == pytest.approx(float(size / rate + latency), abs=0.5)


def loads(size: int, *, mapped: bool, count: int) -> Schedule:
    k = ScheduleBuilder("loads", archs=("sm_90a",))
    k.block(1)
    source = k.global_tensor("source", (256, 64), "u32")
    rows = size // 256
    source_map = k.tensor_map("source_map", source, box=(rows, 64))
    tile, full = k.smem_tile("tile", (rows, 64), "u32")[0], k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        for i in range(count):
            k.mbarrier.arrive_expect_tx(full[0], size)
            if mapped:
                k.tma.load(tile, source_map, (0, 0), full[0])
            else:
                k.bulk.load(tile, source.box((0, 0), (rows, 64)), full[0])
            k.mbarrier.wait(full[0], i % 2)
    return k.finish()


def test_a_load_without_a_map_is_a_load_without_a_descriptor() -> None:
    plain, mapped = (
        [cycles(loads(8192, mapped=mapped, count=n)) for n in (1, 2)] for mapped in (False, True)
    )
    assert mapped[0] - plain[0] == pytest.approx(float(TMA.descriptor_first_use_cycles), abs=1)
    assert mapped[1] - mapped[0] == pytest.approx(plain[1] - plain[0], abs=0.1)


def sends(size: int, count: int, *, strict: bool = False) -> float:
    """Cycles of ``count`` sends of ``size`` bytes to the other CTA, each waited for there."""
    k = ScheduleBuilder("sends", archs=("sm_90a",))
    k.grid(2)
    k.cluster(2)
    k.block(1)
    rows = size // 256
    tiles = k.smem_tile("tiles", (rows, 64), "u32", stages=2)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], size * count)
    k.cluster_barrier.sync()
    with k.elect_thread():
        for _ in range(count):
            k.bulk.send(
                tiles[1].at(1 - k.cta_rank), tiles[0], k.mbarrier.at(full[0], 1 - k.cta_rank)
            )
        k.mbarrier.wait(full[0], 0, scope="cluster")
    k.cluster_barrier.sync()
    return cycles(k.finish(), certified=not strict)


def test_sends_take_turns_in_the_engine() -> None:
    """The wait polls: over many sends its period does not count."""
    more = (sends(4096, 45) - sends(4096, 5)) / 40
    assert more == pytest.approx(4096 / float(TMA.send_bytes_per_cycle), rel=0.02)
    assert sends(4096, 5) == pytest.approx(sends(4096, 5, strict=True), abs=0.1)


def test_all_sms_reduce_at_the_pace_of_l2() -> None:
    """Into lines apart, 132 SMs could send more than L2 takes; DRAM takes no part."""
    sizes = {"ctas": 132, "outputs": 132, "tiles": 32}
    model = run(tma_reduce.build(sizes), H200, Options(certified=True, warm=True, exact=True))
    moved = 132 * 32 * 8192
    assert model.end / 64 > moved / float(TMA.reduce_device_bytes_per_cycle)
    read = moved / float(H200.dram.read_bytes_per_cycle)
    assert model.memory.dram.busy_ticks / 64 <= 1.001 * read


def test_reductions_into_a_small_tensor_take_turns() -> None:
    """Its lines are in few parts of L2: into one tile at a sixth of the pace of lines apart."""
    sizes = {"ctas": 132, "tiles": 32}
    one, eight = (
        run(tma_reduce.build(sizes | {"outputs": n}), H200, Options(certified=True, warm=True)).end
        for n in (1, 8)
    )
    taken = 8192 / float(TMA.reduce_device_bytes_per_cycle)
    crowded = [taken + float(TMA.reduce_crowded_cycles.at(n * 8192)) for n in (1, 8)]
    assert one / 64 == pytest.approx(132 * 32 * crowded[0], rel=0.03)
    assert one / eight > 0.8 * crowded[0] / crowded[1]


def ahead(prefetch: str) -> Schedule:
    """A box that is loaded long after the kernel begins."""
    k = ScheduleBuilder("ahead", archs=("sm_90a",))
    k.block(1)
    source = k.global_tensor("source", (64, 64), "u32")
    source_map = k.tensor_map("source_map", source, box=(16, 64))
    tile, full = k.smem_tile("tile", (16, 64), "u32")[0], k.mbarriers("full", count=1)
    with k.elect_thread():
        if prefetch in ("map", "both"):
            k.tma.prefetch_map(source_map)
        if prefetch in ("box", "both"):
            k.tma.prefetch(source_map, (16, 0))
        if prefetch == "run":
            k.bulk.prefetch(source.box((16, 0), (16, 64)))
        for _ in range(10):
            k.fence.sc()
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 4096)
        k.tma.load(tile, source_map, (16, 0), full[0])
        k.mbarrier.wait(full[0], 0)
    return k.finish()


def test_a_prefetch_leaves_the_latency_of_l2() -> None:
    none, map_, box, run_, both = (
        cycles(ahead(what), warm=False) for what in ("", "map", "box", "run", "both")
    )
    issue, first_use = float(TMA.issue_cycles), float(TMA.descriptor_first_use_cycles)
    dram = float(TMA.landing_dram_cycles.at(4096))
    l2 = float(TMA.latency_l2_cycles + 4096 / TMA.fill_bytes_per_cycle)
    assert none - map_ == pytest.approx(first_use - issue, abs=1)
    assert none - run_ == pytest.approx(dram - l2 - issue, abs=1)
    assert none - box == pytest.approx(first_use + dram - l2 - issue, abs=1)  # it needs the map
    assert none - both == pytest.approx(first_use + dram - l2 - 2 * issue, abs=1)


def test_a_prefetch_brings_the_bytes_once() -> None:
    free = with_numbers(H200, dram={"read_bytes_per_cycle": 10**6})
    busy = [
        run(ahead(what), H200, Options(certified=True)).memory.dram.busy_ticks
        for what in ("", "both")
    ]
    assert busy[0] == busy[1] > run(ahead(""), free, Options(certified=True)).memory.dram.busy_ticks


@pytest.mark.parametrize("scope", ["cta", "cluster"])
@pytest.mark.parametrize("sc", [False, True])
def test_a_fence_takes_what_its_scope_takes(scope: str, sc: bool) -> None:
    def fences(count: int) -> Schedule:
        k = ScheduleBuilder("fences", archs=("sm_90a",))
        k.block(1)
        with k.elect_thread():
            for _ in range(count):
                if sc:
                    k.fence.sc(scope)
                else:
                    k.fence.acq_rel(scope)
        return k.finish()

    more = cycles(fences(5)) - cycles(fences(4))
    assert more == pytest.approx(float(FENCES[scope]), abs=0.1)
