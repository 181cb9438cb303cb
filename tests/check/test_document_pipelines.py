"""Rows D1 and D2 of the documents: cp.async pipelines, over every range that the rows state."""

from __future__ import annotations

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, ScheduleError, Work
from asyncsim.check import check
from asyncsim.ir.op import CpAsync
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from asyncsim.scenario import Scenario
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.sgemm_cp_async import sgemm_cp_async
from tests.check.written import written

SUM = ComputeDef(
    name="sum",
    operands=(
        ComputeOperand(name="total", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="tile", kind="smem"),
    ),
    work=lambda: Work(alu=4),
    cuda="",
    numpy=lambda **kw: None,
)
DEPTHS = range(2, 7)
SIZES = [(s, t) for s in DEPTHS for t in range(2 * s + 3)]


def rules(schedule: Schedule) -> list[str]:
    return [f.rule.name for f in check(schedule).findings]


def multistage(stages: int, tiles: int, twin: str = "", *, distance: int = 0) -> Schedule:
    params = {"stages": stages, "tiles": tiles, "distance": distance, "tile_bytes": 2048}
    return cp_async_multistage.build(params, twin)


def assert_clean(schedule: Schedule) -> None:
    result = check(schedule)
    assert (result.verdict, result.findings, result.certified) == (Verdict.CLEAN, (), True)


@pytest.mark.parametrize(("stages", "tiles"), SIZES)
def test_d1_is_clean_for_every_depth_and_trip_count(stages: int, tiles: int) -> None:
    assert_clean(multistage(stages, tiles))


@pytest.mark.parametrize(("stages", "tiles"), SIZES)
def test_d1a_commit_when_something_was_issued(stages: int, tiles: int) -> None:
    """Wrong for three stages or more and any tile; two stages wait for every group."""
    expected = ["WAIT_GROUP_TOO_LOOSE"] if stages >= 3 and tiles >= 1 else []
    assert rules(multistage(stages, tiles, "commit_if_copied")) == expected


def reading_one_round(stages: int, tiles: int, round_: int) -> Schedule:
    """D1a, computing in a single round: which rounds lack a group?"""
    k = ScheduleBuilder("d1a", archs=("sm_80",))
    source = k.global_tensor("source", (tiles * 4, 32), "f32")
    ring = k.smem_tile("ring", (4, 32), "f32", stages=stages)
    total = written(k, "total", registers=1)
    n = k.arg("tiles", tiles)

    def copy(stage: object, tile: object) -> None:
        with k.when(tile < n):  # type: ignore[operator]
            k.cp_async.copy_tile(ring[stage], source, (tile * 4, 0), threads=32)  # type: ignore
            k.cp_async.commit_group()

    for s in range(stages - 1):
        copy(s, s)
    with k.loop(n, name="t") as t:
        k.cp_async.wait_group(stages - 2)
        k.bar.sync()
        copy((t + stages - 1) % stages, t + stages - 1)
        with k.when(t == round_):
            meant = source.box((t * 4, 0), (4, 32))
            k.mem.compute(SUM, total.all, ring[t % stages].expecting(meant))
    k.cp_async.wait_group(0)
    return k.finish()


@pytest.mark.parametrize("stages", range(3, 7))
def test_d1a_breaks_in_the_last_stages_less_two_rounds_alone(stages: int) -> None:
    for tiles in (1, stages - 1, stages, 2 * stages + 1):
        broken = [r for r in range(tiles) if rules(reading_one_round(stages, tiles, r))]
        assert broken == list(range(max(0, tiles - (stages - 2)), tiles))


@pytest.mark.parametrize(("stages", "tiles"), SIZES)
@pytest.mark.parametrize(
    ("twin", "rule"),
    [("wait_too_loose", "WAIT_GROUP_TOO_LOOSE"), ("no_barrier", "MISSING_BLOCK_BARRIER")],
)
def test_d1b_d1c_show_with_the_first_tile(stages: int, tiles: int, twin: str, rule: str) -> None:
    assert rules(multistage(stages, tiles, twin)) == ([rule] if tiles else [])


