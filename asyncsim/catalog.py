"""Find a scenario: one that comes with asyncsim, or ``path/to/file.py[:name]``.

Runs the file's code and lets its exceptions through; the command line guards it.
See docs/scenarios.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from asyncsim.errors import UsageError
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Scenario, scenario
from asyncsim.suggest import did_you_mean

MAX_FILE_BYTES = 1 << 20


def builtin_scenarios() -> tuple[Scenario, ...]:
    """The scenarios that come with asyncsim, by name."""
    return tuple(s for name in _builtin_modules() for s in _own_scenarios(_builtin(name)))


def find_scenario(spec: str) -> Scenario:
    """The scenario that ``spec`` names. Raises UsageError, and whatever a file raises."""
    path, colon, name = spec.rpartition(":")
    if not (colon and path.endswith(".py")):
        path, name = spec, ""
    if path.endswith(".py") or "/" in path or "\\" in path:
        return _pick(load_file(path), path, name)
    modules = _builtin_modules()
    for module in [m for m in modules if m == spec] or modules:
        for found in _own_scenarios(_builtin(module)):
            if found.name == spec:
                return found
    known = [s.name for s in builtin_scenarios()]
    raise UsageError(
        f"unknown scenario {spec!r}; {did_you_mean(spec, known)}known: {', '.join(known)}; "
        "or give the path of a .py file"
    )


def file_scenarios(path: str) -> tuple[Scenario, ...]:
    """The scenarios that a file defines. Raises UsageError, and whatever the file raises."""
    module = load_file(path)
    return _own_scenarios(module) or (_pick(module, path, ""),)


def load_file(path: str) -> ModuleType:
    """Run a scenario file as a module.

    Its directory is appended to ``sys.path``, so that it can import helpers beside it; installed
    packages and the standard library win over them. Nothing is written beside the file.
    """
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read scenario file {path}: {error.strerror or error}; check the path"
        ) from None
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{path} is larger than {MAX_FILE_BYTES} bytes; is it a scenario file?")
    name = f"asyncsim_file_{file.stem}"
    module = ModuleType(name)
    module.__file__ = path
    folder = str(file.parent.resolve())
    if folder not in sys.path:
        sys.path.append(folder)
    code = compile(data, path, "exec", dont_inherit=True)
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def _builtin_modules() -> list[str]:
    import asyncsim.scenarios as package

    files = (entry for folder in package.__path__ for entry in Path(folder).glob("*.py"))
    return sorted(f.stem for f in files if not f.stem.startswith("_"))


def _builtin(name: str) -> ModuleType:
    from importlib import import_module

    return import_module(f"asyncsim.scenarios.{name}")


def _own_scenarios(module: ModuleType) -> tuple[Scenario, ...]:
    """Scenarios that the module defines, without those that it imports."""
    found = [v for v in vars(module).values() if isinstance(v, Scenario)]
    return tuple(s for s in found if s.function.__module__ == module.__name__)


def _pick(module: ModuleType, path: str, name: str) -> Scenario:
    public = {n: v for n, v in vars(module).items() if not n.startswith("_")}
    if name:
        if name not in public:
            known = [n for n, v in public.items() if _usable(v, module)]
            raise UsageError(
                f"{path} defines no {name!r}; {did_you_mean(name, known)}"
                f"it has {', '.join(known) or 'no scenario'}"
            )
        return _as_scenario(public[name], path, name)
    choices = {n: v for n, v in public.items() if isinstance(v, Scenario) and _usable(v, module)}
    if not choices:
        choices = {n: v for n, v in public.items() if _usable(v, module)}
        returning = {n: v for n, v in choices.items() if _says_schedule(v)}
        choices = returning or choices
    if len(choices) == 1:
        ((name, value),) = choices.items()
        return _as_scenario(value, path, name)
    if not choices:
        raise UsageError(
            f"{path} defines no scenario; write a function that returns k.finish(), "
            "best with @scenario above it"
        )
    first = next(iter(choices))
    raise UsageError(
        f"{path} defines {', '.join(choices)}; name the one that is meant, e.g. {path}:{first}"
    )


def _usable(value: object, module: ModuleType) -> bool:
    if isinstance(value, Scenario):
        return value.function.__module__ == module.__name__
    if isinstance(value, FunctionType):
        return value.__module__ == module.__name__
    return isinstance(value, Schedule | Program)


def _says_schedule(value: object) -> bool:
    if isinstance(value, Schedule | Program):
        return True
    said = getattr(value, "__annotations__", {}).get("return")
    return said in (Schedule, Program, "Schedule", "Program")


def _as_scenario(value: Any, path: str, name: str) -> Scenario:
    if isinstance(value, Scenario):
        return value
    if isinstance(value, Schedule | Program):
        kind = "schedule" if isinstance(value, Schedule) else "program"
        return Scenario(
            name=name,
            summary=f"{kind} {value.name!r} of {Path(path).name}",
            archs=value.archs,
            function=lambda: value,
            params={},
            twins=(),
        )
    if not callable(value):
        raise UsageError(
            f"{path}:{name} is of type {type(value).__name__}; name a scenario, a Schedule, "
            "or a function that returns one"
        )
    return scenario(summary=_summary(value), archs=())(value)


def _summary(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0] or "a plain function"
