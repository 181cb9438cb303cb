"""REGISTER_POOL: requests that wait for ever in some order, and setmaxnreg against its rules."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from asyncsim import Rule, ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict

Trades = tuple[tuple[str, int], ...]
INC, DEC = "inc", "dec"


def trade(*groups: Trades, maxnreg: int, ctas: int = 1, meet: bool = True) -> Schedule:
    """A role of four warps for each tuple; they ``meet`` in a block barrier at the end."""
    k = ScheduleBuilder("trade")
    k.launch_bounds(ctas, maxnreg=maxnreg)
    with k.specialize():
        for g, ops in enumerate(groups):
            with k.role(f"g{g}", warps=4):
                for direction, count in ops:
                    getattr(k.setmaxnreg, direction)(count)
                if meet:
                    k.bar.sync()
    return k.finish()


def inc(count: int) -> Trades:
    return ((INC, count),)


def dec(count: int) -> Trades:
    return ((DEC, count),)


@pytest.mark.parametrize(
    ("groups", "maxnreg", "ctas"),
    [
        ((inc(232), dec(104), ()), 168, 1),
        ((inc(128),) * 4, 128, 1),
        ((inc(200), dec(120), dec(96), dec(96)), 128, 1),
        (((),) * 4, 128, 1),
        ((inc(160), dec(80), dec(80), ()), 128, 1),
        ((inc(104), inc(104), inc(104), inc(80), dec(40), dec(48)), 80, 1),
        ((inc(104), inc(88), dec(48)), 80, 2),
        ((dec(24), inc(240), inc(240)), 168, 1),
    ],
)
def test_trades_that_fit_are_proven(groups: tuple[Trades, ...], maxnreg: int, ctas: int) -> None:
    result = check(trade(*groups, maxnreg=maxnreg, ctas=ctas))
    assert (result.verdict, result.findings, result.certified) == (Verdict.CLEAN, (), True)


@pytest.mark.parametrize(
    ("groups", "maxnreg", "text"),
    [
        ((inc(232), (), ()), 168, "g0 warp 0 at setmaxnreg.inc 232 .* 2048 .* 0 of 64512 free"),
        (
            (inc(104), inc(104), inc(104), inc(112), dec(40), dec(48)),
            80,
            "g3 warp 0 at setmaxnreg.inc 112 .* 1024 .* 0 of 61440 free",
        ),
        # two producers and two consumers with the counts of one producer and two consumers
        (
            (dec(24), dec(24), inc(240), inc(240)),
            128,
            "g3 warp 3 at setmaxnreg.inc 240 .* 3584 .* 1536 of 65536 free",
        ),
    ],
)
def test_counts_that_do_not_fit(groups: tuple[Trades, ...], maxnreg: int, text: str) -> None:
    (finding,) = check(trade(*groups, maxnreg=maxnreg)).findings
    assert finding.rule is Rule.REGISTER_POOL
    assert re.fullmatch(
        text.replace(" .* ", r" \(test_registers.py:\d+\): ", 1).replace(
            " .* ", " registers wanted, "
        )
        + r", and nobody gives any back; beside what others hold, \d+ fit all 4 warps of g\d",
        finding.message,
    ), finding.message


def test_the_exit_of_a_warp_gives_nothing_back() -> None:
    (finding,) = check(trade(inc(232), (), (), maxnreg=168, meet=False)).findings
    assert (finding.rule, len(finding.where)) == (Rule.REGISTER_POOL, 4)


def ordered(*, guarded: bool) -> Schedule:
    """The second warpgroup keeps what it has taken until the first has been served and is done.

    It comes second in the reference; if it asks first, the first one waits for ever. ``guarded``:
    it asks after the first is done.
    """
    k = ScheduleBuilder("ordered")
    k.launch_bounds(1, maxnreg=128)
    done = k.mbarriers("done", count=4)
    meet = k.named_barrier("meet", id=1, threads=128)
    with k.elect_thread():
        k.mbarrier.init_all(done)
    k.bar.sync()
    with k.specialize():
        with k.role("first", warps=4):
            k.setmaxnreg.inc(160)
            k.bar.sync(meet)
            k.setmaxnreg.dec(128)
            with k.elect():
                k.mbarrier.arrive(done[0])
        with k.role("second", warps=4):
            if guarded:
                k.mbarrier.wait(done[0], 0)
            k.setmaxnreg.inc(152)
            k.mbarrier.wait(done[0], 0)
        with k.role("giver", warps=4):
            k.setmaxnreg.dec(88)
            k.mbarrier.wait(done[0], 0)
    return k.finish()


def test_an_order_that_the_reference_does_not_show() -> None:
    result = check(ordered(guarded=False))
    (finding,) = result.findings
    assert finding.rule is Rule.REGISTER_POOL
    assert "first warp" in finding.message and "setmaxnreg.inc 160" in finding.message
    assert any("second warp" in s.place.who and "inc 152" in s.place.what for s in finding.witness)


def test_an_inc_that_waits_for_the_other_to_be_done() -> None:
    result = check(ordered(guarded=True))
    assert (result.verdict, result.certified) == (Verdict.CLEAN, True)


def pair(build: Callable[[ScheduleBuilder], None]) -> list[tuple[str, str]]:
    """What ``build`` does in one warpgroup, beside one that gives enough."""
    k = ScheduleBuilder("pair")
    k.launch_bounds(1, maxnreg=128)
    with k.specialize():
        with k.role("group", warps=4):
            build(k)
        with k.role("giver", warps=4):
            k.setmaxnreg.dec(24)
    result = check(k.finish())
    return [(f.rule.name, f.message) for f in result.findings]


def test_the_wrong_direction() -> None:
    assert pair(lambda k: k.setmaxnreg.dec(136)) == [
        ("REGISTER_POOL", "setmaxnreg.dec 136 by warp 0, which holds 128")
    ]
    assert pair(lambda k: k.setmaxnreg.inc(120)) == [
        ("REGISTER_POOL", "setmaxnreg.inc 120 by warp 0, which holds 128")
    ]


def test_warps_that_take_different_paths() -> None:
    def two(k: ScheduleBuilder) -> None:
        with k.when(k.warp_in_role < 2):
            k.setmaxnreg.dec(64)
        with k.when(k.warp_in_role >= 2):
            k.setmaxnreg.dec(64)

    def some(k: ScheduleBuilder) -> None:
        with k.when(k.warp_in_role != 3):
            k.setmaxnreg.inc(136)

    assert pair(two) == [
        ("REGISTER_POOL", "warp 2 executes another setmaxnreg than warp 0 of its warpgroup")
    ]
    assert pair(some) == [("REGISTER_POOL", "warp 0 of a warpgroup executes it, warp 3 does not")]


@pytest.mark.parametrize("between", ["nothing", "warp", "half", "warpgroup", "block"])
def test_two_in_a_row(between: str) -> None:
    def two(k: ScheduleBuilder) -> None:
        half = k.named_barrier("half", id=1, threads=64)
        whole = k.named_barrier("whole", id=2, threads=128)
        k.setmaxnreg.dec(64)
        match between:
            case "warp":
                k.bar.warp_sync()
            case "half":
                with k.when(k.warp_in_role < 2):
                    k.bar.sync(half)
            case "warpgroup":
                k.bar.sync(whole)
            case "block":
                k.bar.sync()
            case _:
                pass
        k.setmaxnreg.inc(72)

    def build(k: ScheduleBuilder) -> None:
        two(k)

    found = pair(build) if between != "block" else whole_block(two)
    if between in ("warpgroup", "block"):
        assert found == []
        return
    ((rule, message),) = found
    assert rule == "REGISTER_POOL"
    assert re.fullmatch(
        r"warp \d executes a second setmaxnreg, and nothing orders it after the first one of "
        r"warp \d of its warpgroup",
        message,
    )


def whole_block(build: Callable[[ScheduleBuilder], None]) -> list[tuple[str, str]]:
    k = ScheduleBuilder("block")
    k.block(4)
    k.launch_bounds(1, maxnreg=128)
    build(k)
    return [(f.rule.name, f.message) for f in check(k.finish()).findings]


def test_what_was_computed_before_outlives_the_change() -> None:
    """New registers hold nothing defined; those of a fragment in use are old ones."""
    k = ScheduleBuilder("keeps")
    k.launch_bounds(1, maxnreg=64)
    k.block(4)
    out = k.global_tensor("out", (128, 4), "f32", output=True)
    start = k.global_tensor("start", (128, 4), "f32")
    r = k.fragment("r", registers=4)
    k.mem.ld_global(r.all, start.box((k.thread_in_role, 0), (1, 4)))
    k.setmaxnreg.dec(40)
    k.bar.sync()
    k.setmaxnreg.inc(64)
    k.mem.st_global(out.box((k.thread_in_role, 0), (1, 4)), r.all)
    result = check(k.finish())
    assert (result.verdict, result.findings, result.certified) == (Verdict.CLEAN, (), True)


def test_many_trades_in_a_loop_are_decided_or_left_open() -> None:
    """Each round the two warpgroups hand the same registers over, in turn."""

    def rounds(n: int, *, in_turn: bool) -> Schedule:
        k = ScheduleBuilder("rounds")
        k.launch_bounds(1, maxnreg=64)
        turns = k.mbarriers("turn", count=4, stages=2)
        with k.elect_thread():
            k.mbarrier.init_all(turns)
        k.bar.sync()
        with k.specialize():
            for g in range(2):
                meet = k.named_barrier(f"meet{g}", id=g + 1, threads=128)
                with k.role(f"g{g}", warps=4):
                    k.setmaxnreg.dec(48)
                    k.bar.sync()
                    with k.loop(n) as i:
                        if in_turn:
                            k.mbarrier.wait(turns[g], (i + 1 - g) % 2)
                        k.setmaxnreg.inc(80)
                        k.bar.sync(meet)
                        k.setmaxnreg.dec(48)
                        k.bar.sync(meet)
                        with k.elect():
                            k.mbarrier.arrive(turns[1 - g])
        return k.finish()

    assert check(rounds(3, in_turn=True)).verdict is Verdict.CLEAN
    apart = check(rounds(1, in_turn=False))
    assert [f.rule for f in apart.findings] == [Rule.REGISTER_POOL]


@pytest.mark.parametrize("first", [True, False])
def test_each_cta_of_a_cluster_has_a_pool_of_its_own(first: bool) -> None:
    """The dec comes before, or after, a cluster barrier that the other warpgroup reaches after its
    inc."""
    k = ScheduleBuilder("cluster")
    k.launch_bounds(1, maxnreg=64)
    k.grid(4)
    k.cluster(2)
    with k.specialize():
        with k.role("taker", warps=4):
            k.setmaxnreg.inc(88)
            k.cluster_barrier.sync()
        with k.role("giver", warps=4):
            if first:
                k.setmaxnreg.dec(40)
            k.cluster_barrier.sync()
            if not first:
                k.setmaxnreg.dec(40)
    result = check(k.finish())
    if first:
        assert (result.verdict, result.certified) == (Verdict.CLEAN, True)
        return
    (finding,) = result.findings
    assert finding.rule is Rule.REGISTER_POOL
    assert any(p.who == "taker warp 0 of CTA 1" for p in finding.where)
