"""Every Python block of the documentation runs, every console block shows what is printed now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asyncsim.catalog import builtin_scenarios
from tests.docs.pages import (
    ROOT,
    blocks,
    comparable,
    files_before,
    pages,
    run_console,
    run_python,
)

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


FILES = """
```python mine
a = 1
b = 2
```

```console
$ asyncsim list mine.py
```

```diff mine
 a = 1
-b = 2
+b = 3
```

```console
$ asyncsim list mine.py
```
"""


def test_files_of_a_page_change_from_block_to_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.docs.pages.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(FILES)
    first, second = blocks(page, "console")
    assert files_before(first) == {"mine.py": "a = 1\nb = 2\n"}
    assert files_before(second) == {"mine.py": "a = 1\nb = 3\n"}
    page.write_text(FILES.replace("-b = 2", "-b = 4"))
    with pytest.raises(AssertionError, match="what it changes stands there 0 times"):
        files_before(list(blocks(page, "console"))[1])
