"""``asyncsim predict``: the verdict, then the cycles and what bounds them."""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.json_form import report_json
from asyncsim.cli.options import (
    CommandParser,
    add_json,
    add_machine,
    add_power,
    add_scenario,
    add_strict,
    add_timing,
)
from asyncsim.cli.output import emit_json, note
from asyncsim.cli.report_text import emit_report
from asyncsim.cli.subject import load_machine_for, load_subject
from asyncsim.cli.timeline import show_traces
from asyncsim.cli.verdict import EXIT_OF, prove_and_predict


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO, its parameters, the machine, the L2 state, power, timelines, ``--json``."""
    add_scenario(parser)
    add_machine(parser)
    add_strict(parser)
    add_timing(parser)
    add_power(parser)
    add_json(parser)


def run(args: Namespace) -> ExitCode:
    """Print the verdict, then the prediction."""
    subject = load_subject(args)
    machine = load_machine_for(args.machine, subject.schedule)
    keep_trace = bool(args.timeline or args.trace)
    result, prediction = prove_and_predict(
        subject,
        machine,
        l2=args.l2,
        exact=args.exact,
        keep_trace=keep_trace,
        quiet=args.json,
        operands=args.operands,
        power_limit_w=args.power_limit,
    )
    verdict = result.under(strict=args.strict)
    if args.json:
        emit_json(
            report_json(
                subject,
                machine=machine.name,
                verdict=verdict,
                findings=result.findings,
                prediction=prediction,
            )
        )
        if result.note:
            note(f"open: {result.note}")
    else:
        emit_report(subject, machine, result, prediction, strict=args.strict)
    traces = [prediction.trace] if prediction and prediction.trace else []
    show_traces(traces, timeline=args.timeline and not args.json, path=args.trace)
    return EXIT_OF[verdict]
