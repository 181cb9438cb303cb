"""``asyncsim show``: the schedule in its text form."""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, add_scenario
from asyncsim.cli.output import emit
from asyncsim.cli.subject import load_subject


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO and its parameters."""
    add_scenario(parser)


def run(args: Namespace) -> ExitCode:
    """Print the text form."""
    schedule = load_subject(args).needs_schedule()
    from asyncsim.ir.text import schedule_text

    emit(schedule_text(schedule))
    return ExitCode.CLEAN
