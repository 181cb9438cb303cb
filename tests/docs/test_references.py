"""Pages that docstrings and messages name exist."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = re.compile(r"\bdocs/[\w/-]+\.(?:md|py|svg)\b")


def test_pages_named_in_the_source_exist() -> None:
    named = {
        (page, path.relative_to(ROOT).as_posix())
        for folder in ("asyncsim", "hw", "scenarios")
        for path in (ROOT / folder).resolve().rglob("*.py")
        for page in PAGE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert sorted(f"{where}: {page}" for page, where in named if not (ROOT / page).exists()) == []
