"""The table of the mutation score in docs/check.md, between its marks."""

from __future__ import annotations

from tests.docs.pages import ROOT
from tests.mutants.record import load, table

CHECK_PAGE = ROOT / "docs" / "check.md"
MARK, END = "<!-- mutants -->\n", "<!-- end -->\n"


def with_score(text: str) -> str:
    """The page with its table made anew."""
    before, after = text.split(MARK)
    return f"{before}{MARK}{table(load())}{END}{after.split(END, 1)[1]}"
