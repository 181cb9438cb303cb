"""``asyncsim doctor``: what is installed, which GPU, what is missing and how to get it."""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, add_json, add_machine
from asyncsim.cli.output import emit, emit_json, note


def add_arguments(parser: CommandParser) -> None:
    """``--machine``, ``--require-gpu``, ``--json``."""
    add_machine(parser)
    parser.add_argument("--require-gpu", action="store_true", help="no usable GPU is an error")
    add_json(parser)


def run(args: Namespace) -> ExitCode:
    """Print the diagnosis; CLEAN when check and predict work."""
    from asyncsim.cli.doctor import (
        Group,
        compiler,
        diagnosis_json,
        diagnosis_text,
        gpu,
        installed,
        prove_and_predict,
    )
    from asyncsim.machine import load_machine

    machine = load_machine(args.machine)
    items = [*installed(), prove_and_predict(machine), *compiler(machine), *gpu(machine)]
    diagnosis = diagnosis_json(items)
    if args.json:
        emit_json(diagnosis)
    else:
        emit(diagnosis_text(items))
    works = diagnosis["works"]
    if args.require_gpu and not works["run"]:
        lacking = [i for i in items if not i.ok and i.essential]
        first = next((i for i in lacking if i.group is Group.RUN), lacking[0])
        fix = f"; fix: {first.fix}" if first.fix else ""
        note(f"asyncsim: --require-gpu: {first.found}{fix}")
        return ExitCode.ENVIRONMENT
    return ExitCode.CLEAN if works["check"] and works["predict"] else ExitCode.ENVIRONMENT
