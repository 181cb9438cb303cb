"""Tests that pages name: ``folder/test_file.py::test_name``, below tests/."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from asyncsim.rules import Rule
from tests.docs.pages import ROOT

TESTS = ROOT / "tests"


@cache
def functions(path: Path) -> frozenset[str]:
    """The functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef))


def missing(node: str) -> str:
    """Why a test does not exist; empty if it does."""
    file, _, name = node.partition("::")
    path = TESTS / file
    if not path.is_file():
        return f"{node}: no such file"
    if not name.startswith("test_") or name not in functions(path):
        return f"{node}: no such test"
    return ""


def unknown_rules(names: str) -> list[str]:
    """Those of "A, B" that are no rules."""
    return [name for name in names.split(", ") if name not in Rule.__members__]


def link(node: str, page: Path) -> str:
    """A link from a page to a test."""
    file, _, name = node.partition("::")
    up = "../" * len(page.relative_to(ROOT).parent.parts)
    return f"[{name.removeprefix('test_').replace('_', ' ')}]({up}tests/{file})"
