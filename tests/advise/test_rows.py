"""The Parquet file of a sweep."""

from __future__ import annotations

import io
import sys
from unittest import mock

import pytest

import asyncsim
from asyncsim.advise import advise
from asyncsim.advise.rows import COLUMNS, parquet, table
from asyncsim.errors import EnvironmentError_
from tests.advise.kernels import behaving

pq = pytest.importorskip("pyarrow.parquet")


def test_every_trial_is_a_row_of_typed_columns() -> None:
    advice = advise(behaving, params={"stages": 2}, jobs=1)
    read = pq.read_table(io.BytesIO(parquet(advice)))
    assert read.equals(table(advice))
    types = {field.name: str(field.type) for field in read.schema}
    assert types == {**COLUMNS, "p_stages": "int64", "p_how": "int64", "p_ffma": "int64"}
    rows = read.to_pylist()
    assert [r["verdict"] for r in rows] == ["clean", "findings", "no end", "no schedule", "failed"]
    best = advice.best
    assert best is not None and best.prediction is not None and best.prediction.sustained
    assert rows[0] == {
        "scenario": "behaving",
        "machine": "h200",
        "l2": "cold",
        "version": asyncsim.__version__,
        "verdict": "clean",
        "why": "",
        "cycles": best.prediction.cycles,
        "time_us": best.prediction.time_us,
        "clock_mhz": 1980.0,
        "sustained_us": best.prediction.sustained.time_us,
        "bound_by": best.prediction.bound_by,
        "ctas_per_sm": best.prediction.occupancy.ctas_per_sm,
        "limited_by": best.prediction.occupancy.limited_by,
        "waves": best.prediction.occupancy.waves,
        "smem_bytes": best.prediction.occupancy.smem_bytes,
        "measured_cycles": None,
        "measured_us": None,
        "p_stages": 2,
        "p_how": 0,
        "p_ffma": 8,
    }
    assert rows[4]["cycles"] is None and rows[4]["smem_bytes"] is None


def test_without_pyarrow_it_says_what_to_install() -> None:
    with mock.patch.dict(sys.modules, {"pyarrow": None}), pytest.raises(EnvironmentError_) as error:
        table(advise(behaving, params={"stages": 2}, jobs=1))
    assert str(error.value) == (
        "a Parquet file needs pyarrow; install it: pip install 'asyncsim[advise]'"
    )
