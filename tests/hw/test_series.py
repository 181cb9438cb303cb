"""Many launches with delays, with a fake in the place of the GPU process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from asyncsim.catalog import builtin_scenarios, find_scenario
from asyncsim.check import check
from asyncsim.hw import survive as survive_module
from asyncsim.hw.delays import LONGEST, SHORTEST, random_table, table_of
from asyncsim.hw.guide import LONG, SHORT, Try, tries
from asyncsim.hw.launch import Child
from asyncsim.hw.launch.child_process import LaunchFailed
from asyncsim.hw.launch.prepare import Image, _write_image
from asyncsim.hw.launch.series import Form, meaning_of, run_series
from asyncsim.hw.small import CLEAN, twin_problems
from asyncsim.hw.twins import PLAIN, RANDOM, measure_twins, submit_twins
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.dtype import DType
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict

FAKE = str(Path(__file__).parent / "fake_child.py")
PROVOKING = str(Path(__file__).parent / "provoking_scenarios.py")
needs_nvrtc = pytest.mark.skipif(
    find_spec("cuda") is None, reason="needs the hw extra: pip install 'asyncsim[hw]'"
)
SMALL = {"ctas": 2, "tiles": 3, "tile_bytes": 2048, "ffma": 0}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path / "cubins"))
    yield


def copy(twin: str = "") -> Schedule:
    return find_scenario("sync_copy").build(SMALL, twin)


def fake(*mode: object) -> Child:
    return Child((sys.executable, FAKE, *map(str, mode)))


def op_id(schedule: Schedule, kind: type[ops.OpBase]) -> int:
    return next(o.id for o in schedule.ops() if isinstance(o, kind))


# -- tables ----------------------------------------------------------------------------------------


def test_a_table_is_decided_by_its_seed() -> None:
    schedule = copy()
    tables = [random_table(schedule, seed) for seed in range(300)]
    assert all((random_table(schedule, seed) == tables[seed]).all() for seed in (0, 299))
    assert len({t.tobytes() for t in tables if t.any()}) > 280
    every = np.stack(tables)
    assert every.shape == (300, 1 + max(o.id for o in schedule.ops()), 4)
    delayed = every[every > 0]
    assert delayed.min() >= SHORTEST and LONGEST / 2 < delayed.max() <= LONGEST
    assert 0.15 < len(delayed) / every.size < 0.25
    assert np.median(delayed) < LONGEST / 20


def test_delays_by_op_and_by_warp() -> None:
    table = table_of(copy(), {3: 7, (4, 1): 9})
    assert table.dtype == np.uint32 and table.sum() == 4 * 7 + 9
    assert table[3].tolist() == [7] * 4 and table[4, 1] == 9


# -- series ----------------------------------------------------------------------------------------


def series_of(schedule: Schedule, tables: list[dict[int, int]], child: Child):  # type: ignore[no-untyped-def]
    stack = np.stack([table_of(schedule, t) for t in tables])
    with child:
        return run_series(schedule, meaning_of(schedule, 2), child, tables=stack)


@pytest.mark.hw
@needs_nvrtc
def test_all_launches_right() -> None:
    r = series_of(copy(), [{}, {1: 50}], fake("delays", "wrong data", 2, 0, 100))
    assert (r.done, r.failure, r.gpu["gpu"]) == (2, None, "Fake GPU")


@pytest.mark.hw
@needs_nvrtc
@pytest.mark.parametrize("form", Form)
def test_the_first_launch_that_goes_wrong(form: Form) -> None:
    schedule = copy()
    meaning = meaning_of(schedule, 2)
    first = int(meaning.images["result"].values[0, 0])
    r = series_of(schedule, [{}, {2: 99}, {2: 100}, {}], fake("delays", form.value, 2, 0, 100))
    assert r.failure is not None and (r.done, r.failure.form) == (2, form)
    loc = next(o.loc for o in schedule.ops() if o.id == 2)
    expected = {
        Form.HANG: f"block (warp 0, CTA 0) waited too long at {loc} for ?, parity 0, loop index 0",
        Form.EXCEPTION: "CUDAError: LAUNCH_FAILED: An exception.",
        Form.WRONG_DATA: "1 of 256 elements of 2 of 2 CTAs differ: "
        f"result[0, 0] is {first ^ 1}, expected {first}",
    }
    assert r.failure.what == expected[form]


@pytest.mark.hw
@needs_nvrtc
def test_a_child_that_is_killed_hangs() -> None:
    schedule = copy()
    with fake("hang") as child:
        meaning = meaning_of(schedule, 2)
        r = run_series(schedule, meaning, child, timeout_s=0.3)
    assert r.failure is not None and r.failure.form is Form.HANG
    assert r.failure.what.startswith("the GPU process gave no answer in 0.3 s")


@pytest.mark.hw
@needs_nvrtc
def test_what_fails_before_the_first_launch_is_no_failure_of_the_schedule() -> None:
    with pytest.raises(LaunchFailed, match="the map of tensor source is refused"):
        series_of(copy(), [{}], fake("no_map"))


def test_an_image_lies_in_memory_as_the_tensor_does(tmp_path: Path) -> None:
    tensor = GlobalTensor(name="t", shape=(2, 3), strides=(4, 1), dtype=DType.BF16, output=True)
    values = np.arange(6, dtype=np.uint16).reshape(2, 3)
    image = Image(values=values, compared=values % 2 == 1)
    _write_image(tensor, image, 7, tmp_path / "image")
    bits = np.fromfile(tmp_path / "image", np.uint16)
    assert bits[:7].tolist() == [0, 1, 2, 0, 3, 4, 5]  # the gap holds 0 and is not compared
    assert bits[7:].tolist() == [0, 0xFFFF, 0, 0, 0xFFFF, 0, 0xFFFF]


# -- clean schedules -------------------------------------------------------------------------------


def test_every_scenario_has_small_configurations_with_one_to_four_stages() -> None:
    for scenario in builtin_scenarios():
        if "sm_90a" not in scenario.archs:
            continue  # the stored launches are those of an H200
        own = [c for c in CLEAN if c.scenario == scenario.name]
        assert len(own) >= 2, scenario.name
        if "stages" in scenario.params:
            stages = {c.params["stages"] for c in own}
            assert {2, 3, 4} <= stages, scenario.name


@pytest.mark.parametrize("configuration", CLEAN, ids=str)
def test_what_must_survive_is_proven(configuration) -> None:  # type: ignore[no-untyped-def]
    schedule = find_scenario(configuration.scenario).build(configuration.params)
    assert check(schedule).verdict is Verdict.CLEAN


@pytest.mark.parametrize("name", ["late_stores", "early_reuse"])
def test_provoking_kernels_are_proven_and_their_twins_named(name: str) -> None:
    scenario = find_scenario(f"{PROVOKING}:{name}")
    assert check(scenario.build()).verdict is Verdict.CLEAN
    (twin,) = scenario.twins
    assert [f.rule for f in check(scenario.build(twin=twin.name)).findings] == [twin.rule]
    small = scenario.build({"ctas": 2, "warps": 2, "rows": 32})
    values = meaning_of(small, 2).images["result"].values
    assert values[0, 1] == 2 and values[33, 0] == 33
    assert len(np.unique(values)) == (2048 if name == "early_reuse" else 1024)


def run_main(monkeypatch: pytest.MonkeyPatch, path: Path, child: Child, *more: object):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(survive_module, "Child", lambda: child)
    arguments = ["--out", path, "--scenario", "sync_copy", "--commit", "abc", *more]
    code = survive_module.main([str(a) for a in arguments])
    return code, json.loads(path.read_text())


@pytest.mark.hw
@needs_nvrtc
def test_failing_launches_are_kept_with_their_seeds_and_replayed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configurations = [c for c in CLEAN if c.scenario == "sync_copy"]
    schedules = [find_scenario(c.scenario).build(c.params) for c in configurations]
    op, warp, least = 3, 2, 9000
    seeds = range(40, 40 + 300)
    wrong = [[s for s in seeds if random_table(k, s)[op, warp] >= least] for k in schedules]
    assert 0 < len(wrong[0]) < 20  # by the seeds alone
    mode = ("delays", "hang", op, warp, least)

    path = tmp_path / "rows.json"
    code, document = run_main(monkeypatch, path, fake(*mode), "--seed", 40, "--launches", 300)
    assert code == 1
    assert document["provenance"]["board"] == "0" and document["provenance"]["commit"] == "abc"
    rows = document["survived"]
    assert [[f["seed"] for f in row["failures"]] for row in rows] == wrong
    assert [row["launches"] for row in rows] == [300, 300]
    assert {f["form"] for f in rows[0]["failures"]} == {"hang"}
    # L2 is warm for the first 250 launches, cold for the others
    assert all((f["l2"] == "warm") == (f["seed"] < 290) for f in rows[0]["failures"])

    seed = wrong[0][0]
    again = ("--replay", seed, "--launches", 3)
    code, document = run_main(monkeypatch, path, fake(*mode), *again)
    assert [f["seed"] for f in document["survived"][0]["failures"]] == [seed] * 3


@pytest.mark.hw
@needs_nvrtc
def test_clean_schedules_that_survive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    never = fake("delays", "wrong data", 1, 0, 1 << 31)
    code, document = run_main(monkeypatch, tmp_path / "rows.json", never, "--launches", 5)
    assert code == 0 and "twins" not in document
    assert [(row["launches"], row["failures"]) for row in document["survived"]] == [(5, [])] * 2
    assert document["survived"][0]["elements"] == 4 * 128


# -- twins -----------------------------------------------------------------------------------------


def test_the_ops_of_a_finding_are_delayed_first() -> None:
    schedule = find_scenario("tma_ring").build({"ctas": 1, "tiles": 9}, "early_release")
    (finding,) = check(schedule).findings
    found = tries(schedule, [finding])
    compute, load = (p.op_id for p in finding.where)
    ring = "TMA load source -> ring on full[0]"
    assert found[0] == Try(
        delays={(compute, 0): LONG},
        what="compute tile_hash delayed by 20000 cycles in warp 0",
    )
    assert [t.delays for t in found[:10]] == [
        {key: cycles}
        for cycles in (LONG, SHORT)
        for key in (*((compute, warp) for warp in range(4)), compute)
    ]
    assert found[10].what == f"{ring} delayed by 20000 cycles"  # one warp: no need to name it
    assert found[10].delays == {load: LONG}
    rest = [key[0] if isinstance(key, tuple) else key for t in found[12:] for key in t.delays]
    assert compute not in rest and load not in rest
    assert len(dict.fromkeys(rest)) > 8


def test_an_op_without_a_hook_is_delayed_at_the_one_before() -> None:
    problem = {"m": 128, "n": 128, "k": 384}
    schedule = find_scenario("ws_gemm").build(problem, "release_in_flight")
    findings = check(schedule).findings
    assert isinstance(next(o for o in schedule.ops() if o.id == findings[0].where[0].op_id),
                      ops.WgmmaMmaAsync)  # fmt: skip
    first = tries(schedule, findings)[0]
    assert first.what == (
        "WgmmaFence before wgmma acc0 += a_tile x b_tile delayed by 20000 cycles in warp 0"
    )
    assert list(first.delays) == [(op_id(schedule, ops.WgmmaFence), 0)]


def test_a_row_of_equal_ops_is_delayed_at_its_first() -> None:
    schedule = find_scenario("ws_gemm").build({"m": 128, "n": 128, "k": 64})
    stores = {o.id for o in schedule.ops() if isinstance(o, ops.StGlobal)}
    keys = [key for t in tries(schedule, []) for key in t.delays]
    delayed = {key[0] if isinstance(key, tuple) else key for key in keys}
    assert len(stores) > 60 and delayed & stores == {min(stores)}


def test_problems_of_twins_keep_their_own_parameters() -> None:
    scenario = find_scenario("ws_gemm")
    twin = scenario.twin("same_rows")
    problems = list(twin_problems(scenario, twin))
    assert len(problems) >= 2
    for params, clean in problems:
        assert params["consumers"] == 2 and params["block_m"] == 256
        assert clean.grid[0] == -(-params["m"] // 256)


def rows_of(names: tuple[str, ...], child: Child) -> dict[str, dict[str, object]]:
    with ProcessPoolExecutor(2) as pool, child:
        rows = list(measure_twins(submit_twins(names, pool), child, 7))
    return {str(row["twin"]): row for row in rows}


@pytest.mark.hw
@needs_nvrtc
def test_rows_of_twins() -> None:
    schedule = find_scenario("sync_copy").build({"ctas": 8, "tiles": 24}, "no_first_barrier")
    compute = next(p.op_id for p in check(schedule).findings[0].where if "compute" in p.what)
    rows = rows_of(("sync_copy",), fake("delays", "wrong data", compute, 1, LONG))
    row = rows["no_first_barrier"]
    assert (row["rule"], row["form"]) == ("READ_BEFORE_ARRIVAL", "wrong data")
    assert row["delay"] == "compute tile_hash delayed by 20000 cycles in warp 1"
    store = 2 * 5  # both amounts, four warps and all of them: the stores come first
    assert row["launches"] == PLAIN + store + 2 and row["l2"] == "cold"
    assert row["params"] == {"ctas": 8, "tiles": 24}


@pytest.mark.hw
@needs_nvrtc
def test_a_twin_that_random_delays_show_and_one_that_nothing_shows() -> None:
    task = [t for t in submit_in_pool("sync_copy") if t.twin.name == "no_second_barrier"]
    schedule = find_scenario("sync_copy").build({"ctas": 8, "tiles": 24}, "no_second_barrier")
    load = op_id(schedule, ops.LdGlobal) + 1  # the second of a row: only random delays are here
    delays = [int(random_table(schedule, 7 + i)[load, 3]) for i in range(RANDOM)]
    longest, tried = max(delays), len(task[0].problems[0].result().tries)
    with fake("delays", "exception", load, 3, longest) as child:
        (row,) = measure_twins(task, child, 7)
    assert row["form"] == "exception"
    assert row["delay"] == f"random delays, seed {7 + delays.index(longest)}"
    with fake("delays", "exception", load, 3, longest + 1) as child:
        (row,) = measure_twins(task, child, 7)
    assert (row["form"], row["delay"], row["l2"]) == ("hidden", "", "warm")
    assert row["launches"] == 2 * (PLAIN + tried + RANDOM)


@pytest.mark.hw
@needs_nvrtc
def test_twins_that_are_not_launched() -> None:
    with fake("no_map") as child:
        rows = list(measure_twins(submit_in_pool("cp_async_multistage"), child, 0))
    by_name = {row["twin"]: row for row in rows}
    assert by_name["prologue_overrun"] == {
        "scenario": "cp_async_multistage",
        "twin": "prologue_overrun",
        "rule": "OUT_OF_BOUNDS",
        "form": "not launched",
        "what": "it addresses memory out of bounds",
    }
    assert by_name["no_barrier"]["form"] == "not launched"
    assert by_name["no_barrier"]["what"] == "RuntimeError: the map of tensor source is refused"


def submit_in_pool(name: str):  # type: ignore[no-untyped-def]
    with ProcessPoolExecutor(2) as pool:
        return submit_twins([name], pool)
