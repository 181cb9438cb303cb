"""The entry point: choose the command, run it, turn its errors into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, with_parameters
from asyncsim.collecting import rare_collection
from asyncsim.errors import EnvironmentError_, ScheduleError, UsageError
from asyncsim.suggest import did_you_mean

COMMANDS = {
    "list": "list scenarios with their parameters and twins",
    "show": "print a schedule in its text form",
    "check": "prove a schedule, or show what breaks it",
    "predict": "predict cycles, time and what bounds them",
    "advise": "sweep the free parameters: the best proven schedule, and why",
    "render": "print the CUDA C++ of a schedule",
    "run": "prove, predict, run on the GPU, and compare",
    "calibrate": "measure the GPU at hand, or fit stored measurements: a machine file",
    "compare": "recompute predictions against stored measurements",
    "explain": "what a rule means: the smallest example, the fix, its source",
    "doctor": "what is installed, which GPU, what is missing and how to get it",
    "completion": "print a completion script for bash, zsh or fish",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code (docs/commands.md)."""
    _open_streams()
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        _silence_stdout()
        return int(ExitCode.BROKEN_PIPE)
    except KeyboardInterrupt:
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except ScheduleError as error:
        code = ExitCode.USAGE if error.rule is None else ExitCode.FINDINGS
        return _fail(_schedule_error(error), code)
    except UsageError as error:
        return _fail(str(error), ExitCode.USAGE)
    except EnvironmentError_ as error:
        return _fail(str(error), ExitCode.ENVIRONMENT)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return _internal(error)
        _silence_stdout()
        return _fail(f"cannot write the results: {error.strerror}", ExitCode.USAGE)
    except Exception as error:
        from asyncsim.machine import MachineError

        if isinstance(error, MachineError):
            return _fail(str(error), ExitCode.USAGE)
        return _internal(error)


def _dispatch(argv: list[str]) -> ExitCode:
    if not argv or argv[0] in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return ExitCode.CLEAN if argv else ExitCode.USAGE
    if argv[0] == "--version":
        from asyncsim import __version__

        sys.stdout.write(f"asyncsim {__version__}\n")
        return ExitCode.CLEAN
    name = argv[0]
    if name not in COMMANDS:
        raise UsageError(
            f"unknown command {name!r}; {did_you_mean(name, COMMANDS)}"
            f"commands: {', '.join(COMMANDS)}"
        )
    command = importlib.import_module(f"asyncsim.cli.commands.{name}")
    parser = CommandParser(name, COMMANDS[name])
    command.add_arguments(parser)
    try:
        args = parser.parse_args(with_parameters(parser, argv[1:]))
    except SystemExit:  # --help
        return ExitCode.CLEAN
    with rare_collection():
        result: ExitCode = command.run(args)
    return result


def _help() -> str:
    lines = ["usage: asyncsim COMMAND ...", "", "commands:"]
    lines += [f"  {name:<10} {summary}" for name, summary in COMMANDS.items()]
    lines += ["", "`asyncsim COMMAND --help` shows the options of a command.", ""]
    return "\n".join(lines)


def _schedule_error(error: ScheduleError) -> str:
    place = f"{error.loc}: " if error.loc else ""
    rule = f"{error.rule.name}: " if error.rule else ""
    return place + rule + error.message + (f"; {error.fix}" if error.fix else "")


def _fail(text: str, code: ExitCode) -> int:
    sys.stdout.flush()
    sys.stderr.write(f"asyncsim: {text}\n")
    return int(code)


def _internal(error: Exception) -> int:
    import traceback

    traceback.print_exception(error)
    return _fail(
        "internal error: this is a bug of asyncsim, not of the schedule; the lines above say where",
        ExitCode.INTERNAL,
    )


def _open_streams() -> None:
    """A stream that was closed before the start takes what is written, and shows nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def _silence_stdout() -> None:
    """After a broken pipe nothing more can be written; keep the interpreter quiet at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = None
