"""A command line run in this process."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

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


@pytest.fixture
def sm_100a_machine(tmp_path: Path) -> str:
    """A machine file that says sm_100a: h200 under another name, without wgmma."""
    text = (resources.files("asyncsim.machine") / "h200.toml").read_text(encoding="utf-8")
    text = text.replace('name = "h200"', 'name = "other"')
    text = text.replace('architecture = "sm_90a"', 'architecture = "sm_100a"')
    text = re.sub(r"(?ms)^\[wgmma\].*?(?=^\[)", "", text)
    text = re.sub(r"(?m)^wgmma_.*\n", "", text)
    newer = (resources.files("asyncsim.machine") / "b200.toml").read_text(encoding="utf-8")
    text += re.search(r"(?ms)^\[tcgen05\].*?(?=^\[)", newer)[0]  # type: ignore[index]
    cancel = re.search(r"(?m)^cancel = .*\n", newer)[0]  # type: ignore[index]
    text = text.replace("[launch]\n", f"[launch]\n{cancel}")
    path = tmp_path / "other.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)
