"""The shipped calibration of the H200, written from its raw files."""

from __future__ import annotations

from pathlib import Path

from asyncsim.hw.calibrate.numbers import Calibration, calibrated
from asyncsim.hw.calibrate.raw import Document, passes, read_raw
from asyncsim.hw.calibrate.report import report
from asyncsim.trace.files import replace_folder

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "docs/calibration/h200"
RAW = ROOT / "hw/calibrate/data/h200"


def raw_documents() -> list[Document]:
    return [read_raw(path) for path in sorted(RAW.glob("calibration-*.json"))]


def calibration(documents: list[Document]) -> Calibration:
    return calibrated([run for document in documents for run in passes(document)])


def write_report() -> None:
    documents = raw_documents()
    replace_folder(REPORT, report(calibration(documents), documents, "h200"))
