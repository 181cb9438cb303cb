"""Stores by the sectors that they fill, what writing costs DRAM, and trains of short CTAs."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.sim.simulate import Options, run
from tests.sim.schedules import H200, with_numbers


def cycles(schedule: Schedule, *, warm: bool = False) -> float:
    return run(schedule, H200, Options(certified=True, warm=warm)).end / 64


def epilogue(columns: int, tiles: int, *, clip: bool) -> Schedule:
    """A warpgroup stores ``tiles`` accumulators of 64 x 128 below each other."""
    k = ScheduleBuilder("epilogue", archs=("sm_90a",))
    c = k.global_tensor("c", (64 * tiles, columns), "f32", output=True)
    acc = k.accumulator("acc", n=128)
    k.block(4)
    for i in range(tiles):
        k.mem.store_accumulator(c, (64 * i, 0), acc, clip=clip)
    return k.finish()


@pytest.mark.parametrize(
    ("columns", "clip", "accesses", "measured"),
    [
        (4096, False, 32, 2313 / 256),  # gstore fp32_pairs: whole sectors
        (4098, False, 32, 5515 / 256),  # the same, pitch 8 modulo 32: three of four rows straddle
        (4100, False, 32, 4376 / 256),  # pitch 16 modulo 32: every other row
        (4097, True, 64, 11941 / 512),  # fp32_halves, pitch 4 modulo 32: rows of 4 of 8 bytes
    ],
)
def test_a_store_takes_what_the_sectors_of_its_rows_take(
    columns: int, clip: bool, accesses: int, measured: float
) -> None:
    """``measured``: cycles of an instruction of one SM, by the microbenchmark."""
    more = cycles(epilogue(columns, 6, clip=clip)) - cycles(epilogue(columns, 2, clip=clip))
    each = more / (4 * 4 * accesses)
    assert each == pytest.approx(measured, rel=0.03)


def test_a_clipped_tile_is_stored_as_fast_if_rows_stay_aligned() -> None:
    plain, clipped = (cycles(epilogue(4096, 4, clip=clip)) for clip in (False, True))
    assert plain == clipped


def test_ctas_start_one_after_the_other_on_the_whole_gpu() -> None:
    """Measured: CTAs that do nothing, 16 of them on an SM, one warp or four."""

    def train(ctas: int, warps: int) -> Schedule:
        k = ScheduleBuilder("train", archs=("sm_90a",))
        k.smem_tile("tile", (96, 32), "f32")
        k.grid(ctas)
        k.block(warps)
        k.bar.sync()
        return k.finish()

    for warps in (1, 4):
        slope = (cycles(train(8000, warps)) - cycles(train(4000, warps))) / 4000
        assert slope == pytest.approx(float(H200.launch.interval_cycles), rel=0.01)


def test_what_is_written_takes_dram_from_what_is_read() -> None:
    """A long copy moves its bytes at the sum of both costs, whoever waits for them."""
    sides = {"m": 4096, "n": 4096}
    moved = 4 * 4096 * 4096
    copied = cycles(tma_copy.build(sides))
    both = moved / H200.dram.read_bytes_per_cycle + moved / H200.dram.write_bytes_per_cycle
    assert copied == pytest.approx(float(both), rel=0.05)
    free = with_numbers(H200, dram={"write_bytes_per_cycle": 10**6})
    read = run(tma_copy.build(sides), free, Options(certified=True)).end / 64
    assert read < 0.97 * copied  # what is left: the launch of 32,768 CTAs, bytes in flight


def test_what_l2_holds_from_the_launch_before_goes_to_no_dram() -> None:
    """Read lines and twice the written ones fit, or nothing stays."""
    small, large = {"m": 1024, "n": 2048}, {"m": 2048, "n": 3072}
    assert cycles(tma_copy.build(small), warm=True) < 0.75 * cycles(tma_copy.build(small))
    assert cycles(tma_copy.build(large), warm=True) == cycles(tma_copy.build(large))
