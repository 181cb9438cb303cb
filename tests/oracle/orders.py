"""Random small schedules of one CTA whose signals may be relaxed, with and without fences."""

from __future__ import annotations

from random import Random

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.check.written import written
from tests.oracle.rings import chance


def signals(rng: Random) -> Schedule:
    """A row goes to and fro between warps; each signal is relaxed or not, fenced or not."""
    k = ScheduleBuilder("signals")
    stages, steps, readers = rng.randint(1, 2), rng.randint(1, 4), rng.choice([1, 1, 2])
    row = k.smem_tile("row", (1, 32), "f32", stages=stages)
    by_lane = chance(rng, 0.5)  # the elected lane signals, after a warp barrier
    count = 1 if by_lane else 32
    full = k.mbarriers("full", count=count, stages=stages)
    empty = k.mbarriers("empty", count=count * readers, stages=stages)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
    k.bar.sync()

    def signal(barrier) -> None:  # type: ignore[no-untyped-def]
        relaxed, before = chance(rng, 0.6), chance(rng, 0.85)
        if relaxed and before and (by_lane or chance(rng, 0.9)):
            k.fence.acq_rel(rng.choice(["cta", "gpu"]))
        if by_lane:
            k.bar.warp_sync()
            with k.elect():
                if relaxed and before:
                    k.fence.acq_rel("cta")
                k.mbarrier.arrive(barrier, relaxed=relaxed)
        else:
            k.mbarrier.arrive(barrier, relaxed=relaxed)

    def wait(barrier, phase) -> None:  # type: ignore[no-untyped-def]
        relaxed = chance(rng, 0.4)
        k.mbarrier.wait(barrier, phase, relaxed=relaxed)
        if relaxed and chance(rng, 0.85):
            rng.choice([k.fence.acq_rel, k.fence.sc])()

    with k.specialize():
        with k.role("writer", warps=1):
            state = k.pipeline_state(stages, producer=True)
            with k.loop(steps):
                wait(empty[state.stage], state.phase)
                k.mem.st_shared(row[state.stage].box((0, k.lane), (1, 1)), x.all)
                signal(full[state.stage])
                state.advance()
        with k.role("reader", warps=readers):
            state = k.pipeline_state(stages)
            with k.loop(steps):
                wait(full[state.stage], state.phase)
                at = 31 - k.lane if chance(rng, 0.5) else k.lane
                k.mem.ld_shared(x.all, row[state.stage].box((0, at), (1, 1)))
                signal(empty[state.stage])
                state.advance()
    return k.finish()
