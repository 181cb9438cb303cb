"""docs/blackwell.md shows what is predicted now, and how far that is from what is published."""

from __future__ import annotations

import pytest

from tests.docs.blackwell_features import FEATURES
from tests.docs.blackwell_table import (
    BLACKWELL_PAGE,
    box_rows,
    chain_rows,
    gemm_rows,
    made,
    with_figures,
)
from tests.docs.nodes import faults

pytestmark = pytest.mark.xdist_group("blackwell")  # one worker simulates the rows, once


def test_the_tables_are_current() -> None:
    text = BLACKWELL_PAGE.read_text(encoding="utf-8")
    assert with_figures(text) == text, "run `python -m tests.docs`"


def test_every_feature_has_tests_that_exist() -> None:
    assert [fault for nodes in FEATURES.values() for node in nodes for fault in faults(node)] == []


def test_loads_are_predicted_within_an_eighth() -> None:
    errors = [row.error for row in made(box_rows)]
    assert min(errors) > -7 and max(errors) < 12.5


def test_chains_of_instructions_are_within_two_and_a_half_percent() -> None:
    assert max(abs(row.error) for row in made(chain_rows)) < 2.5


def test_each_step_of_the_ladder_is_predicted_to_help() -> None:
    *ladder, cube = made(gemm_rows)
    predicted = [row.predicted for row in ladder]
    assert predicted == sorted(predicted)
    assert abs(cube.error) < 20
