"""A rule that breaks the build is a finding of ``check``, ``predict`` and ``run``: exit code 1."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

SMEM = """
    def big(stages=15):
        k = ScheduleBuilder("big")
        tile = k.smem_tile("tile", (128, 32), "f32", stages=stages)
        k.bar.sync()
        return k.finish()
"""
MAP = """
    def misaligned(columns=30):
        k = ScheduleBuilder("misaligned")
        data = k.global_tensor("data", (64, columns), "f32")
        k.tensor_map("data_map", data, box=(8, 8))
        k.bar.sync()
        return k.finish()
"""
CASES = [
    (
        SMEM,
        "SMEM_OVER_BUDGET",
        "245760 bytes of shared memory, a CTA may have 232448",
        "tile 'tile' takes 16384 bytes a stage: use at most 14 stages",
        "mine.py:6",
    ),
    (
        MAP,
        "TENSOR_MAP",
        "tensor map 'data_map': stride of 120 bytes",
        "strides are multiples of 16 bytes",
        "mine.py:7",
    ),
]


@pytest.fixture
def file(tmp_path: Path, request) -> str:  # type: ignore[no-untyped-def]
    path = tmp_path / "mine.py"
    path.write_text("\nfrom asyncsim import ScheduleBuilder\n" + dedent(request.param))
    return str(path)


@pytest.mark.parametrize("command", ["check", "predict", "run"])
@pytest.mark.parametrize(("file", "rule", "message", "repair", "at"), CASES, indirect=["file"])
def test_json(  # type: ignore[no-untyped-def]
    cli, file: str, command: str, rule: str, message: str, repair: str, at: str
) -> None:
    done = cli(command, file, "--json")
    report = json.loads(done.out)
    assert (done.code, report["verdict"]) == (1, "findings")
    (finding,) = report["findings"]
    assert (finding["rule"], finding["severity"]) == (rule, "error")
    assert (finding["message"], finding["repair"]) == (message, repair)
    assert [w["at"] for w in finding["where"]] == [at]
    assert finding["witness"] == []
    assert report["cycles"] is None and report["measured"] is None


@pytest.mark.parametrize(("file", "rule", "message", "repair", "at"), CASES[:1], indirect=["file"])
def test_text(cli, file: str, rule: str, message: str, repair: str, at: str) -> None:  # type: ignore[no-untyped-def]
    done = cli("check", file)
    assert done.code == 1
    assert done.out == (
        "big stages=15\n"
        "findings: a rule is broken (1 error)\n"
        "\n"
        f"error {rule}: {message}\n"
        f"  {at}: declared or issued\n"
        '    6 | tile = k.smem_tile("tile", (128, 32), "f32", stages=stages)\n'
        "        ^\n"
        f"  repair: {repair}\n"
    )


@pytest.mark.parametrize("command", ["show", "render"])
@pytest.mark.parametrize(("file", "rule", "message", "repair", "at"), CASES, indirect=["file"])
def test_commands_that_need_a_schedule(  # type: ignore[no-untyped-def]
    cli, file: str, command: str, rule: str, message: str, repair: str, at: str
) -> None:
    done = cli(command, file)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"asyncsim: {at}: {rule}: {message}; {repair}\n"
