"""Every mutant of a small schedule, as the difference of the text forms."""

from __future__ import annotations

from collections.abc import Callable
from difflib import ndiff

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.text import schedule_text
from tests.ir.every_op import every_op
from tests.mutants.mutants import Mutant, mutants, streams


def small() -> Schedule:
    """Two warps; ops at the edge of an elect, a loop and a condition."""
    k = ScheduleBuilder("small")
    k.block(2)
    b = k.mbarriers("b", count=2, stages=2)
    with k.elect_thread():
        k.mbarrier.init_all(b)
    k.bar.sync()
    with k.loop(3) as i:
        k.mbarrier.wait(b[i % 2], 1)
        with k.when(i > 0), k.elect():
            k.mbarrier.arrive(b[0])
            k.fence.proxy_async("shared")
    k.cp_async.wait_group(1)
    return k.finish()


def difference(before: Schedule, mutant: Mutant) -> list[str]:
    """The lines of the text form that change; of an op that others run, who runs it."""
    if mutant.change == "lanes":
        after = next(op for op in mutant.schedule.ops() if op.id == mutant.op.id)
        return [f"  #{after.id} is run by: {mutant.op.scope.value} -> {after.scope.value}"]
    lines = ndiff(_lines(before), _lines(mutant.schedule))
    return [line for line in lines if line[0] in "+-"]


def _lines(schedule: Schedule) -> list[str]:
    return [line.rsplit("  ", 1)[0].rstrip() for line in schedule_text(schedule).splitlines()[6:]]


def test_mutants_of_a_small_schedule(golden: Callable[[str, str], None]) -> None:
    schedule = small()
    text = []
    for m in mutants(schedule):
        text += [f"{type(m.op).__name__} #{m.op.id} {m.change}", *difference(schedule, m)]
    golden("small_mutants.txt", "\n".join(text) + "\n")


def test_every_op_that_synchronises_has_mutants() -> None:
    schedule = every_op()
    found = {type(m.op).__name__ for m in mutants(schedule)}
    silent = {type(op).__name__ for op in schedule.ops()} - found
    hints = {"BulkPrefetch", "TmaPrefetch", "PrefetchTensorMap", "TensormapReplace"}
    hints |= {"GriddepcontrolLaunchDependents"}
    plain = {"WgmmaMmaAsync", "LdGlobal", "StGlobal", "AtomAdd", "LdShared", "StShared", "Compute"}
    assert silent == hints | plain


def test_a_mutant_is_another_schedule_and_the_original_stays() -> None:
    schedule, again = small(), small()
    made = list(mutants(schedule))
    assert all(m.schedule != schedule for m in made)
    assert streams(schedule) == streams(again)


def test_equal_streams_know_no_names() -> None:
    """Moving the last op of a loop body past it is no change where the loop runs once."""
    k = ScheduleBuilder("once")
    b = k.mbarriers("b", count=32)
    with k.elect_thread():
        k.mbarrier.init_all(b)
    k.bar.warp_sync()
    with k.loop(1):
        k.mbarrier.arrive(b[0])
        k.mbarrier.wait(b[0], 0)
    schedule = k.finish()
    base = streams(schedule)
    same = {
        (type(m.op).__name__, m.change) for m in mutants(schedule) if streams(m.schedule) == base
    }
    assert same == {("MbarrierArrive", "up"), ("MbarrierWait", "down"), ("MbarrierInit", "warps")}
