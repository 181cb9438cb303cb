"""A machine some of whose numbers are all slower, or faster.

Imports the standard library only.
"""

__all__ = ["scaled", "slower"]

from collections.abc import Set
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from asyncsim.machine.model import Machine
from asyncsim.machine.quantity import Curve, How


def slower(machine: Machine, how: How, factor: Fraction) -> Machine:
    """``scaled``, of the numbers that are known in this way."""
    chosen = {key for key, origin in machine.provenance.items() if origin.how == how}
    return scaled(machine, chosen, factor)


def scaled(machine: Machine, chosen: Set[str], factor: Fraction) -> Machine:
    """Times among the chosen keys take ``factor`` as long, rates give 1 / ``factor``.

    Counts, sizes and clocks stay, and what the architecture lacks.
    """
    units: dict[str, Any] = {}
    for group in fields(machine):
        unit: Any = getattr(machine, group.name)
        if is_dataclass(unit) and not isinstance(unit, type):
            units[group.name] = replace(unit, **_scaled(group.name, unit, chosen, factor))
    return replace(machine, **units)


def _scaled(group: str, unit: Any, chosen: Set[str], factor: Fraction) -> dict[str, Any]:
    found = {}
    for field in fields(unit):
        value = getattr(unit, field.name)
        for suffix, by in (("_bytes_per_cycle", 1 / factor), ("_cycles", factor)):
            key = f"{group}.{field.name.removesuffix(suffix)}"
            if field.name.endswith(suffix) and value is not None and key in chosen:
                found[field.name] = _times(value, by)
    return found


def _times(value: Fraction | Curve, by: Fraction) -> Fraction | Curve:
    if isinstance(value, Curve):
        return Curve(tuple((x, y * by) for x, y in value.points))
    return value * by
