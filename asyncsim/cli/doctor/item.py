"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Group(Enum):
    """What an item is needed for; the value is the heading."""

    MODEL = "check and predict"
    COMPILE = "compile"
    RUN = "run on a GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """``found``: in words. ``fix``: what to do if it is not ``ok``; ``requirement``: what pip is to
    install, if that is the fix. An ``essential`` item decides whether its group works."""

    group: Group
    name: str
    ok: bool
    found: str
    fix: str = ""
    requirement: str = ""
    essential: bool = True


def works(items: list[Item], group: Group) -> bool:
    """All that this group needs is there."""
    return all(item.ok for item in items if item.group is group and item.essential)


def pip_command(requirements: list[str]) -> str:
    """The exact command for the Python that runs this."""
    import shlex
    import sys

    words = [sys.executable, "-m", "pip", "install", *requirements]
    return " ".join(shlex.quote(word) for word in words)
