"""``asyncsim check``: is the schedule free of bugs in every interleaving?"""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.findings_text import findings_text, verdict_line
from asyncsim.cli.json_form import report_json
from asyncsim.cli.options import CommandParser, add_json, add_machine, add_scenario, add_strict
from asyncsim.cli.output import emit, emit_json, note, wrap
from asyncsim.cli.subject import load_machine_for, load_subject
from asyncsim.cli.verdict import EXIT_OF, prove


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO, its parameters, ``--strict``, ``--machine``, ``--json``."""
    add_scenario(parser)
    add_strict(parser)
    add_machine(parser, default=None)
    add_json(parser)


def run(args: Namespace) -> ExitCode:
    """Print the verdict and the findings."""
    subject = load_subject(args)
    machine = load_machine_for(args.machine, subject.schedule) if args.machine else None
    result = prove(subject, quiet=args.json)
    verdict = result.under(strict=args.strict)
    if args.json:
        emit_json(
            report_json(
                subject,
                machine=machine.name if machine else None,
                verdict=verdict,
                findings=result.findings,
            )
        )
        if result.note:
            note(f"open: {result.note}")
        return EXIT_OF[verdict]
    emit(wrap(subject.title, indent="    "))
    emit(verdict_line(result, strict=args.strict))
    findings = findings_text(result)
    if findings:
        emit("\n" + findings)
    return EXIT_OF[verdict]
