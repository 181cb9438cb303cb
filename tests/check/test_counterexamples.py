"""The small programs that shaped the certificate, and the rings and rendezvous known exactly."""

from __future__ import annotations

import re

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.build import Value
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from tests.check.written import written

Builder = ScheduleBuilder


class Small:
    """Roles of one elected lane over single mbarriers and 16-byte cells."""

    def __init__(self, counts: dict[str, int], cells: int = 1) -> None:
        self.k = k = ScheduleBuilder("small")
        self.source = k.global_tensor("source", (64, 4), "f32")
        self.map = k.tensor_map("source_map", self.source, box=(1, 4))
        self.buf = k.smem_tile("buf", (1, 4), "f32", stages=cells)
        self.bars = {name: k.mbarriers(name, count=n) for name, n in counts.items()}
        self.reg = written(k, "reg", registers=4)

    def init(self) -> None:
        k = self.k
        with k.elect_thread():
            k.mbarrier.init_all(*self.bars.values())
            k.fence.mbarrier_init()
        k.bar.sync()

    def copy(self, bar: str, row: int = 0, cell: int = 0) -> None:
        self.k.tma.load(self.buf[cell], self.map, (row, 0), self.bars[bar][0])

    def read(self, row: int = 0, cell: int = 0) -> None:
        view = self.buf[cell].expecting(self.source.box((row, 0), (1, 4)))
        self.k.mem.ld_shared(self.reg.all, view)

    def arrive(self, bar: str, count: int = 1) -> None:
        self.k.mbarrier.arrive(self.bars[bar][0], count)

    def expect(self, bar: str, units: int) -> None:
        self.k.mbarrier.expect_tx(self.bars[bar][0], 16 * units)

    def arrive_expect(self, bar: str, units: int) -> None:
        self.k.mbarrier.arrive_expect_tx(self.bars[bar][0], 16 * units)

    def wait(self, bar: str, parity: int) -> None:
        self.k.mbarrier.wait(self.bars[bar][0], parity)

    def thread(self, name: str):  # type: ignore[no-untyped-def]
        return _Thread(self.k, name)


class _Thread:
    def __init__(self, k: ScheduleBuilder, name: str) -> None:
        self._contexts = (k.role(name, warps=1), k.elect())

    def __enter__(self) -> None:
        for c in self._contexts:
            c.__enter__()

    def __exit__(self, *error: object) -> None:
        for c in reversed(self._contexts):
            c.__exit__(None, None, None)


def outcome(schedule: Schedule) -> tuple[Verdict, list[str]]:
    result: CheckResult = check(schedule)
    assert result.verdict is not Verdict.INCOMPLETE, result.note
    return result.verdict, sorted(f.rule.name for f in result.findings)


CLEAN: tuple[Verdict, list[str]] = (Verdict.CLEAN, [])


def test_s1_bytes_that_no_phase_expects() -> None:
    """Arriving first completes phase 0 early, and wait(1) hangs."""
    s = Small({"b": 1})
    s.init()
    with s.k.specialize():
        with s.thread("t0"):
            s.copy("b")
        with s.thread("t1"):
            s.arrive("b")
            s.wait("b", 1)
    assert outcome(s.k.finish()) == (Verdict.FINDINGS, ["TX_BYTES_MISMATCH"])


@pytest.mark.parametrize("published", [False, True])
def test_s2_init_that_a_waiter_may_precede(published: bool) -> None:
    """The init reaches the waiter only through the wait itself: it may test the word before."""
    s = Small({"b": 1})
    with s.k.elect_thread():
        s.k.mbarrier.init_all(s.bars["b"])
        s.arrive("b")
    if published:
        s.k.bar.sync()
    with s.k.specialize():
        with s.thread("t0"):
            s.k.fence.mbarrier_init()
        with s.thread("t1"):
            s.wait("b", 0)
    expected = CLEAN if published else (Verdict.FINDINGS, ["USE_BEFORE_INIT"])
    assert outcome(s.k.finish()) == expected


def test_i1_extra_expect_after_the_arrival_before_its_copies() -> None:
    s = Small({"b": 1}, cells=2)
    s.init()
    with s.k.specialize():
        with s.thread("t0"):
            s.arrive_expect("b", 1)
            s.expect("b", 1)
            s.copy("b", 0, 0)
            s.copy("b", 1, 1)
        with s.thread("t1"):
            s.wait("b", 0)
            s.read(0, 0)
            s.read(1, 1)
    assert outcome(s.k.finish()) == CLEAN


