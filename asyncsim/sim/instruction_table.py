"""How many instructions compilers make of what is no op: ``instructions.toml``, counts of SASS."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from importlib import resources


@dataclass(frozen=True, slots=True)
class Instructions:
    """Issue slots of a warp, by what they are for; see the file for what each stands for."""

    condition: int
    operator: int
    assignment: int
    ldmatrix_run: int
    cp_async_run: int
    cp_async: int
    cp_async_part: int


def _load() -> Instructions:
    text = (resources.files("asyncsim.sim") / "instructions.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    return Instructions(*(int(document[f.name]["instructions"]) for f in fields(Instructions)))


INSTRUCTIONS = _load()
