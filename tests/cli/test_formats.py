"""``check --format``: SARIF 2.1.0 and annotations for a workflow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asyncsim.catalog import builtin_scenarios
from tests.cli.test_check import small

SMALL = ("--tiles", 8, "--twin", "early_release")


def sarif(cli: Any, *argv: object) -> dict[str, Any]:
    log = json.loads(cli("check", *argv, "--format", "sarif").out)
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run: dict[str, Any] = log["runs"][0]
    return run


def test_a_finding_is_a_result_with_both_places(cli: Any) -> None:
    run = sarif(cli, "tma_ring", *SMALL)
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == ["WRITE_BEFORE_RELEASE"]
    (result,) = run["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == (
        "WRITE_BEFORE_RELEASE",
        0,
        "error",
    )
    assert result["message"]["text"] == (
        "TMA load source -> ring on full[0] overwrites ring while compute tile_hash may still read "
        "it; missing: an edge from the read to the overwrite; repair: release the stage after the "
        "last read, and let the writer wait for it"
    )
    lines = Path("scenarios/tma_ring.py").read_text().splitlines()
    for location, text in (
        (result["locations"][0], "k.tma.load("),
        (result["relatedLocations"][0], "k.mem.compute("),
    ):
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("scenarios/tma_ring.py")
        assert lines[place["region"]["startLine"] - 1].strip() == text


def test_the_witness_is_a_code_flow_with_a_thread_for_each_warp(cli: Any) -> None:
    (result,) = sarif(cli, "tma_ring", *SMALL)["results"]
    (flow,) = result["codeFlows"]
    threads = {t["id"]: t["locations"] for t in flow["threadFlows"]}
    assert set(threads) == {*(f"consumer warp {i}" for i in range(4)), "producer warp 0"}
    order = sorted(step["executionOrder"] for t in threads.values() for step in t)
    witness = json.loads(cli("check", "tma_ring", *SMALL, "--json").out)["findings"][0]["witness"]
    assert order == list(range(1, len(witness) + 1))
    for steps in threads.values():
        assert [s["executionOrder"] for s in steps] == sorted(s["executionOrder"] for s in steps)
        assert all(s["location"]["physicalLocation"]["region"]["startLine"] > 0 for s in steps)


@pytest.mark.parametrize("scenario", builtin_scenarios()[::4], ids=lambda s: s.name)
def test_twins_of_scenarios_name_their_rule_in_sarif(cli: Any, scenario: Any) -> None:
    """Some are enough: that each rule is named is tested with the JSON form."""
    twin = scenario.twins[0]
    run = sarif(cli, scenario.name, *small(scenario.name, twin.name))
    assert twin.rule.name in [r["ruleId"] for r in run["results"]]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_clean_schedule_has_no_results(cli: Any) -> None:
    run = sarif(cli, "tma_ring", "--tiles", 8)
    assert (run["results"], run["properties"]["verdict"]) == ([], "clean")
    assert cli("check", "tma_ring", "--tiles", 8, "--format", "github").out == ""


def test_a_finding_of_the_build_is_reported_too(cli: Any) -> None:
    argv = ("check", "tma_ring", "--stages", 64, "--tiles", 8)
    done = cli(*argv, "--format", "sarif")
    (result,) = json.loads(done.out)["runs"][0]["results"]
    assert (done.code, result["ruleId"], "codeFlows" in result) == (1, "SMEM_OVER_BUDGET", False)
    said = cli(*argv, "--format", "github").out
    assert said.startswith("::error ") and ",title=SMEM_OVER_BUDGET::" in said


def test_annotations_stand_at_the_later_access(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("check", "tma_ring", *SMALL, "--format", "github")
    lines = Path("scenarios/tma_ring.py").read_text().splitlines()
    load = max(i for i, line in enumerate(lines, 1) if line.strip() == "k.tma.load(")
    assert done.code == 1
    assert done.out.endswith("let the writer wait for it\n") and done.out.count("\n") == 1
    assert f"line={load},title=WRITE_BEFORE_RELEASE::TMA load source" in done.out
    assert "%0Amissing: an edge from the read to the overwrite%0Arepair: release" in done.out


def test_annotations_escape_what_ends_a_property(cli: Any, tmp_path: Path) -> None:
    folder = tmp_path / "a,b:c"
    folder.mkdir()
    file = folder / "x.py"
    file.write_text(Path("scenarios/tma_ring.py").read_text())
    out = cli("check", file, *SMALL, "--format", "github").out
    assert "a%2Cb%3Ac/x.py,line=" in out


def test_json_and_another_format_exclude_each_other(cli: Any) -> None:
    done = cli("check", "tma_ring", "--json", "--format", "sarif")
    assert (done.code, done.err) == (
        2,
        "asyncsim: --json and --format sarif exclude each other; drop one\n",
    )
