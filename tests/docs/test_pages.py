"""Every Python block of the documentation runs, every console block shows what is printed now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asyncsim.catalog import builtin_scenarios
from tests.docs.pages import ROOT, blocks, comparable, pages, run_console, run_python

CONSOLE = [block for page in pages() for block in blocks(page, "console")]


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks_run(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": f"docs_{page.stem}"}
    for block in blocks(page, "python"):
        run_python(block, namespace)


@pytest.mark.parametrize("block", CONSOLE, ids=lambda b: b.name)
def test_console_blocks_are_current(block) -> None:  # type: ignore[no-untyped-def]
    now = comparable(run_console(block), mark=block.mark)
    assert now == comparable(block.lines, mark=block.mark), "run `python -m tests.docs`"


def test_there_are_examples_to_run() -> None:
    assert len(CONSOLE) >= 10
    assert sum(1 for page in pages() for _ in blocks(page, "python")) >= 5


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [t for t in targets if not (page.parent / t).exists()]
    assert missing == []


def test_every_scenario_has_its_section() -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## `(\w+)`$", text, re.MULTILINE)
    assert sorted(sections) == [s.name for s in builtin_scenarios()]
