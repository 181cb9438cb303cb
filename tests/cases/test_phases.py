"""Parities of hand-written kernels: phases that are not carried, and waits that start wrong."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleError
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import Case, found


def guarded_by_the_step(*, tiles: int, carried: bool) -> Schedule:
    """A producer that waits, and flips, only from step ``depth`` of each tile on."""
    depth, steps = 2, 3
    c = Case(cells=depth)
    k = c.k
    full, empty = c.bars("full", stages=depth), c.bars("empty", stages=depth)
    c.start()
    with k.specialize():
        with c.thread("consumer"), k.loop(tiles * steps, name="g") as g:
            k.mbarrier.wait(full[g % depth], g // depth % 2)
            c.read(g, g % depth)
            c.release(empty[g % depth])
        with c.thread("producer"):
            phases = [k.var(f"phase{s}") for s in range(depth)]
            with k.loop(tiles, name="tile") as tile, k.loop(steps, name="i") as i:
                g = tile * steps + i
                used = (tile > 0) | (i >= depth) if carried else i >= depth
                for s, phase in enumerate(phases):
                    with k.when(used & (g % depth == s)):
                        k.mbarrier.wait(empty[s], phase)
                        phase.set(phase ^ 1)
                c.load(full[g % depth], g, g % depth)
    return k.finish()


def test_a_producer_that_restarts_its_guard_with_each_tile() -> None:
    assert found(guarded_by_the_step(tiles=1, carried=False)) == []
    assert found(guarded_by_the_step(tiles=2, carried=True)) == []
    assert found(guarded_by_the_step(tiles=2, carried=False)) == [
        "WRITE_BEFORE_RELEASE",
        "EARLY_COMPLETION",
    ]


def peeled_tail(*, tiles: int, steps: int, toggles: bool) -> Schedule:
    """The last wait of a tile is peeled; it may forget to toggle the phase."""
    c = Case()
    k = c.k
    ready, back = c.bars("ready"), c.bars("back")
    c.start()
    with k.specialize():
        with c.thread("mma"):
            phase = k.var("phase")
            with k.loop(tiles, name="tile"), k.loop(steps) as i:
                k.mbarrier.wait(ready[0], phase)
                k.mbarrier.arrive(back[0])
                with k.when(i < steps - (0 if toggles else 1)):
                    phase.set(phase ^ 1)
        with c.thread("compute"), k.loop(tiles * steps, name="g") as g:
            k.mbarrier.wait(back[0], (g + 1) % 2)
            k.mbarrier.arrive(ready[0])
    return k.finish()


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_a_peeled_tail_that_does_not_toggle(steps: int) -> None:
    assert found(peeled_tail(tiles=1, steps=steps, toggles=False)) == []
    assert found(peeled_tail(tiles=2, steps=steps, toggles=True)) == []
    assert found(peeled_tail(tiles=2, steps=steps, toggles=False)) == ["LAPPED_WAITER"]


def barriers_used_once(*, by_use: bool) -> Schedule:
    """Four barriers, each used once; the parity follows the step, or the uses of the barrier."""
    c = Case(cells=4)
    k = c.k
    done = c.bars("done", stages=4)
    c.start()
    with k.specialize(), c.thread("t"), k.loop(4) as s:
        c.load(done[s], s, s)
        k.mbarrier.wait(done[s], 0 if by_use else s & 1)
        c.read(s, s)
    return k.finish()


def test_a_parity_of_the_step_on_barriers_used_once() -> None:
    assert found(barriers_used_once(by_use=True)) == []
    assert found(barriers_used_once(by_use=False)) == ["DEADLOCK"]


def rendezvous(*, steps: int, tiles: int, carried: bool, stages: int = 2) -> Schedule:
    """Two threads meet before each step on a barrier of the stage, for tiles of ``steps``."""
    c = Case()
    k = c.k
    meet = c.bars("meet", count=2, stages=stages)
    c.start()
    with k.specialize():
        for name in ("leader", "follower"):
            with c.thread(name), k.loop(tiles, name="tile") as tile, k.loop(steps) as i:
                g = tile * steps + i if carried else i
                k.mbarrier.arrive(meet[g % stages])
                k.mbarrier.wait(meet[g % stages], g // stages % 2)
    return k.finish()


@pytest.mark.parametrize("steps", [2, 3, 4, 5])
def test_a_rendezvous_whose_phase_restarts_with_each_tile(steps: int) -> None:
    assert found(rendezvous(steps=steps, tiles=2, carried=True)) == []
    assert found(rendezvous(steps=steps, tiles=1, carried=False)) == []
    expected = [] if steps == 4 else ["LAPPED_WAITER"]
    assert found(rendezvous(steps=steps, tiles=2, carried=False)) == expected


def counted(*, bit: bool) -> Schedule:
    """A consumer that passes a counter, or its last bit, as parity."""
    c = Case()
    k = c.k
    full, empty = c.bars("full"), c.bars("empty")
    c.start()
    with k.specialize():
        with c.thread("consumer"), k.loop(5) as i:
            k.mbarrier.wait(full[0], i & 1 if bit else i)
            k.mbarrier.arrive(empty[0])
        with c.thread("producer"), k.loop(5) as i:
            k.mbarrier.wait(empty[0], (i & 1) ^ 1)
            k.mbarrier.arrive(full[0])
    return k.finish()


def test_a_counter_as_parity() -> None:
    assert found(counted(bit=True)) == []
    assert found(counted(bit=False)) == ["PARITY_OUT_OF_RANGE"]
    c = Case()
    full = c.bars("full")
    c.start()
    c.k.mbarrier.wait(full[0], 2)
    with pytest.raises(ScheduleError, match="parity") as caught:
        c.k.finish()
    assert caught.value.rule is Rule.PARITY_OUT_OF_RANGE


def first_parities(*, producer: int, consumer: int) -> Schedule:
    """A slot of one, with the parities that both sides start from."""
    c = Case()
    k = c.k
    full, empty = c.bars("full"), c.bars("empty")
    c.start()
    with k.specialize():
        with c.thread("consumer"), k.loop(4) as i:
            k.mbarrier.wait(full[0], (i + consumer) % 2)
            c.read(i)
            c.release(empty[0])
        with c.thread("producer"), k.loop(4) as i:
            k.mbarrier.wait(empty[0], (i + producer) % 2)
            c.load(full[0], i)
    return k.finish()


def test_the_parities_that_a_ring_starts_from() -> None:
    assert found(first_parities(producer=1, consumer=0)) == []
    assert found(first_parities(producer=0, consumer=0)) == ["DEADLOCK"]
    assert found(first_parities(producer=1, consumer=1)) == ["VACUOUS_WAIT"]
