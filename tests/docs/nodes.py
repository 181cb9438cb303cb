"""Tests that pages name: ``folder/test_file.py::test_name``, below tests/."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from asyncsim.rules import Rule
from tests.docs.pages import ROOT

TESTS = ROOT / "tests"


@cache
def functions(path: Path) -> dict[str, str]:
    """The functions of a file with their text, decorators included."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    return {
        n.name: "\n".join(lines[min(x.lineno for x in (n, *n.decorator_list)) - 1 : n.end_lineno])
        for n in ast.parse(text).body
        if isinstance(n, ast.FunctionDef)
    }


def faults(node: str, rules: str = "") -> list[str]:
    """What is wrong with a test and the rules, "A, B", that it is said to find."""
    file, _, name = node.partition("::")
    path = TESTS / file
    if not path.is_file():
        return [f"{node}: no such file"]
    if not name.startswith("test_") or name not in functions(path):
        return [f"{node}: no such test"]
    wrong = []
    for rule in rules.split(", ") if rules else ():
        if rule not in Rule.__members__:
            wrong.append(f"{node}: no rule {rule}")
        elif not re.search(rf"\b{rule}\b", functions(path)[name]):
            wrong.append(f"{node} does not name {rule}")
    return wrong


def link(node: str, page: Path) -> str:
    """A link from a page to a test."""
    file, _, name = node.partition("::")
    up = "../" * len(page.relative_to(ROOT).parent.parts)
    return f"[{name.removeprefix('test_').replace('_', ' ')}]({up}tests/{file})"
