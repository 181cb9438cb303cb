"""Numbers that a machine file has from the measured machine, kept equal to it."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from asyncsim.hw.calibrate.fit import to_toml

COPIED = ("as measured on the H200", "as elect.sync on the H200", "assumed for the H200 as well")
ABOUT = ("how", "source", "uncertainty", "residual", "conflicts")


def document(name: str) -> dict[str, Any]:
    """A machine file as it stands."""
    return tomllib.loads(text_of(name))


def text_of(name: str) -> str:
    return (resources.files("asyncsim.machine") / f"{name}.toml").read_text(encoding="utf-8")


def refreshed(name: str) -> str:
    """The text of a machine file with the numbers of `h200` where it says that they are."""
    own, measured = document(name), document("h200")
    for group, table in own.items():
        for key, entry in table.items() if isinstance(table, dict) else ():
            if isinstance(entry, dict) and entry["source"].startswith(COPIED):
                values = {u: v for u, v in measured[group][key].items() if u not in ABOUT}
                entry.update(values)
    return to_toml(own)
