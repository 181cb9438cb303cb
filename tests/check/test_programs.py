"""A kernel and one that depends on it, overlapped by programmatic dependent launch."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from asyncsim import Program, Rule, ScheduleBuilder, ScheduleError, check
from asyncsim.cli.main import main
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from asyncsim.testing import ScheduleAssertion, assert_clean, assert_finds

CTAS = 3


def primary(*, launches: str = "early", halves: bool = False) -> Schedule:
    """Each CTA adds nothing to its row and writes it."""
    k = ScheduleBuilder("first")
    k.grid(CTAS)
    k.block(1)
    a = k.global_tensor("a", (CTAS, 32), "f32")
    b = k.global_tensor("b", (CTAS, 64), "f32", output=True)
    k.global_tensor("c", (CTAS, 32), "f32", output=True)
    x = k.fragment("x", registers=1)
    if launches == "early":
        k.griddepcontrol.launch_dependents()
    k.mem.ld_global(x.all, a.box((k.block_idx, k.lane), (1, 1)))
    k.mem.st_global(b.box((k.block_idx, k.lane), (1, 1)), x.all)
    if not halves:
        k.mem.st_global(b.box((k.block_idx, 32 + k.lane), (1, 1)), x.all)
    if launches == "late":
        k.griddepcontrol.launch_dependents()
    return k.finish()


@dataclass(frozen=True, kw_only=True)
class Second:
    """The dependent kernel reads rows of b by TMA or by plain loads, and writes c."""

    wait: str = "all"  # who waits: "all", "" nobody, "producer", "other": a warp that tells nobody
    barrier: bool = True
    early: str = ""  # before the wait: "weights", "b", "a" (written), "upper" half of b, "prefetch"
    tma: bool = True


def dependent(form: Second) -> Schedule:
    k = ScheduleBuilder("second")
    k.grid(CTAS)
    k.block(2)
    a = k.global_tensor("a", (CTAS, 32), "f32", output=form.early == "a")
    b = k.global_tensor("b", (CTAS, 64), "f32")
    c = k.global_tensor("c", (CTAS, 32), "f32", output=True)
    weights = k.global_tensor("weights", (1, 32), "f32")
    b_map = k.tensor_map("b_map", b, box=(1, 32))
    tile, full = k.smem_tile("tile", (1, 32), "f32"), k.mbarriers("full", count=1)
    x, w = k.fragment("x", registers=1), k.fragment("w", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.mem.ld_global(w.all, weights.box((0, k.lane), (1, 1)))
    if form.early == "b":
        k.mem.ld_global(x.all, b.box((k.block_idx, k.lane), (1, 1)))
    if form.early == "upper":
        k.mem.ld_global(x.all, b.box((k.block_idx, 32 + k.lane), (1, 1)))
    if form.early == "a":
        with k.when(k.warp_in_role == 0):
            k.mem.st_global(a.box((k.block_idx, k.lane), (1, 1)), w.all)
    if form.early == "prefetch":
        with k.elect_thread():
            k.tma.prefetch(b_map, (k.block_idx, 0))
    if form.wait == "all":
        k.griddepcontrol.wait()
    if form.wait == "producer":
        with k.when(k.warp_in_role == 0), k.elect():
            k.griddepcontrol.wait()
    if form.wait == "other":
        with k.when(k.warp_in_role == 1), k.elect():
            k.griddepcontrol.wait()
    if form.barrier:
        k.bar.sync()
    with k.when(k.warp_in_role == 0):
        if form.tma:
            with k.elect():
                k.mbarrier.arrive_expect_tx(full[0], 128)
                k.tma.load(tile[0], b_map, (k.block_idx, 0), full[0])
                k.mbarrier.wait(full[0], 0)
            k.bar.warp_sync()
            k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (1, 1)))
        else:
            k.mem.ld_global(x.all, b.box((k.block_idx, k.lane), (1, 1)))
        k.mem.st_global(c.box((k.block_idx, k.lane), (1, 1)), x.all)
    return k.finish()


def found(form: Second, **first: bool | str) -> list[tuple[Rule, str]]:
    result = check(Program(primary(**first), dependent(form)))  # type: ignore[arg-type]
    assert result.verdict in (Verdict.CLEAN, Verdict.FINDINGS), result.note
    return [(f.rule, f.message) for f in result.findings if f.severity.value == "error"]


@pytest.mark.parametrize("tma", [False, True])
@pytest.mark.parametrize("launches", ["early", "late"])
@pytest.mark.parametrize(
    "form",
    [
        Second(),
        Second(early="weights"),
        Second(wait="producer"),
        Second(wait="other"),
        Second(early="prefetch"),
    ],
    ids=str,
)
def test_what_waits_before_it_touches(form: Second, launches: str, tma: bool) -> None:
    form = Second(wait=form.wait, early=form.early, tma=tma)
    result = check(Program(primary(launches=launches), dependent(form)))
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


def test_nobody_waits() -> None:
    assert found(Second(wait="")) == [
        (
            Rule.PDL_ORDER,
            "TMA load b -> tile on full[0] reads b, which first may still write: no "
            "griddepcontrol.wait comes before it",
        )
    ]
    assert found(Second(wait="", tma=False))[0][0] is Rule.PDL_ORDER


def test_the_wait_of_another_thread_without_a_barrier() -> None:
    form = Second(wait="other", barrier=False, tma=False)
    assert [rule for rule, _ in found(form)] == [Rule.PDL_ORDER]


def test_reads_and_writes_before_the_wait() -> None:
    assert found(Second(early="b")) == [
        (
            Rule.PDL_ORDER,
            "ld.global b -> x reads b, which first may still write: no griddepcontrol.wait comes "
            "before it",
        )
    ]
    assert found(Second(early="a")) == [
        (
            Rule.PDL_ORDER,
            "st.global w -> a writes a, which first may still touch: no griddepcontrol.wait comes "
            "before it",
        )
    ]


def test_what_the_first_kernel_does_not_touch_may_come_early() -> None:
    assert found(Second(early="upper"), halves=True) == []
    assert found(Second(early="upper"))[0][0] is Rule.PDL_ORDER


def test_without_launch_dependents_the_kernels_do_not_overlap() -> None:
    assert found(Second(wait=""), launches="") == []


def test_the_kernels_agree_on_their_tensors() -> None:
    k = ScheduleBuilder("third")
    k.global_tensor("b", (CTAS, 32), "f32")
    k.block(1)
    k.bar.sync()
    with pytest.raises(ScheduleError) as error:
        Program(primary(), k.finish())
    assert error.value.message == "tensor 'b' differs between first and third"


def test_kernels_too_long_to_be_compared_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["asyncsim.check.dependent"], "EVENT_LIMIT", 4)
    result = check(Program(primary(), dependent(Second(wait=""))))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.note == (
        "TMA load b -> tile on full[0] comes before griddepcontrol.wait; whether it meets what "
        "first touches was not decided"
    )


def test_a_dependent_kernel_without_a_certificate_is_left_open() -> None:
    """A spectator that sees phase 0 or phase 2 is clean by search: no graph speaks for all."""
    k = ScheduleBuilder("searched")
    k.grid(CTAS)
    k.block(2)
    b = k.global_tensor("b", (CTAS, 64), "f32")
    bar, x = k.mbarriers("bar", count=1), k.fragment("x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    k.griddepcontrol.wait()
    k.bar.sync()
    k.mem.ld_global(x.all, b.box((k.block_idx, k.lane), (1, 1)))
    with k.specialize():
        with k.role("ahead", warps=1), k.elect(), k.loop(3):
            k.mbarrier.arrive(bar[0])
        with k.role("looks", warps=1), k.elect():
            k.mbarrier.wait(bar[0], 0)
    second = k.finish()
    assert check(second).verdict is Verdict.CLEAN and not check(second).certified
    result = check(Program(primary(), second))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.note == "what searched does before griddepcontrol.wait was not decided"


def test_a_program_in_a_test_and_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Program(primary(), dependent(Second(wait="")))
    with pytest.raises(ScheduleAssertion) as failed:
        assert_clean(broken)
    assert str(failed.value).startswith("first and second: ") and "PDL_ORDER" in str(failed.value)
    assert_finds(broken, Rule.PDL_ORDER)
    file = tmp_path / "two.py"
    file.write_text(
        "from asyncsim.scenario import scenario\n"
        "from tests.check.test_programs import Program, Second, dependent, primary\n"
        "@scenario(summary='two kernels', archs=('sm_90a',))\n"
        "def two():\n    return Program(primary(), dependent(Second()))\n"
    )
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().out == "two\nclean: no interleaving breaks a rule\n"


@pytest.mark.parametrize("waits", ["warp", "cta", "nobody"])
def test_each_warp_and_cta_has_its_own_wait(waits: str) -> None:
    """Who waits reads the half of b that is written; who does not, the other half."""
    k = ScheduleBuilder("second")
    k.grid(CTAS)
    k.block(2)
    b, x = k.global_tensor("b", (CTAS, 64), "f32"), k.fragment("x", registers=1)
    place = k.block_idx if waits == "cta" else k.warp_in_role
    with k.when(place == 0 if waits != "nobody" else 0):
        k.griddepcontrol.wait()
    k.mem.ld_global(x.all, b.box((k.block_idx, 32 * (place > 0) + k.lane), (1, 1)))
    second = k.finish()
    halves = check(Program(primary(halves=True), second)).verdict
    assert halves is (Verdict.FINDINGS if waits == "nobody" else Verdict.CLEAN)
    assert check(Program(primary(), second)).verdict is Verdict.FINDINGS


ORDERS = ("block barrier", "named barrier", "mbarrier", "fenced, relaxed mbarrier")
ORDERS_NOT = ("nothing", "relaxed mbarrier", "end of the warp")


def told(how: str) -> Schedule:
    """A lane of one warp waits for the primary kernel; the other warp reads after some signal."""
    k = ScheduleBuilder("second")
    b, x = k.global_tensor("b", (CTAS, 64), "f32"), k.fragment("x", registers=1)
    full = k.mbarriers("full", count=1)
    named = k.named_barrier("named", id=1, threads=64)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    k.bar.sync()
    with k.specialize():
        with k.role("waits", warps=1):
            with k.elect():
                k.griddepcontrol.wait()
                if "fenced" in how:
                    k.fence.acq_rel("cta")
                if "mbarrier" in how:
                    k.mbarrier.arrive(full[0], relaxed="relaxed" in how)
            if how == "named barrier":
                k.bar.arrive(named)
            if how == "block barrier":
                k.bar.sync()
        with k.role("reads", warps=1):
            if "mbarrier" in how:
                k.mbarrier.wait(full[0], 0)
            if how == "named barrier":
                k.bar.sync(named)
            if how in ("block barrier", "end of the warp"):
                k.bar.sync()
            k.mem.ld_global(x.all, b.box((0, k.lane), (1, 1)))
    return k.finish()


@pytest.mark.parametrize("how", ORDERS + ORDERS_NOT)
def test_whom_the_wait_of_a_thread_orders(how: str) -> None:
    """All memory of the primary grid is visible once a thread has waited: to who comes after it."""
    result = check(Program(primary(), told(how)))
    rules = [f.rule for f in result.findings]
    assert rules == ([] if how in ORDERS else [Rule.PDL_ORDER]), result.note
    assert (result.verdict is Verdict.CLEAN) is (how in ORDERS)


@pytest.mark.parametrize("barrier", [False, True])
def test_the_wait_of_a_lane_and_its_warp(barrier: bool) -> None:
    k = ScheduleBuilder("second")
    k.block(1)
    b, x = k.global_tensor("b", (CTAS, 64), "f32"), k.fragment("x", registers=1)
    with k.elect():
        k.griddepcontrol.wait()
    if barrier:
        k.bar.warp_sync()
    k.mem.ld_global(x.all, b.box((0, k.lane), (1, 1)))
    result = check(Program(primary(), k.finish()))
    assert [f.rule for f in result.findings] == ([] if barrier else [Rule.PDL_ORDER])


@pytest.mark.parametrize("relaxed", [False, True])
def test_the_wait_of_a_cta_and_its_cluster(relaxed: bool) -> None:
    k = ScheduleBuilder("second")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    b, x = k.global_tensor("b", (CTAS, 64), "f32"), k.fragment("x", registers=1)
    with k.when(k.cta_rank == 0):
        k.griddepcontrol.wait()
    k.cluster_barrier.arrive(relaxed=relaxed)
    k.cluster_barrier.wait()
    k.mem.ld_global(x.all, b.box((k.cta_rank, k.lane), (1, 1)))
    result = check(Program(primary(), k.finish()))
    assert [f.rule for f in result.findings] == ([Rule.PDL_ORDER] if relaxed else [])
