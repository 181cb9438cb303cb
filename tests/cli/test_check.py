"""``check``: verdict, findings and exit codes, as text and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from asyncsim import scenarios
from asyncsim.catalog import builtin_scenarios, find_scenario
from asyncsim.rules import Severity
from tests.check.test_scenarios import SMALL as IN_CHECK

KEYS = [
    "scenario",
    "params",
    "machine",
    "verdict",
    "findings",
    "cycles",
    "time_us",
    "clock_mhz",
    "bound_by",
    "occupancy",
    "engines",
    "l2_read_bytes",
    "sustained",
    "stalls",
    "measured",
    "error_pct",
]
SMALL = {
    s.name: IN_CHECK.get(s.name, {"tiles": 12} if "tiles" in s.params else {})
    for s in builtin_scenarios()
}
FILES = {path.name for path in Path(scenarios.__file__).parent.glob("*.py")}
TWINS = {(t.rule, t.severity): (s.name, t.name) for s in builtin_scenarios() for t in s.twins}
"""One twin of each rule; that every twin is named by its rule is tested of ``check`` itself."""


def small(name: str, twin: str = "") -> list[str]:
    """Options for a small instance; what the twin needs stands as it is."""
    needed = find_scenario(name).twin(twin).params if twin else {}
    pairs = [f"-p{n}={v}" for n, v in SMALL[name].items() if n not in needed]
    return [*pairs, "--twin", twin] if twin else pairs


@pytest.mark.parametrize("name", ["tma_ring", "multicast_gemm", "bw_gemm"])
def test_clean_forms_are_silent(cli, name: str) -> None:  # type: ignore[no-untyped-def]
    done = cli("check", name, *small(name))
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\nclean: no interleaving breaks a rule\n")


@pytest.mark.parametrize("name", SMALL)
def test_json_of_a_clean_form(cli, name: str) -> None:  # type: ignore[no-untyped-def]
    done = cli("check", name, *small(name), "--json", "--strict")
    report = json.loads(done.out)
    assert (done.code, list(report)) == (0, KEYS)
    assert (report["scenario"], report["verdict"], report["findings"]) == (name, "clean", [])
    assert report["params"] == {**find_scenario(name).params, **SMALL[name]}
    assert all(report[key] is None for key in ("machine", *KEYS[5:]))


@pytest.mark.parametrize(("name", "twin"), TWINS.values(), ids=str)
def test_twins_are_named_by_their_rule(cli, name: str, twin: str) -> None:  # type: ignore[no-untyped-def]
    meant = find_scenario(name).twin(twin)
    done = cli("check", name, *small(name, twin), "--json")
    report = json.loads(done.out)
    assert report["params"]["twin"] == twin
    finding = next(f for f in report["findings"] if f["rule"] == meant.rule.name)
    assert finding["severity"] == meant.severity.value
    if meant.severity is Severity.ERROR:
        assert (done.code, report["verdict"]) == (1, "findings")
    else:
        assert (done.code, report["verdict"]) == (0, "clean")
        strict = cli("check", name, *small(name, twin), "--json", "--strict")
        assert (strict.code, json.loads(strict.out)["verdict"]) == (1, "findings")
    assert finding["repair"] and finding["message"]
    assert {place["at"].partition(":")[0] for place in finding["where"]} <= FILES


def test_text_of_a_finding(cli) -> None:  # type: ignore[no-untyped-def]
    out = cli("check", "tma_ring", "--tiles", 12, "--twin", "early_release").out
    head, _, finding = out.partition("\n\n")
    assert head.splitlines()[-1] == "findings: a rule is broken (1 error)"
    assert finding.startswith("error WRITE_BEFORE_RELEASE: ")
    for part in (
        "tma_ring.py:",
        " | k.tma.load(\n",
        "  missing: ",
        "  witness of 43 steps, the last 12:\n",
        "  repair: ",
    ):
        assert part in finding
    assert re.search(r"^ +43\. \w", finding, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 80


def test_warnings_stand_beside_a_clean_verdict(cli) -> None:  # type: ignore[no-untyped-def]
    argv = ("check", "tma_ring", "--tiles", 12, "--twin", "no_proxy_fence")
    done = cli(*argv)
    assert done.code == 0
    assert "clean: no interleaving breaks a rule (1 warning)\n" in done.out
    assert "warning PROXY_WAR: " in done.out
    strict = cli(*argv, "--strict")
    assert strict.code == 1
    assert "findings: a rule is broken (1 warning, --strict)\n" in strict.out


def test_options_and_pairs_mean_the_same(cli) -> None:  # type: ignore[no-untyped-def]
    spelled = ("--tile-bytes=4096", "--tile_bytes=4096", "-ptile_bytes=4096", "-p tile-bytes=4096")
    reports = {cli("check", "tma_ring", "--tiles", 4, "--json", s).out for s in spelled}
    assert len(reports) == 1 and '"tile_bytes": 4096' in reports.pop()


def test_a_machine_of_another_architecture_is_refused(cli, sm_100a_machine: str) -> None:  # type: ignore[no-untyped-def]
    for command in ("check", "predict", "render"):
        done = cli(command, "ws_gemm", "--machine", sm_100a_machine)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            "asyncsim: ws_gemm is written for sm_90a; machine 'other' is sm_100a; "
            "use --machine h100 or h200\n"
        )
    done = cli("check", "tma_ring", "--tiles", 4, "--machine", sm_100a_machine, "--json")
    assert (done.code, json.loads(done.out)["machine"]) == (0, "other")
