"""What can be completed: read from the parsers of the commands and from the catalogue."""

from __future__ import annotations

import importlib
from argparse import Action
from dataclasses import dataclass
from enum import Enum

from asyncsim.cli.options import CommandParser
from asyncsim.scenario import Scenario


class Kind(Enum):
    """What an option or a positional argument takes; OTHER: nothing that is known."""

    NOTHING = "nothing"
    SCENARIO = "scenario"
    TWIN = "twin"
    PARAMETER = "parameter"
    MACHINE = "machine"
    RULE = "rule"
    FILE = "file"
    CHOICE = "choice"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """``names`` are its spellings; ``choices`` those of a CHOICE."""

    names: tuple[str, ...]
    kind: Kind
    summary: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """``positional``: what stands beside its options, None if nothing does."""

    name: str
    summary: str
    options: tuple[Option, ...]
    positional: Option | None

    @property
    def parameters(self) -> bool:
        """Whether parameters of the scenario are options."""
        return any(o.kind is Kind.PARAMETER for o in self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """All words."""

    commands: tuple[Command, ...]
    scenarios: tuple[Scenario, ...]
    machines: tuple[str, ...]
    rules: tuple[str, ...]

    def words(self, option: Option) -> tuple[str, ...]:
        """What is completed after an option or in place of a positional; () for files and such."""
        match option.kind:
            case Kind.SCENARIO:
                return tuple(s.name for s in self.scenarios)
            case Kind.MACHINE:
                return self.machines
            case Kind.RULE:
                return self.rules
            case Kind.CHOICE:
                return option.choices
        return ()

    def options_of(self, kind: Kind) -> tuple[str, ...]:
        """Spellings of the options of a kind, over all commands."""
        found = (n for c in self.commands for o in c.options if o.kind is kind for n in o.names)
        return tuple(dict.fromkeys(found))

    def choices(self) -> dict[str, tuple[str, ...]]:
        """The choices by option."""
        return {
            name: option.choices
            for command in self.commands
            for option in command.options
            if option.kind is Kind.CHOICE
            for name in option.names
        }


def vocabulary() -> Vocabulary:
    """Of the commands, scenarios, machines and rules that are installed."""
    from asyncsim.catalog import builtin_scenarios
    from asyncsim.cli.main import COMMANDS
    from asyncsim.machine import known_machines
    from asyncsim.rules import Rule

    return Vocabulary(
        commands=tuple(_command(name, summary) for name, summary in COMMANDS.items()),
        scenarios=builtin_scenarios(),
        machines=known_machines(),
        rules=tuple(rule.name for rule in Rule),
    )


def option_of(parameter: str) -> str:
    """The option of a parameter: ``--tile-bytes`` of tile_bytes."""
    return "--" + parameter.replace("_", "-")


def _command(name: str, summary: str) -> Command:
    parser = CommandParser(name, summary)
    importlib.import_module(f"asyncsim.cli.commands.{name}").add_arguments(parser)
    actions = [_option(action) for action in parser._actions]
    return Command(
        name=name,
        summary=summary,
        options=tuple(o for o in actions if o.names),
        positional=next((o for o in actions if not o.names), None),
    )


def _option(action: Action) -> Option:
    return Option(
        names=tuple(action.option_strings),
        kind=_kind(action),
        summary=(action.help or "").partition(";")[0].replace("%%", "%"),
        choices=tuple(map(str, action.choices or ())),
    )


_BY_DEST = {
    "scenario": Kind.SCENARIO,
    "named": Kind.SCENARIO,
    "twin": Kind.TWIN,
    "params": Kind.PARAMETER,
    "machine": Kind.MACHINE,
    "rule": Kind.RULE,
}


def _kind(action: Action) -> Kind:
    if action.nargs == 0:
        return Kind.NOTHING
    if action.choices:
        return Kind.CHOICE
    if action.metavar in ("PATH", "FILE"):
        return Kind.FILE
    return _BY_DEST.get(action.dest, Kind.OTHER)
