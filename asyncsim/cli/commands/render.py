"""``asyncsim render``: the CUDA C++ of a schedule."""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, add_machine, add_scenario
from asyncsim.cli.output import emit, note, write_whole
from asyncsim.cli.subject import load_machine_for, load_subject
from asyncsim.errors import UsageError


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO, its parameters, the architecture, ``--out``."""
    add_scenario(parser)
    add_machine(parser)
    parser.add_argument("--arch", metavar="ARCH", help="for example sm_100a, instead of --machine")
    parser.add_argument("--out", metavar="PATH", help="write the text to a file")


def run(args: Namespace) -> ExitCode:
    """Print or write the text. Rendering needs no GPU and no CUDA package."""
    schedule = load_subject(args).needs_schedule()
    arch = args.arch or load_machine_for(args.machine, schedule).architecture
    if arch not in schedule.archs:
        raise UsageError(
            f"{schedule.name} is written for {', '.join(schedule.archs)}, not for {arch}; "
            "choose another --arch"
        )
    from asyncsim.hw.render import render

    text = render(schedule, arch).source
    if args.out:
        write_whole(args.out, text.encode())
        note(f"wrote {args.out}")
    else:
        emit(text)
    return ExitCode.CLEAN
