"""What a stamp takes: kernels that do nothing but cheap ops, stamped and not.

No scenario is among them, so that what simulate adds for a stamp is not fitted to what it is
compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stamped import StampCost
from asyncsim.scenarios.tile_hash import HASH_INIT

ROUNDS, EACH = 64, 8


def stamp_benchmarks() -> Mapping[str, Schedule]:
    """By name: one warp and four, with ops that are over at once."""
    kinds: dict[str, Callable[[int], Schedule]] = {
        "bar.sync": _barriers,
        "commit_group": _groups,
        "mbarrier": _phases,
    }
    return {f"{name}, {w} warps": build(w) for name, build in kinds.items() for w in (1, 4)}


def stamps_of(name: str) -> int:
    """How many stamps each warp leaves in the loop of a benchmark."""
    return ROUNDS * EACH * (2 if name.startswith("mbarrier") else 1)


def stamp_cost(longer: Mapping[str, float]) -> StampCost:
    """Cycles of a stamp, from by how many cycles each benchmark is longer with its stamps: the mean
    of one warp and four."""

    def mean(kind: str) -> float:
        each = [c / stamps_of(name) for name, c in longer.items() if name.startswith(kind)]
        return sum(each) / len(each)

    return StampCost(
        mbarrier=mean("mbarrier"), barrier=mean("bar.sync"), other=mean("commit_group")
    )


def _begun(name: str, warps: int) -> ScheduleBuilder:
    k = ScheduleBuilder(f"stamps_{name}", archs=("sm_90a",))
    k.grid(1)
    k.block(warps)
    return k


def _finished(k: ScheduleBuilder, warps: int) -> Schedule:
    result = k.global_tensor("result", (1, 32 * warps), "u32", output=True)
    hash_, unit = k.fragment("hash", registers=1, dtype="u32"), k.fragment("unit", registers=2)
    k.mem.compute(HASH_INIT, hash_.all, unit.all, 1)
    k.mem.st_global(result.box((0, k.thread_in_role), (1, 1)), hash_.all)
    return k.finish()


def _barriers(warps: int) -> Schedule:
    k = _begun("bar", warps)
    with k.loop(ROUNDS):
        for _ in range(EACH):
            k.bar.sync()
    return _finished(k, warps)


def _groups(warps: int) -> Schedule:
    k = _begun("group", warps)
    with k.loop(ROUNDS):
        for _ in range(EACH):
            k.cp_async.commit_group()
    return _finished(k, warps)


def _phases(warps: int) -> Schedule:
    """Each phase is completed by all threads, and waited for by all."""
    k = _begun("phase", warps)
    barrier = k.mbarriers("barrier", count=32 * warps, stages=1)
    with k.elect_thread():
        k.mbarrier.init_all(barrier)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.loop(ROUNDS):
        for i in range(EACH):
            k.mbarrier.arrive(barrier[0])
            k.mbarrier.wait(barrier[0], i % 2)
    return _finished(k, warps)
