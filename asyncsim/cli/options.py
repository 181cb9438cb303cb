"""Arguments of the commands: argparse, with the parameters of a scenario as options.

``--stages 4`` of a parameter is rewritten to ``-p stages=4`` before argparse sees it, so that the
options do not depend on the scenario and the scenario's file runs only when a command needs it.
"""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from asyncsim.errors import UsageError
from asyncsim.suggest import did_you_mean

_INTEGER = re.compile(r"[+-]?\d")
_OPTION = re.compile(r"--([A-Za-z][\w-]*)(?:=(.*))?\Z", re.DOTALL)


class CommandParser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError and knows which options it has."""

    def __init__(self, name: str, summary: str) -> None:
        self.takes_value: dict[str, bool] = {}
        self._dest: dict[str, str] = {}
        super().__init__(
            prog=f"asyncsim {name}",
            description=summary,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def add_argument(self, *names: Any, **fields: Any) -> argparse.Action:
        """As argparse's; notes which options take a value."""
        action = super().add_argument(*names, **fields)
        self.takes_value.update(dict.fromkeys(action.option_strings, action.nargs != 0))
        self._dest.update(dict.fromkeys(action.option_strings, action.dest))
        return action

    def refuse_empty(self, option: str) -> None:
        """Raise for ``--out ""``, unless that is its default: a variable without a value."""
        if self.takes_value.get(option) and self.get_default(self._dest[option]) != "":
            raise UsageError(f"{option} is empty; give it a value, or leave it out")

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of exiting."""
        raise UsageError(f"{message}; see `{self.prog} --help`")


def add_scenario(parser: CommandParser) -> None:
    """SCENARIO, its parameters and ``--twin``."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a name, or path/to/file.py[:name]")
    parser.add_argument(
        "-p",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of the scenario; --NAME VALUE is the same",
    )
    parser.add_argument("--twin", metavar="NAME", default="", help="build this broken twin")
    parser.epilog = (
        "Every parameter of a scenario is an option: --stages 4. "
        "`asyncsim list` shows parameters and twins."
    )


def add_machine(parser: CommandParser, *, default: str | None = "h200") -> None:
    """``--machine``: a name or the path of a TOML file."""
    said = f" (default {default})" if default else ""
    parser.add_argument(
        "--machine", metavar="NAME", default=default, help=f"a machine or path.toml{said}"
    )


def add_json(parser: CommandParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON value")


def add_strict(parser: CommandParser) -> None:
    """``--strict``."""
    parser.add_argument("--strict", action="store_true", help="a warning counts as an error")


def add_timing(parser: CommandParser) -> None:
    """What ``predict`` and ``run`` have in common."""
    parser.add_argument(
        "--l2", choices=("cold", "warm"), default="cold", help="L2 before the run (default cold)"
    )
    parser.add_argument("--exact", action="store_true", help="simulate every SM, not a sample")
    parser.add_argument("--timeline", action="store_true", help="print the timeline as text")
    parser.add_argument(
        "--trace", metavar="PATH", help="write the timeline for Perfetto: .pftrace, or .json"
    )


def add_power(parser: CommandParser) -> None:
    """What the sustained run of ``predict`` rests on."""
    parser.add_argument(
        "--operands",
        choices=("random", "zeros"),
        default="random",
        help="of the sustained run (default random): zeros draw less power",
    )
    parser.add_argument(
        "--power-limit", metavar="W", type=_watts, help="of the board (default: the machine's)"
    )


def _watts(text: str) -> float:
    from asyncsim.predict.power import MAX_WATTS

    try:
        watts = float(text)
    except ValueError:
        watts = 0.0
    if not 0 < watts <= MAX_WATTS:
        raise argparse.ArgumentTypeError(f"{text!r} is no power of a board; write watts, as 700")
    return watts


def with_parameters(parser: CommandParser, argv: list[str]) -> list[str]:
    """``argv`` with options that the parser does not have turned into ``-p`` pairs."""
    out: list[str] = []
    rest = list(argv)
    while rest:
        token = rest.pop(0)
        if token == "--":
            return [*out, token, *rest]
        match = _OPTION.match(token)
        if match is None or f"--{match[1]}" in parser.takes_value:
            out.append(token)
            option, equals, value = token.partition("=")
            if rest and not equals and parser.takes_value.get(token):
                equals, value = " ", rest.pop(0)
                out.append(value)
            if equals and not value:
                parser.refuse_empty(option)
            continue
        name, value = match[1], match[2]
        if "-p" not in parser.takes_value:
            hint = did_you_mean(f"--{name}", parser.takes_value, cutoff=0.7)
            raise UsageError(f"unknown option --{name}; {hint}see `{parser.prog} --help`")
        if value is None:
            value = _value_of(parser, name, rest)
        out += ["-p", f"{name.replace('-', '_')}={value}"]
    return out


def _value_of(parser: CommandParser, name: str, rest: list[str]) -> str:
    following = rest[0] if rest else "-"
    if _INTEGER.match(following):
        return rest.pop(0)
    likely = did_you_mean(f"--{name}", parser.takes_value, cutoff=0.8)
    if likely:
        raise UsageError(f"unknown option --{name}; {likely}a parameter takes a value: --{name} 4")
    if following.startswith("-"):
        raise UsageError(f"--{name} has no value; a parameter takes one: --{name} 4")
    return rest.pop(0)


def parse_parameters(pairs: list[str]) -> dict[str, int]:
    """``["stages=4"]`` as a dictionary. Raises UsageError."""
    values: dict[str, int] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise UsageError(f"-p {pair}: write -p NAME=VALUE, for example -p stages=4")
        try:
            values[name] = int(text, 0)
        except ValueError:
            raise UsageError(
                f"parameter {name} = {text!r} is not an integer; write {name}=4"
            ) from None
    return values
