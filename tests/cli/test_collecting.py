"""Cyclic garbage is looked for rarely while a command runs, and as before after it."""

from __future__ import annotations

import gc

import pytest

from asyncsim.cli.commands import list as listing
from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.main import main
from asyncsim.collecting import OBJECTS, rare_collection


def test_a_command_collects_rarely_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, bool]] = []

    def run(args: object) -> ExitCode:
        seen.append((gc.get_threshold()[0], gc.get_freeze_count() > 0))
        return ExitCode.CLEAN

    monkeypatch.setattr(listing, "run", run)
    before = gc.get_threshold()
    assert before[0] < OBJECTS
    assert main(["list"]) == 0
    assert seen == [(OBJECTS, True)]
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_it_is_as_before_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), rare_collection():
        raise ZeroDivisionError
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
