"""Assertions for a test suite, and the plug-in that offers them as fixtures."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from asyncsim import Rule, Verdict
from asyncsim.catalog import find_scenario
from asyncsim.testing import ScheduleAssertion, assert_clean, assert_finds

RING = find_scenario("tma_ring")
SUITE = """
from asyncsim import Rule
from asyncsim.catalog import find_scenario

def ring(twin=""):
    return find_scenario("tma_ring").build({"tiles": 8}, twin)

def test_clean(assert_clean):
    assert_clean(ring())

def test_broken(assert_clean):
    assert_clean(ring("early_release"))

def test_finds(assert_finds):
    assert_finds(ring("early_release"), Rule.WRITE_BEFORE_RELEASE)
"""


def test_a_clean_schedule_passes() -> None:
    assert assert_clean(RING.build({"tiles": 8})).verdict is Verdict.CLEAN


def test_a_broken_one_raises_with_its_findings() -> None:
    with pytest.raises(ScheduleAssertion) as caught:
        assert_clean(RING.build({"tiles": 8}, "early_release"))
    lines = str(caught.value).splitlines()
    assert lines[0] == "tma_ring: findings: a rule is broken (1 error)"
    assert lines[2].startswith("error WRITE_BEFORE_RELEASE: ")
    assert [f.rule for f in caught.value.result.findings] == [Rule.WRITE_BEFORE_RELEASE]


def test_warnings_fail_under_strict_only() -> None:
    schedule = RING.build({"tiles": 8}, "no_proxy_fence")
    (warning,) = assert_clean(schedule).findings
    with pytest.raises(ScheduleAssertion, match=r"^tma_ring: findings: .*\(1 warning, --strict\)"):
        assert_clean(schedule, strict=True)
    assert assert_finds(schedule, warning.rule).verdict is Verdict.CLEAN


def test_a_rule_that_is_not_broken_is_not_found() -> None:
    with pytest.raises(ScheduleAssertion, match=r"^WRONG_TILE is not among the findings\n"):
        assert_finds(RING.build({"tiles": 8}), Rule.WRONG_TILE)


def test_the_fixtures_in_a_suite_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "test_ring.py").write_text(SUITE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "asyncsim.pytest_plugin", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout
    assert "E       error WRITE_BEFORE_RELEASE: TMA load source -> ring" in done.stdout
    assert "test_ring.py:12: ScheduleAssertion" in done.stdout  # the frames of asyncsim are hidden


def test_the_package_registers_the_plug_in() -> None:
    entry = tomllib.loads(Path("pyproject.toml").read_text())["project"]["entry-points"]
    assert entry["pytest11"] == {"asyncsim": "asyncsim.pytest_plugin"}
