"""advise: what is predicted, what is proven, what is recommended, and why."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import asyncsim
from asyncsim.advise import Advice, Interrupted, Status, advise
from asyncsim.advise.relief import NUMBERS, binding, relieved
from asyncsim.advise.result import rank
from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.errors import UsageError
from asyncsim.machine import load_machine
from asyncsim.predict import CheckResult, Verdict
from asyncsim.sim import path, simulate
from tests.advise.kernels import DIES, ENDLESS, FINE, HANG, RACE, behaving

RING = {"ctas": 1, "tiles": 8, "tile_bytes": 1024, "ffma": 8}


def statuses(advice: Advice) -> list[tuple[int, int, str]]:
    return [(t.params["stages"], t.params["how"], t.status.value) for t in advice.trials]


def test_every_kind_of_combination_ends_as_what_it_is() -> None:
    advice = advise(behaving, params={"stages": 2}, jobs=1)
    assert statuses(advice) == [
        (2, 0, "clean"),
        (2, 1, "findings"),
        (2, 2, "no end"),
        (2, 3, "no schedule"),
        (2, 4, "failed"),
    ]
    why = [t.why for t in advice.trials]
    assert why[:2] == ["", "WRITE_BEFORE_RELEASE"]
    assert why[2].startswith("roles wait for each other for ever: ")
    assert why[3:] == ["how = 3; use another", "kernels.py:30: ValueError: first line second line"]
    assert [t.prediction is None for t in advice.trials] == [False, False, True, True, True]


def test_a_race_that_looks_faster_is_not_recommended() -> None:
    advice = advise(behaving, vary={"how": (FINE, RACE)}, jobs=1)
    fine, race = advice.trials
    assert race.cycles < fine.cycles
    assert advice.best == fine and advice.ranked == (fine,)


def test_only_a_proven_one_has_a_sustained_run() -> None:
    params = {"stages": 2}
    advice = advise(behaving, params=params, vary={"how": (FINE, RACE)}, jobs=1)
    settled = [t.prediction and t.prediction.sustained is not None for t in advice.trials]
    assert statuses(advice) == [(2, 0, "clean"), (2, 1, "findings")]
    assert settled == [True, False]


def test_it_predicts_what_predict_does() -> None:
    advice = advise("tma_ring", params=RING, vary={"stages": (1, 2, 4)}, jobs=1, prove_all=True)
    ring = find_scenario("tma_ring")
    for trial in advice.trials:
        result, prediction = asyncsim.predict(ring.build(trial.params), ties=False)
        assert trial.status.value == result.verdict.value == "clean"
        assert trial.prediction == prediction
    assert advice.best is not None and advice.best.params["stages"] == 4
    assert [t.cycles for t in advice.ranked] == sorted(t.cycles for t in advice.trials)


def test_only_the_fastest_are_proven() -> None:
    advice = advise("tma_ring", params=RING, vary={"stages": range(1, 7)}, jobs=1, top=2)
    ranked = sorted(advice.trials, key=lambda t: t.cycles)
    proven = [t.params["stages"] for t in ranked if t.status is Status.CLEAN]
    assert proven[:2] == [t.params["stages"] for t in ranked[:2]]
    assert {t.status for t in ranked[len(proven) :]} == {Status.UNCHECKED}
    assert advice.counts[Status.UNCHECKED] == 6 - len(proven) > 0


def test_steps_go_down_and_up_and_beyond_the_sweep() -> None:
    advice = advise("tma_ring", params=RING, vary={"stages": (2, 3, 4)}, jobs=1, top=1)
    assert [(s.name, s.value, s.trial.status) for s in advice.why.steps] == [
        ("stages", 3, Status.CLEAN),
        ("stages", 5, Status.CLEAN),
    ]
    assert len(advice.trials) == 3
    beyond = advice.why.steps[1].trial
    _, prediction = asyncsim.predict(find_scenario("tma_ring").build(beyond.params), ties=False)
    assert beyond.prediction == prediction


def test_what_binds_next_is_a_prediction_on_a_machine_without_it() -> None:
    advice = advise("tma_ring", params=RING, vary={"stages": (1,)}, jobs=1)
    best, first = advice.best, advice.why.reliefs[0]
    assert best is not None and best.prediction is not None
    assert first.name == binding(best.prediction) == path.LATENCY_DRAM
    machine = relieved(load_machine("h200"), first.name)
    schedule = find_scenario("tma_ring").build(best.params)
    _, prediction = asyncsim.predict(schedule, machine, ties=False)
    assert first.prediction == prediction
    assert first.prediction.cycles < best.cycles


def test_relief_names_numbers_of_the_machine() -> None:
    keys = {*load_machine("h200").provenance, *load_machine("b200").provenance}
    assert [n for names in NUMBERS.values() for n in names if n not in keys] == []
    h200 = load_machine("h200")
    halved = relieved(h200, path.DRAM)
    assert halved.dram.read_bytes_per_cycle == 2 * h200.dram.read_bytes_per_cycle
    assert replace(halved, dram=h200.dram) == h200


def test_any_executor_gives_the_same() -> None:
    here = advise(behaving, jobs=1)
    with ThreadPoolExecutor(2) as executor:
        there = advise(behaving, executor=executor)
        assert executor.submit(int, 3).result() == 3  # it is not ours to shut down
    assert there == here
    assert advise(behaving, jobs=2) == here


def test_what_takes_too_long_is_left_out() -> None:
    advice = advise(behaving, vary={"how": (ENDLESS, FINE)}, jobs=1, limit_s=2)
    assert [(t.status, t.why) for t in advice.trials] == [
        (Status.FAILED, "took longer than 2 s"),
        (Status.CLEAN, ""),
    ]


def test_a_worker_that_dies_costs_its_combination_alone() -> None:
    advice = advise(behaving, vary={"how": (FINE, DIES), "stages": (1, 2)}, jobs=2)
    assert [(t.status, t.why) for t in advice.trials] == [
        (Status.CLEAN, ""),
        (Status.CLEAN, ""),
        (Status.FAILED, "its worker process died"),
        (Status.FAILED, "its worker process died"),
    ]


def test_an_interrupted_sweep_has_what_was_finished() -> None:
    def stop(text: str) -> None:
        if text.startswith("predicting behaving: 2 of 3"):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        advise(behaving, vary={"stages": (1, 2, 3)}, jobs=1, progress=stop)
    advice = stopped.value.advice
    assert advice.interrupted
    assert statuses(advice) == [(1, 0, "unchecked"), (2, 0, "unchecked")]
    assert advice.best is None


def test_an_executor_that_is_shut_down_leaves_failures() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    advice = advise(behaving, vary={"stages": (1, 2)}, executor=executor)
    text = "RuntimeError: cannot schedule new futures after shutdown"
    assert [(t.status, t.why) for t in advice.trials] == [(Status.FAILED, text)] * 2
    assert advice.best is None and advice.why.steps == ()


def test_an_executor_that_never_answers_is_given_up() -> None:
    class Silent(Executor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            return Future()

    advice = advise(behaving, vary={"stages": (1, 2)}, executor=Silent(), limit_s=0.1)
    text = "no worker has answered for 0.4 s"
    assert [(t.status, t.why) for t in advice.trials] == [(Status.FAILED, text)] * 2


def test_a_scenario_in_a_function_is_for_this_process_alone() -> None:
    from asyncsim.scenario import scenario

    @scenario(summary="local")
    def local(*, stages: int = 1) -> Any:
        return find_scenario("tma_ring").build({**RING, "stages": stages})

    with pytest.raises(UsageError) as error:
        advise(local, vary={"stages": (1, 2)}, jobs=2)
    assert str(error.value) == (
        "scenario 'local' is no global of its module, other processes cannot find it; define it at "
        "the top level of a file, or work in this process, with jobs=1"
    )
    assert advise(local, vary={"stages": (1, 2)}, jobs=1).best is not None


def test_a_scenario_of_a_file_is_found_by_workers(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from asyncsim.catalog import find_scenario\n"
        "from asyncsim.scenario import Free, scenario\n"
        "from typing import Annotated\n"
        "@scenario(summary='mine')\n"
        "def mine(*, stages: Annotated[int, Free((1, 2))] = 1):\n"
        "    print('stray')\n"
        f"    return find_scenario('tma_ring').build({{**{RING}, 'stages': stages}})\n"
    )
    advice = advise(f"{file}:mine", jobs=2)
    assert [t.status for t in advice.trials] == [Status.CLEAN] * 2


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"top": 0}, "top = 0, jobs = None, limit_s = 60; give at least 1"),
        ({"jobs": 0}, "top = 5, jobs = 0, limit_s = 60; give at least 1"),
        (
            {"vary": {"how": (3,)}, "jobs": 1},
            "no combination is a schedule; the first one: how = 3; use another",
        ),
        (
            {"machine": "a100", "jobs": 1},
            "no combination is a schedule; the first one: tma_ring is written for sm_90a, sm_100a, "
            "machine a100 is sm_80; choose another machine",
        ),
    ],
)
def test_errors(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError) as error:
        advise(behaving, **{"vary": {"stages": (1,)}, **fields})
    assert str(error.value) == text


def test_equal_predictions_prefer_less_shared_memory() -> None:
    trial = advise(behaving, vary={"how": (FINE,)}, jobs=1).trials[0]
    assert trial.prediction is not None
    occupancy = replace(trial.prediction.occupancy, smem_bytes=1 << 20)
    larger = replace(trial, prediction=replace(trial.prediction, occupancy=occupancy))
    assert sorted([larger, trial], key=lambda t: rank(t, 0.0)) == [trial, larger]


@pytest.mark.parametrize(("by", "first"), [(1.009, 1), (1.011, 0)])
def test_sustained_times_within_a_percent_are_equal(by: float, first: int) -> None:
    """The second takes half as long by itself, and ``by`` as long in a sustained run."""
    advice = advise(behaving, vary={"how": (FINE,)}, jobs=1)
    slow = advice.trials[0]
    p = slow.prediction
    assert p is not None and p.sustained is not None
    longer = replace(p.sustained, time_us=by * p.sustained.time_us)
    quick = replace(slow, prediction=replace(p, time_us=p.time_us / 2, sustained=longer))
    both = replace(advice, trials=(slow, quick))
    assert both.best is both.foreseen is both.trials[first]


def test_a_deadlock_is_no_candidate() -> None:
    advice = advise(behaving, vary={"how": (HANG,)}, jobs=1)
    assert advice.best is None and advice.ranked == ()


def test_what_is_not_decided_is_never_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its prediction says; it is counted apart, with its reason."""

    def only_two_stages(schedule: Any) -> CheckResult:
        if schedule.smem_bytes < 3 * 1024:
            return check(schedule)
        return CheckResult(verdict=Verdict.INCOMPLETE, note="the search ended")

    monkeypatch.setattr(sys.modules["asyncsim.check"], "check", only_two_stages)
    advice = advise(behaving, vary={"stages": (1, 2, 3)}, jobs=1, top=1)
    assert [t.status.value for t in advice.trials] == ["clean", "clean", "incomplete"]
    assert advice.best is not None and advice.best.params["stages"] == 2
    (left_out,) = advice.of(Status.INCOMPLETE)
    assert left_out.why == "the search ended" and left_out.cycles < advice.best.cycles


def test_a_proof_without_a_certificate_predicts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def uncertified(schedule: Any) -> CheckResult:
        return replace(check(schedule), certified=False)

    monkeypatch.setattr(sys.modules["asyncsim.check"], "check", uncertified)
    (trial,) = advise(behaving, vary={"stages": (2,)}, jobs=1).trials
    assert (trial.status, trial.certified) == (Status.CLEAN, False)
    schedule = behaving.build({"stages": 2})
    simulated = simulate(schedule, load_machine("h200"), certified=False, ties=False)
    assert trial.prediction is not None
    assert replace(trial.prediction, sustained=None) == simulated
