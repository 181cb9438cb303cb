"""The tables of docs/hardware.md are those that the stored launches give."""

from __future__ import annotations

import pytest

from tests.docs.proof_tables import HARDWARE_PAGE, with_tables


def test_the_tables_are_current() -> None:
    text = HARDWARE_PAGE.read_text(encoding="utf-8")
    assert with_tables(text) == text, "run `python -m tests.docs`"


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(AssertionError, match="survivors: 0 marks"):
        with_tables("no table")
