"""``asyncsim render``: the CUDA C++ of a schedule."""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, add_machine, add_scenario
from asyncsim.cli.output import emit, note, write_whole
from asyncsim.cli.progress import working
from asyncsim.cli.subject import Subject, load_machine_for, load_subject
from asyncsim.cli.verdict import with_user_code
from asyncsim.errors import UsageError


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO, its parameters, the architecture, ``--out``."""
    add_scenario(parser)
    add_machine(parser)
    parser.add_argument("--arch", metavar="ARCH", help="for example sm_100a, instead of --machine")
    parser.add_argument("-o", "--out", metavar="PATH", help="write the text to a file")
    parser.add_argument(
        "--standalone",
        action="store_true",
        help="with a host program that fills the inputs, launches, and checks the results",
    )


def run(args: Namespace) -> ExitCode:
    """Print or write the text. Rendering needs no GPU and no CUDA package."""
    subject = load_subject(args)
    schedule = subject.needs_schedule()
    arch = args.arch or load_machine_for(args.machine, schedule).architecture
    if arch not in schedule.archs:
        raise UsageError(
            f"{schedule.name} is written for {', '.join(schedule.archs)}, not for {arch}; "
            "choose another --arch"
        )
    text = _standalone(subject, arch) if args.standalone else _kernels(subject, arch)
    if args.out:
        write_whole(args.out, text.encode())
        build = f"; build it: nvcc -arch={arch} {args.out} -lcuda" if args.standalone else ""
        note(f"wrote {args.out}{build}")
    else:
        emit(text)
    return ExitCode.CLEAN


def _kernels(subject: Subject, arch: str) -> str:
    from asyncsim.hw.render import joined, render

    rendered = [render(kernel, arch) for kernel in subject.kernels]
    return rendered[0].source if len(rendered) == 1 else joined(rendered)


def _standalone(subject: Subject, arch: str) -> str:
    from asyncsim.evaluate import EvaluateError
    from asyncsim.hw.standalone import standalone

    schedule = subject.needs_schedule()
    try:
        with working(f"evaluating {schedule.name}", quiet=False):
            return with_user_code(subject, lambda: standalone(schedule, arch))
    except EvaluateError as error:
        raise UsageError(f"{schedule.name} cannot check itself: {error}") from None
