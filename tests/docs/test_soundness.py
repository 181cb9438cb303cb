"""Every lemma of docs/soundness.md points at code and tests that exist."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "soundness.md"
REFERENCE = re.compile(r"`((?:asyncsim|tests)/[\w/]+(?:\.py)?)(?::([\w.]+))?`")


def references() -> list[tuple[str, str]]:
    """(file or folder, name inside it or "")."""
    return sorted(set(REFERENCE.findall(PAGE.read_text(encoding="utf-8"))))


def names(path: str) -> set[str]:
    """Functions and classes of a file; methods as Class.method."""
    found: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{f.name}" for f in node.body if isinstance(f, ast.FunctionDef)}
    return found


@pytest.mark.parametrize(("path", "name"), references(), ids=lambda part: part or "-")
def test_the_reference_exists(path: str, name: str) -> None:
    assert (ROOT / path).exists()
    assert not name or name in names(path)


def test_each_lemma_and_each_condition_names_code_and_a_test() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.match(r"\| [A-Z] \|", line)]
    lemmas = re.split(r"\n\*\*(?=\d\. )", text.partition("## Completeness")[0])[1:]
    assert (len(rows), len(lemmas)) == (9, 9)
    for part in rows + lemmas:
        named = {path.partition("/")[0] for path, _ in REFERENCE.findall(part)}
        assert "tests" in named or part.startswith("5."), part
    assert all("asyncsim" in row for row in rows)