def test_i1_neighbour_a_copy_between_the_expects_can_complete_the_phase() -> None:
    s = Small({"b": 1}, cells=2)
    s.init()
    with s.k.specialize():
        with s.thread("t0"):
            s.arrive_expect("b", 1)
            s.copy("b", 0, 0)
            s.expect("b", 1)
            s.copy("b", 1, 1)
        with s.thread("t1"):
            s.wait("b", 0)
            s.read(0, 0)
            s.read(1, 1)
    verdict, rules = outcome(s.k.finish())
    assert verdict is Verdict.FINDINGS
    assert rules[0] in ("EARLY_COMPLETION", "READ_BEFORE_ARRIVAL", "OUTSTANDING_AT_EXIT")


def test_i2_two_arrivals_in_program_order_are_only_a_lint() -> None:
    s = Small({"b": 1})
    s.init()
    with s.k.specialize(), s.thread("t0"):
        s.arrive("b")
        s.arrive("b")
    assert outcome(s.k.finish()) == (Verdict.CLEAN, ["UNCONSUMED_PHASE"])


def test_i4_a_spectator_that_sees_phase_0_or_2() -> None:
    """T0 advances three phases alone; T1 waits on the first parity: clean, by search."""
    s = Small({"b": 1})
    s.init()
    with s.k.specialize():
        with s.thread("t0"):
            for _ in range(3):
                s.arrive("b")
        with s.thread("t1"):
            s.wait("b", 0)
    result = check(s.k.finish())
    assert result.verdict is Verdict.CLEAN
    assert not result.certified
    assert result.stats["states"] > 0


@pytest.mark.parametrize(
    ("parity", "phases", "hangs"), [(0, 2, True), (1, 3, True), (1, 2, False), (0, 3, False)]
)
def test_spectator_that_only_waits(parity: int, phases: int, hangs: bool) -> None:
    """Phase 0 of 2 or 1 of 3: it may be lapped for good. 1 of 2, 0 or 2 of 3: it always passes."""
    s = Small({"b": 2})
    s.init()
    with s.k.specialize():
        for name in ("t0", "t1"):
            with s.thread(name):
                for i in range(phases):
                    s.arrive("b")
                    s.wait("b", i % 2)
        with s.thread("spectator"):
            s.wait("b", parity)
    assert outcome(s.k.finish())[0] is (Verdict.FINDINGS if hangs else Verdict.CLEAN)


def restarted_ring(stages: int, steps: int, tiles: int, *, restart: bool) -> Schedule:
    """A ring over several tiles; ``restart``: both sides start each tile at stage 0, phase 0."""
    k = ScheduleBuilder("restarted")
    source = k.global_tensor("source", (tiles * steps, 4), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 4))
    ring = k.smem_tile("ring", (1, 4), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    reg = written(k, "reg", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()

    def each(body, *, producer: bool) -> None:  # type: ignore[no-untyped-def]
        state = k.pipeline_state(stages, producer=producer)
        with k.loop(tiles, name="tile") as tile:
            if restart and not producer:
                state.reset(phase=0)
            with k.loop(steps) as i:
                body(state, tile * steps + i)
                state.advance()

    def consume(state, row: Value) -> None:  # type: ignore[no-untyped-def]
        k.mbarrier.wait(full[state.stage], state.phase)
        k.mem.ld_shared(reg.all, ring[state.stage].expecting(source.box((row, 0), (1, 4))))
        k.fence.proxy_async("shared")
        k.mbarrier.arrive(empty[state.stage])

    def produce(state, row: Value) -> None:  # type: ignore[no-untyped-def]
        k.mbarrier.wait(empty[state.stage], state.phase)
        k.mbarrier.arrive_expect_tx(full[state.stage], 16)
        k.tma.load(ring[state.stage], source_map, (row, 0), full[state.stage])

    with k.specialize():
        with k.role("consumer", warps=1), k.elect():
            each(consume, producer=False)
        with k.role("producer", warps=1), k.elect():
            each(produce, producer=True)
    return k.finish()


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("tiles", [2, 3])
def test_ring_with_the_consumer_restarted_per_tile(stages: int, tiles: int) -> None:
    """Right exactly if the steps are a multiple of twice the stages; continued: always."""
    for steps in range(1, 13):
        right = steps % (2 * stages) == 0
        verdict, _ = outcome(restarted_ring(stages, steps, tiles, restart=True))
        assert verdict is (Verdict.CLEAN if right else Verdict.FINDINGS), steps
        result = check(restarted_ring(stages, steps, tiles, restart=False))
        assert (result.verdict, result.findings, result.certified) == (Verdict.CLEAN, (), True)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 12])
