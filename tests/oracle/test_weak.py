"""The explorer of relaxed orders: message passing, with each of its parts left out."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from tests.check.written import written
from tests.oracle.translate import translate
from tests.oracle.weak import explore


def message(*, relaxed: str, fences: str, lanes: bool = True) -> Schedule:
    """A warp writes a row and arrives; the other one waits and reads. ``relaxed``, ``fences``: at
    the arrive (a), the wait (w). ``lanes``: a warp barrier after the fence of all lanes."""
    k = ScheduleBuilder("message")
    row, full = k.smem_tile("row", (1, 32), "f32"), k.mbarriers("full", count=1)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    k.bar.sync()
    with k.specialize():
        with k.role("writes", warps=1):
            k.mem.st_shared(row[0].box((0, k.lane), (1, 1)), x.all)
            if lanes:
                k.bar.warp_sync()
            with k.elect():
                if "a" in fences:
                    k.fence.acq_rel("cta")
                k.mbarrier.arrive(full[0], relaxed="a" in relaxed)
        with k.role("reads", warps=1):
            k.mbarrier.wait(full[0], 0, relaxed="w" in relaxed)
            if "w" in fences:
                k.fence.acq_rel("cta")
            k.mem.ld_shared(x.all, row[0].box((0, 31 - k.lane), (1, 1)))
    return k.finish()


@pytest.mark.parametrize("relaxed", ["a", "w", "aw"])
@pytest.mark.parametrize("fences", ["", "a", "w", "aw"])
def test_each_relaxed_side_needs_its_fence(relaxed: str, fences: str) -> None:
    schedule = message(relaxed=relaxed, fences=fences)
    whole = set(relaxed) <= set(fences)
    assert explore(translate(schedule), 1_000) == (set() if whole else {"race"})
    assert (check(schedule).verdict.value == "clean") is whole


def test_a_fence_of_one_lane_knows_of_others_by_a_warp_barrier() -> None:
    schedule = message(relaxed="a", fences="a", lanes=False)
    assert explore(translate(schedule), 1_000) == {"race"}
    assert check(schedule).verdict.value == "findings"
