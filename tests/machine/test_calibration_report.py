"""The shipped calibration of the H200: it follows from its raw files, and what it found holds."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("scipy")

from asyncsim.hw.calibrate.facts import FACTS, Found, found
from asyncsim.hw.calibrate.fit import to_toml
from asyncsim.hw.calibrate.machine_file import machine_document
from asyncsim.hw.calibrate.numbers import Calibration
from asyncsim.hw.calibrate.raw import Document, not_quiet, passes
from asyncsim.hw.calibrate.report import KEPT, PAGE, report
from asyncsim.machine import load_machine, parse_machine

from . import calibration_page
from .calibration_page import REPORT, raw_documents

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
REFRESH = "run `python -m tests.machine`"


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return raw_documents()


@pytest.fixture(scope="module")
def calibration(documents: list[Document]) -> Calibration:
    return calibration_page.calibration(documents)


@pytest.fixture(scope="module")
def facts(documents: list[Document]) -> dict[str, Found]:
    runs = [run for document in documents for run in passes(document)]
    return {one.fact.what: one for one in found(runs)}


BOARDS = ["243194c8", "62960942", "6b392d95", "f290749d"]  # of the first, power alone


def test_raw_files_are_of_quiet_boards(documents: list[Document]) -> None:
    assert [d["provenance"]["board"] for d in documents] == BOARDS
    assert [len(passes(d)) for d in documents] == [1, 3, 3, 3]
    assert [not_quiet(d) for d in documents] == ["", "", "", ""]
    assert not [row for d in documents for row in d["rows"] if "error" in row]


def test_the_report_follows_from_the_raw_files(
    calibration: Calibration, documents: list[Document]
) -> None:
    """But for what it keeps of the machine file."""
    files = report(calibration, documents, "h200")
    assert sorted(files) == sorted(path.name for path in REPORT.iterdir()), REFRESH
    stored = (REPORT / PAGE).read_text(encoding="utf-8").partition(KEPT)[0]
    written = files[PAGE].partition(KEPT)[0]
    assert NUMBER.sub("#", stored) == NUMBER.sub("#", written), REFRESH
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (stored, written)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=0.02), REFRESH


def test_the_calibrated_file_is_a_machine(
    calibration: Calibration, documents: list[Document]
) -> None:
    machine = parse_machine(to_toml(machine_document(calibration, documents, "h200")))
    counts = machine.count_by_how()
    assert counts["measured"] >= 100 and counts["inferred"] >= 10
    assert machine.name == "h200" and machine.boards == tuple(BOARDS)
    known = [(k, p) for k, p in machine.provenance.items() if p.how == "measured"]
    without = [key for key, origin in known if not origin.uncertainty]
    # counts that all runs agree on
    assert without == ["gpu.cluster_sms", "tma.queue_depth", "wgmma.queue_depth"]
    shipped = load_machine("h200")
    assert machine.gpu.gpc_sms == shipped.gpu.gpc_sms
    assert machine.gpu.cluster_sms == shipped.gpu.cluster_sms


def test_every_fact_has_its_rows(facts: dict[str, Found]) -> None:
    assert len(facts) == len(FACTS)


def test_most_of_the_study_is_found_again(facts: dict[str, Found]) -> None:
    compared = [abs(one.percent) for one in facts.values() if one.percent is not None]
    assert len(compared) > 100
    assert sum(percent <= 3 for percent in compared) / len(compared) >= 0.6
    tensor = [one for one in facts.values() if one.fact.topic == "Tensor core"]
    assert all(abs(one.percent or 0) < 4 for one in tensor)


@pytest.mark.parametrize(
    ("what", "low", "high"),
    [
        ("TMA store beside wgmma N = 64", 1.4, 1.7),
        ("TMA store beside wgmma N = 256", 12, 13),
        ("TMA load beside wgmma N = 256", 80, 90),
        ("train of 16 KB, 5d", 104, 111),
        ("train of 16 KB, im2col, 128 pixels", 104, 111),
        ("box of 256 rows, 32-byte rows", 254, 257),
        ("parked lanes beyond a lone one, 8 FFMA in the loop", 120, 130),
        ("24 MB read again behind 108 MB; hints: none, evict_first", 35, 40),
        ("24 MB read again behind 108 MB; hints: evict_last, none", 20, 24),
        ("wgmma N = 64, one warpgroup of each of two CTAs", 64, 65),
        ("clock under wgmma, operands of zeros", 1700, 1800),
    ],
)
def test_open_questions_are_answered(
    facts: dict[str, Found], what: str, low: float, high: float
) -> None:
    assert low <= facts[what].ours <= high
