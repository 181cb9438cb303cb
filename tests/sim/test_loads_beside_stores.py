"""Loads that miss beside stores to DRAM, on all SMs."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.decl import ComputeDef, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.sim.simulate import Options, run
from tests.sim.schedules import H200

SIZE = 2048
PAUSES = 60  # cycles of a turn of a sending thread beside its pause


def beside(turns: int, pace: int) -> Schedule:
    """A thread of each SM loads boxes of 2 KB, one at a time; another one stores 2 KB once in
    ``pace`` cycles, by what it computes between."""
    k = ScheduleBuilder("beside", archs=("sm_90a",))
    n = k.arg("turns", turns)
    sent = turns * 900 // pace if pace else 0
    source = k.global_tensor("source", (132 * turns, SIZE // 4), "u32")
    out = k.global_tensor("out", (132 * max(1, sent), SIZE // 4), "u32", output=True)
    tile, ready = k.smem_tile("tile", (1, SIZE // 4), "u32", stages=2), k.mbarriers("full", count=1)
    pause = ComputeDef(
        name="pause",
        operands=(),
        work=lambda: Work(chain_ffma=max(0, pace - PAUSES) // 4),
        cuda="",
        numpy=lambda: None,
    )
    k.grid(132)
    with k.elect_thread():
        k.mbarrier.init_all(ready)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("loads", warps=1), k.elect():
            state = k.pipeline_state(1)
            with k.loop(n) as i:
                k.mbarrier.arrive_expect_tx(ready[0], SIZE)
                k.bulk.load(tile[0], source.box((k.block_idx * n + i, 0), (1, SIZE // 4)), ready[0])
                k.mbarrier.wait(ready[0], state.phase)
                state.advance()
        with k.role("sends", warps=1), k.loop(sent) as i:
            k.mem.compute(pause)
            with k.elect():
                k.bulk.store(out.box((k.block_idx * sent + i, 0), (1, SIZE // 4)), tile[1])
                k.bulk.commit_group()
                k.bulk.wait_group(2, read=True)
    return k.finish()


def landing(pace: int) -> float:
    """Cycles from load to load, while the other thread stores."""
    means = []
    for turns in (20, 60):
        model = run(beside(turns, pace), H200, Options(certified=True))
        lives = [
            end - start
            for _, index, start, end, _ in model.finished
            if model.classes[index].role == "loads"
        ]
        means.append(sum(lives) / len(lives) / 64)
    return (means[1] - means[0]) / 40


@pytest.mark.parametrize(
    ("pace", "measured", "later"), [(512, 987, 80), (256, 1293, 200), (192, 1461, 300)]
)
def test_loads_land_later_by_what_is_on_its_way_to_dram(
    pace: int, measured: int, later: int
) -> None:
    """``measured``: `both`, paced; ``later``: than alone, at least."""
    taken = landing(pace)
    assert taken == pytest.approx(measured, rel=0.15)
    assert taken > landing(0) + later
