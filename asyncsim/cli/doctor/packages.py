"""The packages that asyncsim asks for, as its own metadata lists them, and what is installed."""

from __future__ import annotations

import platform
import re
import sys
from importlib import metadata

from asyncsim import __version__
from asyncsim.cli.doctor.item import Group, Item

MODEL = ("simpy", "numpy", "networkx")
# Without these part of a group works still: which part.
OTHERS = {
    "ml-dtypes": "run, to compare data",
    "protobuf": "--trace x.pftrace",
    "scipy": "calibrate",
}
HARDWARE = {"cuda-core": "", "cuda-bindings": "", "nvidia-cuda-nvrtc": "stored measurements"}
PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?(?P<versions>[^;]*)")
_CLAUSE = re.compile(r"(==|>=|<=|<|>)\s*([\d.]+)")


def installed() -> list[Item]:
    """Python, asyncsim, and each package that one of its commands needs."""
    wanted = requirements()
    recent = sys.version_info[:2] >= PYTHON
    found = [
        Item(
            group=Group.MODEL,
            name="python",
            ok=recent,
            found=platform.python_version(),
            fix="" if recent else "install Python 3.11 or newer",
        ),
        Item(group=Group.MODEL, name="asyncsim", ok=True, found=__version__),
    ]
    found += [_package(name, Group.MODEL, wanted) for name in MODEL]
    for group, names in ((Group.MODEL, OTHERS), (Group.COMPILE, HARDWARE)):
        found += [_package(n, group, wanted, used_for=what) for n, what in names.items()]
    return found


def requirements() -> dict[str, str]:
    """Requirement by package name, without markers; empty where asyncsim is not installed."""
    try:
        listed = metadata.requires("asyncsim") or []
    except metadata.PackageNotFoundError:
        return {}
    found = {}
    for text in listed:
        match = _REQUIREMENT.match(text)
        if match:
            found[match["name"].lower()] = text.partition(";")[0].strip()
    return found


def satisfies(version: str, requirement: str) -> bool:
    """Whether a version lies in the ranges of a requirement; suffixes such as rc1 are ignored."""
    clauses = _CLAUSE.findall(requirement)
    return all(_holds(_numbers(version), op, _numbers(bound)) for op, bound in clauses)


def _holds(have: tuple[int, ...], op: str, bound: tuple[int, ...]) -> bool:
    length = max(len(have), len(bound))
    a, b = (v + (0,) * (length - len(v)) for v in (have, bound))
    return {"==": a == b, ">=": a >= b, "<=": a <= b, "<": a < b, ">": a > b}[op]


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else (0,)


def _package(name: str, group: Group, wanted: dict[str, str], *, used_for: str = "") -> Item:
    requirement = wanted.get(name, name)
    said = f"; needed by {used_for}" if used_for else ""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = ""
    ok = bool(version) and satisfies(version, requirement)
    if not version:
        found = f"not installed{said}"
    else:
        found = version if ok else f"{version}, but {requirement} is needed"
    return Item(
        group=group,
        name=name,
        ok=ok,
        found=found,
        requirement="" if ok else requirement,
        essential=not used_for,
    )
