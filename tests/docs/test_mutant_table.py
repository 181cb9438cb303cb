"""The mutation score that docs/check.md shows is the one that was recorded."""

from __future__ import annotations

from tests.docs.mutant_table import CHECK_PAGE, with_score
from tests.mutants.record import table


def test_the_table_is_current() -> None:
    text = CHECK_PAGE.read_text(encoding="utf-8")
    assert with_score(text) == text, "run `python -m tests.docs`"


def test_what_is_not_shown_to_be_right_is_open() -> None:
    scores = {"ring": {"instances": 2, "error": 6, "redundant": 1, "undecided": 1}}
    assert table(scores).splitlines()[0::2] == [
        "| scenario | instances | mutants | refused | error | warning | same | redundant | open "
        "| score |",
        "| `ring` | 2 | 8 | 0 | 6 | 0 | 0 | 1 | 1 | 87.5 % |",
    ]
