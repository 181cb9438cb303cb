"""st.async: data and their completion come to a barrier of another CTA."""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.test_clusters import assert_clean, assert_finds, rules
from tests.check.written import written


def st_async(*, waits: bool = True, expects: bool = True, fence: bool = True) -> Schedule:
    """Rank 1 sends 16 bytes a lane to rank 0, which reads them and stores them by TMA."""
    k = ScheduleBuilder("send")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    out = k.global_tensor("out", (32, 4), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(32, 4))
    source = k.global_tensor("source", (32, 4), "f32")
    cell = k.smem_tile("cell", (32, 4), "f32")[0]
    full = k.mbarriers("full", count=1)
    x = written(k, "x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        if expects:
            k.mbarrier.arrive_expect_tx(full[0], 512)
        else:
            k.mbarrier.arrive(full[0])
    k.cluster_barrier.sync()
    with k.when(k.cta_rank == 1):
        k.mem.ld_global(x.all, source.box((k.lane, 0), (1, 4)))
        k.mem.st_async(cell.at(0).box((k.lane, 0), (1, 4)), x.all, k.mbarrier.at(full[0], 0))
    with k.when(k.cta_rank == 0):
        if waits:
            k.mbarrier.wait(full[0], 0)
        if fence:
            k.fence.proxy_async("shared")
        k.bar.warp_sync()
        with k.elect():
            k.tma.store(out_map, (0, 0), cell)
            k.bulk.commit_group()
            k.bulk.wait_group(0, read=True)
    k.cluster_barrier.sync()
    return k.finish()


def test_st_async_completes_on_the_barrier_of_the_receiver() -> None:
    assert_clean(st_async())
    assert rules(check(st_async(waits=False)))[0] == "READ_BEFORE_ARRIVAL"
    assert_finds(st_async(fence=False), Rule.MISSING_PROXY_FENCE)
    assert check(st_async(expects=False)).verdict is Verdict.FINDINGS
