"""Time of ldmatrix, stmatrix and mma.sync: who waits for registers, who shares what."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.sim.simulate import Options, run
from tests.hw.matrix_scenarios import CLEAR
from tests.sim.schedules import H200, with_numbers

INTERVAL, LATENCY, BEHIND_PORT, PORT, OWN = 6, 33, 25, 128, 64
MACHINE = with_numbers(
    H200,
    mma={"f16_cycles": INTERVAL, "f16_latency_cycles": LATENCY},
    smem={
        "port_bytes_per_cycle": PORT,
        "load_issue_cycles": 4,
        "ldmatrix_latency_cycles": BEHIND_PORT,
        "ldmatrix_warp_bytes_per_cycle": OWN,
        "stmatrix_warp_bytes_per_cycle": OWN,
    },
)


def cycles(schedule: Schedule, *, certified: bool = True) -> float:
    return run(schedule, MACHINE, Options(certified=certified, warm=True)).end / 64


def products(count: int, *, chains: int, warps: int = 1, ctas_per_sm: int = 1) -> Schedule:
    """``count`` products of each warp onto as many sums as there are chains, in turn."""
    k = ScheduleBuilder("products")
    k.block(warps, ctas_per_sm=ctas_per_sm)
    k.grid(132 * ctas_per_sm)
    a, b = k.matrices("a", 4, "bf16"), k.matrices("b", 2, "bf16")
    acc = k.fragment("acc", registers=4 * chains)
    for frag in (a, b, acc):
        k.mem.compute(CLEAR, frag.all)
    for i in range(count):
        k.mma.sync(acc.part(i % chains * 4, 4), a.all, b.all)
    k.mem.compute(CLEAR, acc.all)
    return k.finish()


def each(*, chains: int, warps: int = 1, ctas_per_sm: int = 1, certified: bool = True) -> float:
    """Cycles of one product more, in a long run."""
    few, many = (
        cycles(
            products(n, chains=chains, warps=warps, ctas_per_sm=ctas_per_sm), certified=certified
        )
        for n in (64, 192)
    )
    return (many - few) / 128


@pytest.mark.parametrize("certified", [True, False])
@pytest.mark.parametrize(("chains", "want"), [(1, 33), (2, 16.5), (3, 11), (8, 6)])
def test_a_sum_is_waited_for(chains: int, want: float, certified: bool) -> None:
    assert each(chains=chains, certified=certified) == pytest.approx(want, abs=0.1)


@pytest.mark.parametrize(("warps", "want"), [(2, 6), (4, 6), (8, 12), (12, 18)])
def test_warps_of_a_sub_partition_take_turns(warps: int, want: float) -> None:
    assert each(chains=8, warps=warps) == pytest.approx(want, abs=0.2)


def test_ctas_of_an_sm_share_its_tensor_cores() -> None:
    assert each(chains=8, warps=4, ctas_per_sm=2) == pytest.approx(12, abs=0.2)


def loads(count: int, *, num: int = 4, warps: int = 1, used: bool = False) -> Schedule:
    """``count`` loads of each warp; ``used``: a product needs each at once."""
    k = ScheduleBuilder("loads")
    k.block(warps)
    k.grid(132)
    tile = k.smem_tile("tile", (32, 8), "bf16")
    a, b = k.matrices("a", 4, "bf16"), k.matrices("b", 2, "bf16")
    acc = k.fragment("acc", registers=4)
    for frag in (a, b, acc):
        k.mem.compute(CLEAR, frag.all)
    for _ in range(count):
        k.ldmatrix(a.matrices(0, num), tile[0].box((k.lane % (8 * num), 0), (1, 8)))
        if used:
            k.mma.sync(acc.all, a.all, b.all)
    k.mem.compute(CLEAR, a.all)
    return k.finish()


def load(**params: int | bool) -> float:
    few, many = (cycles(loads(n, **params)) for n in (64, 192))  # type: ignore[arg-type]
    return (many - few) / 128


@pytest.mark.parametrize(
    ("num", "warps", "want"),
    [
        (4, 1, 512 / OWN),  # the warp's own path
        (4, 2, 2 * 512 / PORT),
        (4, 8, 8 * 512 / PORT),
        (2, 8, 8 * 256 / PORT),
        (1, 1, 4),  # issue
    ],
)
def test_loads_by_what_they_move(num: int, warps: int, want: float) -> None:
    assert load(num=num, warps=warps) == pytest.approx(want, abs=0.1)


def test_a_product_waits_for_its_operands() -> None:
    """The load behind a product is issued once the tensor core has taken that."""
    assert load(used=True) == pytest.approx(max(LATENCY, 512 / PORT + BEHIND_PORT + 1), abs=0.1)


def test_stores_are_finished_in_order() -> None:
    def stores(count: int) -> Schedule:
        k = ScheduleBuilder("stores")
        k.block(1)
        tile, a = k.smem_tile("tile", (32, 8), "bf16"), k.matrices("a", 4, "bf16")
        k.mem.compute(CLEAR, a.all)
        for _ in range(count):
            k.stmatrix(tile[0].box((k.lane, 0), (1, 8)), a.all)
        return k.finish()

    assert (cycles(stores(80)) - cycles(stores(16))) / 64 == pytest.approx(512 / OWN, abs=0.1)
