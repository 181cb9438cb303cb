"""``asyncsim run``: prove, predict, run on the GPU, compare."""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.json_form import report_json
from asyncsim.cli.launch import Outcome, error_pct, launch, measured_json, measured_text
from asyncsim.cli.options import (
    CommandParser,
    add_json,
    add_machine,
    add_scenario,
    add_strict,
    add_timing,
)
from asyncsim.cli.output import emit_json, note
from asyncsim.cli.progress import working
from asyncsim.cli.report_text import emit_report
from asyncsim.cli.stored import stored_text
from asyncsim.cli.subject import load_machine_for, load_subject
from asyncsim.cli.timeline import show_traces
from asyncsim.cli.verdict import EXIT_OF, prove_and_predict
from asyncsim.predict.result import Prediction, Verdict


def add_arguments(parser: CommandParser) -> None:
    """What ``predict`` has, ``--stamps`` and ``--require-gpu``."""
    add_scenario(parser)
    add_machine(parser)
    add_strict(parser)
    add_timing(parser)
    parser.add_argument(
        "--stamps", action="store_true", help="measure a timeline too: a second, stamped build"
    )
    parser.add_argument("--require-gpu", action="store_true", help="no usable GPU is an error")
    add_json(parser)


def run(args: Namespace) -> ExitCode:
    """Print the verdict, the prediction, and what the GPU did."""
    subject = load_subject(args)
    machine = load_machine_for(args.machine, subject.schedule)
    result, prediction = prove_and_predict(
        subject,
        machine,
        l2=args.l2,
        exact=args.exact,
        keep_trace=bool(args.timeline or args.trace),
        quiet=args.json,
    )
    stamps = args.stamps or bool(args.timeline or args.trace)
    with working(f"compiling and running {subject.scenario.name}", quiet=args.json):
        outcome = launch(subject, result, arch=machine.architecture, l2=args.l2, stamps=stamps)
    verdict = result.under(strict=args.strict)
    if args.json:
        emit_json(
            report_json(
                subject,
                machine=machine.name,
                verdict=verdict,
                findings=result.findings,
                prediction=prediction,
                measured=measured_json(outcome),
                error_pct=_error(prediction, outcome),
            )
        )
        _notes(result.note, outcome)
    else:
        lines = measured_text(outcome, prediction.cycles if prediction else None)
        if outcome.not_run:
            lines += stored_text(subject, args.l2, prediction)
        emit_report(subject, machine, result, prediction, strict=args.strict, measured=lines)
    predicted = prediction.trace if prediction else None
    traces = [t for t in (predicted, outcome.trace) if t is not None]
    show_traces(traces, timeline=args.timeline and not args.json, path=args.trace)
    return _exit_code(args, result.verdict, verdict, outcome)


def _error(prediction: Prediction | None, outcome: Outcome) -> float | None:
    timing = outcome.result.timing if outcome.result else None
    if prediction is None or timing is None:
        return None
    return error_pct(prediction.cycles, timing.cycles)


def _notes(open_condition: str, outcome: Outcome) -> None:
    if open_condition:
        note(f"open: {open_condition}")
    if outcome.not_run:
        note(f"not run on a GPU: {outcome.not_run}")


def _exit_code(args: Namespace, proven: Verdict, verdict: Verdict, outcome: Outcome) -> ExitCode:
    if args.require_gpu and outcome.lacks_gpu:
        note(f"asyncsim: --require-gpu: {outcome.not_run}")
        return ExitCode.ENVIRONMENT
    if proven is Verdict.CLEAN and outcome.trouble:
        note(f"asyncsim: the GPU contradicts the verdict: {outcome.trouble}")
        return ExitCode.CONTRADICTED
    return EXIT_OF[verdict]
