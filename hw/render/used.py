"""What of a kernel's text is used: declarations that something names, variables that are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from asyncsim.ir.expr import Var, walk
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Set
from asyncsim.ir.validate.structure import expressions

_WORD = re.compile(r"[A-Za-z_]\w*")


def words(lines: Iterable[str]) -> set[str]:
    """The identifiers of a text."""
    return {word for line in lines for word in _WORD.findall(line)}


def used_only(declarations: Sequence[tuple[str, str]], text: Iterable[str]) -> list[str]:
    """Of (name, declaration) those that the text, or one of them behind it, names."""
    needed = words(text)
    kept: list[str] = []
    for name, declaration in reversed(declarations):
        if name in needed:
            kept.append(declaration)
            needed |= words([declaration])
    return kept[::-1]


def live_variables(schedule: Schedule) -> frozenset[str]:
    """Variables whose value reaches anything but variables that are not read themselves."""
    live: set[str] = set()
    feeds: list[tuple[str, set[str]]] = []
    for s in statements(schedule.body):
        names = {n.name for e in expressions(s) for n in walk(e) if isinstance(n, Var)}
        if isinstance(s, Set):
            feeds.append((s.var, names))
        else:
            live |= names
    grown = True
    while grown:
        more = {n for var, names in feeds if var in live for n in names} - live
        live |= more
        grown = bool(more)
    return frozenset(live)
