"""A command line run in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from asyncsim.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command returned and printed."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """``cli("check", "tma_ring")`` runs ``asyncsim check tma_ring``."""

    def run(*argv: object) -> Done:
        capsys.readouterr()
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run
