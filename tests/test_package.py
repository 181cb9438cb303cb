"""What is installed and what is public."""

from __future__ import annotations

import tomllib
from pathlib import Path

import asyncsim

ROOT = Path(__file__).parents[1]


def test_public_names_are_listed_and_there() -> None:
    assert sorted(asyncsim.__all__) == asyncsim.__all__
    assert [name for name in asyncsim.__all__ if not hasattr(asyncsim, name)] == []


def test_the_version_is_that_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["version"] == asyncsim.__version__


def test_links_of_the_package_lead_to_the_top_level_folders() -> None:
    for name in ("hw", "scenarios"):
        link = ROOT / "asyncsim" / name
        assert link.is_symlink() and link.readlink().as_posix() == f"../{name}"
