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
    subject = load_subject(args)
    subject.needs_schedule()
    from asyncsim.ir.text import schedule_text

    emit("\n\n".join(schedule_text(kernel) for kernel in subject.kernels))
    return ExitCode.CLEAN
