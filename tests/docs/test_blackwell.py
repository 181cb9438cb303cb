"""docs/blackwell.md shows what is predicted now, and how far that is from what is published."""

from __future__ import annotations

from tests.docs.blackwell_table import BLACKWELL_PAGE, chain_rows, gemm_rows, with_figures


def test_the_tables_are_current() -> None:
    text = BLACKWELL_PAGE.read_text(encoding="utf-8")
    assert with_figures(text) == text, "run `python -m tests.docs`"


def test_chains_of_instructions_are_within_two_and_a_half_percent() -> None:
    assert max(abs(row.error) for row in chain_rows()) < 2.5


def test_each_step_of_the_ladder_is_predicted_to_help() -> None:
    *ladder, cube = gemm_rows()
    predicted = [row.predicted for row in ladder]
    assert predicted == sorted(predicted)
    assert abs(cube.error) < 20
