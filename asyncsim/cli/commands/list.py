"""``asyncsim list``: scenarios, their parameters and twins."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.guard import stranger
from asyncsim.cli.options import CommandParser, add_json
from asyncsim.cli.output import emit, emit_json, wrap
from asyncsim.cli.subject import load_scenario
from asyncsim.free import Free
from asyncsim.scenario import Scenario


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO and ``--json``."""
    parser.add_argument(
        "scenario", metavar="SCENARIO", nargs="?", help="this one, or those of this .py file"
    )
    add_json(parser)


def run(args: Namespace) -> ExitCode:
    """Print a block for each scenario, or the array of the contract."""
    scenarios = _scenarios(args.scenario)
    if args.json:
        emit_json([_json(s) for s in scenarios])
    else:
        emit("\n\n".join(_text(s, free=bool(args.scenario)) for s in scenarios))
    return ExitCode.CLEAN


def _scenarios(spec: str | None) -> tuple[Scenario, ...]:
    from asyncsim.catalog import builtin_scenarios, file_scenarios

    if spec is None:
        return builtin_scenarios()
    if not spec.endswith(".py"):
        return (load_scenario(spec),)
    with stranger(f"loading {spec}"):
        return file_scenarios(spec)


def _json(s: Scenario) -> dict[str, Any]:
    return {
        "name": s.name,
        "summary": s.summary,
        "arch": list(s.archs),
        "params": dict(s.params),
        "free": {name: _values(free) for name, free in s.free.items()},
        "twins": [{"name": t.name, "rule": t.rule.name} for t in s.twins],
    }


def _values(free: Free) -> list[int] | None:
    """None where they depend on the machine."""
    return None if callable(free.values) else list(free.values)


def _free(s: Scenario) -> Iterator[str]:
    for name, free in s.free.items():
        values = _values(free)
        yield f"{name}=" + (",".join(map(str, values)) if values else "by the machine")


def _text(s: Scenario, *, free: bool) -> str:
    """``free``: with the parameters that ``advise`` sweeps."""
    archs = f" [{', '.join(s.archs)}]" if s.archs else ""
    out = [wrap(f"{s.name}: {s.summary}{archs}", indent="    ")]
    if s.params:
        out.append(wrap("  ".join(f"{n}={v}" for n, v in s.params.items()), first="  params  "))
    if free and s.free:
        out.append(wrap("  ".join(_free(s)), first="  free    "))
    width = max((len(t.name) for t in s.twins), default=0)
    for i, twin in enumerate(s.twins):
        head = "  twins   " if i == 0 else "          "
        mark = "" if twin.severity.value == "error" else f" ({twin.severity.value})"
        out.append(f"{head}{twin.name:<{width}}  {twin.rule.name}{mark}")
    return "\n".join(out)