def test_d1b_waits_for_all_but_as_many_groups_as_there_are_stages_ahead() -> None:
    (finding,) = check(multistage(5, 9, "wait_too_loose")).findings
    assert finding.message.startswith(
        "cp_async.wait_group 4 leaves cp.async source -> ring pending"
    )


@pytest.mark.parametrize(("stages", "tiles"), SIZES)
def test_d1d_prologue_without_its_condition(stages: int, tiles: int) -> None:
    expected = ["OUT_OF_BOUNDS"] if tiles < stages - 1 else []
    assert rules(multistage(stages, tiles, "prologue_overrun")) == expected


def test_d1d_is_never_launched() -> None:
    assert not cp_async_multistage.twin("prologue_overrun").launch
    assert not sgemm_cp_async.twin("prologue_overrun").launch


@pytest.mark.parametrize(("stages", "tiles"), [(1, t) for t in range(5)] + SIZES)
def test_d1e_distance_of_all_stages_needs_the_second_barrier(stages: int, tiles: int) -> None:
    """The stage just read is refilled, from the tile on that does not fit into the prologue."""
    assert_clean(multistage(stages, tiles, distance=stages))
    expected = ["WRITE_BEFORE_RELEASE"] if tiles > stages else []
    assert rules(multistage(stages, tiles, "refill_same_stage")) == expected


@pytest.mark.parametrize("stages", DEPTHS)
def test_every_distance_is_clean_and_sets_the_depth_of_the_wait(stages: int) -> None:
    for distance in range(1, stages + 1):
        for tiles in (0, 1, distance, stages, 2 * stages + 1):
            assert_clean(multistage(stages, tiles, distance=distance))
        (finding,) = check(
            cp_async_multistage.build(
                {"stages": stages, "distance": distance, "tiles": 9, "tile_bytes": 2048},
                "wait_too_loose",
            )
        ).findings
        assert finding.message.startswith(f"cp_async.wait_group {distance} leaves")


@pytest.mark.parametrize("scenario", [cp_async_multistage, sgemm_cp_async], ids=lambda s: s.name)
def test_one_stage_has_no_wait_depth(scenario: Scenario) -> None:
    """N would be -1; with distance 1 and the second barrier one stage is a schedule."""
    with pytest.raises(ScheduleError) as caught:
        scenario.build({"stages": 1})
    assert caught.value.message == "stages = 1"
    assert caught.value.fix == (
        "wait_group(stages - 2) needs at least 2 stages; 1 stage works with distance = 1"
    )
    small = {"m": 128, "n": 128, "k": 40} if scenario is sgemm_cp_async else {"tiles": 5}
    assert_clean(scenario.build({"stages": 1, "distance": 1, **small}))


@pytest.mark.parametrize("stages", [2, 3, 4, 5])
def test_d2_sgemm_takes_8_kb_a_stage(stages: int) -> None:
    schedule = sgemm_cp_async.build(
        {"m": 256, "n": 256, "k": 8 * (2 * stages + 1), "stages": stages}
    )
    assert schedule.smem_bytes == stages * 8 * 1024
    assert schedule.threads == 256
    a, b = schedule.tile("a_tile"), schedule.tile("b_tile")
    assert (a.shape, b.shape) == ((128, 8), (8, 128))
    copies = [op for op in schedule.ops() if isinstance(op, CpAsync)]
    assert {op.bytes for op in copies} == {16}
    assert len(copies) == 2 * stages, "one copy of A and one of B a thread: prologue and loop"
    assert_clean(schedule)


@pytest.mark.parametrize("stages", [2, 3, 4, 5])
@pytest.mark.parametrize("steps", [1, 2, 3, 11])
def test_d2_is_clean_at_every_distance(stages: int, steps: int) -> None:
    for distance in range(stages + 1):
        sizes = {"m": 128, "n": 256, "k": 8 * steps, "stages": stages, "distance": distance}
        assert_clean(sgemm_cp_async.build(sizes))