def test_rendezvous_shared_by_the_stages_of_a_ring(stages: int, steps: int) -> None:
    """Clean for two stages at most (by counting: who arrives in which phase is not unique)."""
    s = Small({"meet": 2, **{f"empty{i}": 1 for i in range(stages)}}, cells=stages)
    s.init()
    k = s.k
    with k.specialize():
        with s.thread("follower"):
            for i in range(steps):
                s.wait(f"empty{i % stages}", i // stages % 2 ^ 1)
                k.mem.st_shared(s.buf[i % stages], s.reg.all)
                s.arrive("meet")
        with s.thread("leader"):
            for i in range(steps):
                s.arrive("meet")
                s.wait("meet", i % 2)
                k.mem.ld_shared(s.reg.all, s.buf[i % stages])
                s.arrive(f"empty{i % stages}")
    result = check(k.finish(), max_states=20_000)
    hangs = stages >= 3 and steps >= 3
    assert result.verdict is (Verdict.FINDINGS if hangs else Verdict.CLEAN), result.note
    assert result.stats["states"] == 0 or not hangs


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_two_consumers_wait_and_one_frees(steps: int) -> None:
    """Clean up to as many steps as stages, a lapped waiter beyond."""
    stages = 2
    s = Small({**{f"full{i}": 1 for i in range(stages)}, **{f"empty{i}": 1 for i in range(stages)}})
    s.init()
    with s.k.specialize():
        for name in ("frees", "waits"):
            with s.thread(name):
                for i in range(steps):
                    s.wait(f"full{i % stages}", i // stages % 2)
                    if name == "frees":
                        s.arrive(f"empty{i % stages}")
        with s.thread("producer"):
            for i in range(steps):
                s.wait(f"empty{i % stages}", i // stages % 2 ^ 1)
                s.arrive(f"full{i % stages}")
    expected = CLEAN if steps <= stages else (Verdict.FINDINGS, ["LAPPED_WAITER"])
    assert outcome(s.k.finish()) == expected


def test_arrive_then_expect_then_copy_can_complete_early() -> None:
    s = Small({"b": 1})
    s.init()
    with s.k.specialize():
        with s.thread("t0"):
            s.arrive("b")
            s.expect("b", 1)
            s.copy("b")
        with s.thread("t1"):
            s.wait("b", 0)
            s.read()
    verdict, rules = outcome(s.k.finish())
    assert verdict is Verdict.FINDINGS
    assert rules == ["EARLY_COMPLETION"]


@pytest.mark.parametrize("twice", [False, True])
def test_named_barrier_ping_pong(twice: bool) -> None:
    """sync/arrive in turns is clean; arriving twice against two syncs is not."""
    k = ScheduleBuilder("ping_pong")
    ping = k.named_barrier("ping", id=1, threads=64)
    pong = k.named_barrier("pong", id=2, threads=64)
    with k.specialize():
        with k.role("a", warps=1):
            for _ in range(2):
                k.bar.sync(ping)
                if not twice:
                    k.bar.arrive(pong)
        with k.role("b", warps=1):
            for _ in range(2):
                k.bar.arrive(ping)
                if not twice:
                    k.bar.sync(pong)
    expected = (Verdict.FINDINGS, ["NAMED_BARRIER_OVERRUN"]) if twice else CLEAN
    assert outcome(k.finish()) == expected


def test_named_barrier_counts_differ() -> None:
    k = ScheduleBuilder("counts")
    one = k.named_barrier("one", id=3, threads=64)
    other = k.named_barrier("other", id=3, threads=96)
    with k.specialize():
        with k.role("a", warps=1):
            k.bar.sync(one)
        with k.role("b", warps=2):
            k.bar.sync(other)
    assert outcome(k.finish()) == (Verdict.FINDINGS, ["NAMED_BARRIER_COUNT"])


def test_a_search_without_budget_names_the_condition_and_the_ops() -> None:
    s = Small({"b": 1})
    s.init()
    with s.k.specialize():
        with s.thread("t0"):
            for _ in range(3):
                s.arrive("b")
        with s.thread("t1"):
            s.wait("b", 0)
    result = check(s.k.finish(), max_states=3)
    assert result.verdict is Verdict.INCOMPLETE
    assert re.sub(r" \(\S+:\d+\)", "", result.note) == (
        "condition D does not hold and 4 states did not decide it: t1 warp 0, elected lane at "
        "mbarrier wait b[0] parity 0 can pass on a phase older than phase 2 of b[0] of the same "
        "parity: nothing orders it after mbarrier.arrive b[0]"
    )
