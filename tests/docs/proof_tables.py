"""The tables of docs/hardware.md that stored launches give, between ``<!-- NAME -->`` marks."""

from __future__ import annotations

from asyncsim.hw.proof_table import load, survivors, twins
from tests.docs.pages import ROOT

HARDWARE_PAGE = ROOT / "docs" / "hardware.md"
TABLES = {"survivors": survivors, "twins": twins}


def with_tables(text: str) -> str:
    """The page with its tables made anew."""
    stored = load()
    for name, table in TABLES.items():
        mark, end = f"<!-- {name} -->\n", "<!-- end -->\n"
        assert text.count(mark) == 1, f"{name}: {text.count(mark)} marks"
        before, after = text.split(mark)
        text = f"{before}{mark}{table(stored)}{end}{after.split(end, 1)[1]}"
    return text
