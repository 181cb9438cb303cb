"""Rows of TMA boxes that begin in the middle of a line, and stores beside wgmma and misses."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import load_machine
from asyncsim.scenarios.tma_reduce import tma_reduce
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.sim.do_store import _reading
from asyncsim.sim.rows import Rows, adjacent, rows_of, rows_of_box
from asyncsim.sim.simulate import Options, run
from tests.sim.schedules import H200

B200 = load_machine("b200")


def test_rows_by_lines_and_sectors() -> None:
    assert rows_of(128, [(128, 8192)]) == Rows(inner=128, even=128, lines=128, odd=0, sectors=512)
    assert rows_of(128, [(128, 8256)]) == Rows(inner=128, even=128, lines=192, odd=0, sectors=512)
    assert rows_of(128, [(128, 8224)]) == Rows(inner=128, even=128, lines=224, odd=0, sectors=512)
    assert rows_of(128, [(128, 8208)]) == Rows(inner=128, even=64, lines=112, odd=64, sectors=576)
    assert rows_of(128, [(2, 8192)], first=16) == Rows(
        inner=128, even=0, lines=0, odd=2, sectors=10
    )
    assert rows_of(16, [(8, 16)]) == Rows(inner=16, even=8, lines=8, odd=0, sectors=8)
    assert rows_of(256, [(4, 64)]) == Rows(inner=256, even=4, lines=10, odd=0, sectors=32)
    assert adjacent(64, 4096) == Rows(inner=64, even=64, lines=64, odd=0, sectors=128)
    assert adjacent(2000, 2000) == Rows(inner=2000, even=1, lines=16, odd=0, sectors=63)


def test_rows_of_a_box_begin_where_its_coordinates_say() -> None:
    """4 x 8 rows of a tensor of 1000 bf16 a row, 20 rows a page."""
    strides = (20_000, 1000, 1)
    assert rows_of_box((4, 8, 64), strides, 2, (0, 0, 0)) == rows_of(128, [(4, 40_000), (8, 2000)])
    moved = rows_of_box((1, 1, 64), strides, 2, (1, 3, 8))
    assert moved == rows_of(128, [], first=40_000 + 6000 + 16)
    assert (moved.even, moved.odd) == (1, 0)  # 46,016 is a sector's begin, 96 bytes into a line
    assert moved.further == 1


def loads(width: int, count: int, rows: int = 128) -> Schedule:
    """One thread loads boxes of 64 columns of a bf16 matrix, four in flight."""
    k = ScheduleBuilder("loads", archs=("sm_90a",))
    source = k.global_tensor("source", (rows, width), "bf16")
    source_map = k.tensor_map("source_map", source, box=(rows, 64))
    tiles, full = k.smem_tile("tiles", (rows, 64), "bf16", stages=4), k.mbarriers("full", count=1)
    k.block(1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 128 * rows * count)
        for i in range(count):
            k.tma.load(tiles[i % 4], source_map, (0, 0), full[0])
        k.mbarrier.wait(full[0], 0)
    return k.finish()


def cycles(schedule: Schedule, *, warm: bool = True) -> float:
    return run(schedule, H200, Options(certified=True, warm=warm)).end / 64


@pytest.mark.parametrize(
    ("width", "measured"), [(4096, 107.6), (4128, 85.19), (4112, 70.6), (4104, 44.26), (1000, 48.7)]
)
def test_the_engine_asks_for_each_line_of_a_row(width: int, measured: float) -> None:
    """``measured``: bytes a cycle of one SM, `stream_pitch`. The last one has the rows of the one
    before, in another order."""
    more = cycles(loads(width, 24)) - cycles(loads(width, 8))
    within = 0.1 if width == 1000 else 0.04
    assert 16 * 16384 / more == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(("width", "later"), [(4128, 50), (4112, 78), (4104, 185)])
def test_a_box_lands_when_the_engine_has_asked_for_it(width: int, later: int) -> None:
    """``later``: than a box whose rows begin with lines, 16 KB from L2 (`tma_latency_pitch`)."""
    assert cycles(loads(width, 1)) - cycles(loads(4096, 1)) == pytest.approx(later, rel=0.25)


def stores(width: int, count: int, op: str) -> Schedule:
    k = ScheduleBuilder("stores", archs=("sm_90a",))
    out = k.global_tensor("out", (128, width), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(128, 32))
    tile = k.smem_tile("tile", (128, 32), "f32")[0]
    k.block(1)
    with k.elect_thread():
        for _ in range(count):
            if op:
                k.tma.reduce(out_map, (0, 0), tile, op=op)
            else:
                k.tma.store(out_map, (0, 0), tile)
            k.bulk.commit_group()
        k.bulk.wait_group(0)
    return k.finish()


@pytest.mark.parametrize(
    ("width", "op", "measured"),
    [
        (2048, "", 512),
        (2064, "", 512),
        (2056, "", 512),
        (2052, "", 704),
        (2048, "add", 640),
        (2064, "add", 704),
        (2056, "add", 736),
        (2052, "add", 784),
    ],
)
def test_stores_pay_for_parts_of_sectors_reductions_for_lines(
    width: int, op: str, measured: int
) -> None:
    """``measured``: cycles of a box on one SM (`tma_store_pitch`, `sends` less its loop)."""
    more = (cycles(stores(width, 10, op)) - cycles(stores(width, 2, op))) / 8
    assert more == pytest.approx(measured, rel=0.04)


def test_stores_read_what_wgmma_leaves_of_shared_memory() -> None:
    """`mix`: bytes a cycle beside streams of one wgmma, of 32 alone."""
    sm = run(tma_ring.build({"tiles": 2, "ctas": 1}), H200, Options(certified=True)).sms[0]
    alone = 64 * 512
    assert _reading(sm, sm.tensor.free, alone) == alone
    for a_and_b, interval, measured, within in (
        (2048 + 8192, 128, 12.36, 0.04),  # N = 256
        (2048 + 4096, 64, 8.44, 0.06),
        (2048, 32, 16.74, 0.05),  # N = 64, A in registers
        (2048 + 2048, 32, 1.55, 0.14),
        (2048 + 512, 20, 1.97, 0.11),
    ):
        sm.tensor.free, sm.operand_bytes, sm.operand_ticks = 1 << 40, a_and_b, 64 * interval
        assert 16384 * 64 / _reading(sm, 0, alone) == pytest.approx(measured, rel=within)


def test_misses_wait_for_reductions() -> None:
    """`both`: half of either goes from one partition of L2 to the other, and they take turns."""
    sizes = {"ctas": 132, "outputs": 1056, "tiles": 64}
    model = run(tma_reduce.build(sizes), H200, Options(certified=True))
    rates = H200.dram.read_bytes_per_cycle, H200.tma.reduce_device_bytes_per_cycle
    turn = sum(132 * 8192 / float(rate) for rate in rates)
    assert model.end / 64 / 64 == pytest.approx(turn, rel=0.05)
    read = 64 * 132 * 8192 / float(rates[0])
    assert model.memory.dram.busy_ticks / 64 == pytest.approx(read, rel=0.01)


@pytest.mark.parametrize(
    ("size", "stages", "published"),
    [(2048, 1, 968), (8192, 1, 1258), (16384, 1, 1405), (2048, 2, 508), (8192, 2, 663)],
)
def test_a_turn_with_one_box_in_flight_takes_what_is_published_of_b200(
    size: int, stages: int, published: int
) -> None:
    """The file has the turns of one stage, less what such a loop takes beside its copy; that turns
    of two stages follow says that it is not counted twice."""
    sizes = {"tile_bytes": size, "stages": stages, "ctas": 148, "ffma": 0}
    ends = [
        run(tma_ring.build(sizes | {"tiles": n}), B200, Options(certified=True)).end / 64
        for n in (20, 60)
    ]
    within = 0.01 if stages == 1 else 0.05
    assert (ends[1] - ends[0]) / 40 == pytest.approx(published, rel=within)
