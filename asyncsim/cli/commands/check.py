"""``asyncsim check``: is the schedule free of bugs in every interleaving?"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from asyncsim.cli.advice import advise
from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.findings_text import findings_text, verdict_line
from asyncsim.cli.json_form import report_json
from asyncsim.cli.options import (
    CommandParser,
    add_json,
    add_machine,
    add_scenario,
    add_strict,
    parse_parameters,
)
from asyncsim.cli.output import emit, emit_json, note, wrap, write_whole
from asyncsim.cli.subject import Subject, load_machine_for, load_subject
from asyncsim.cli.verdict import EXIT_OF, prove
from asyncsim.errors import UsageError
from asyncsim.predict.result import CheckResult, Verdict

FORMATS = ("text", "json", "sarif", "github")


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO, its parameters, ``--strict``, ``--machine``, the format, ``--over``."""
    add_scenario(parser)
    add_strict(parser)
    add_machine(parser, default=None)
    add_json(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="text (default), json, sarif (2.1.0), or github: annotations of a workflow",
    )
    parser.add_argument(
        "--repair", action="store_true", help="for each finding, single changes that are proven"
    )
    parser.add_argument(
        "--lint",
        action="store_true",
        help="for a clean schedule, the waits, fences and barriers that can go",
    )
    parser.add_argument(
        "--trace",
        metavar="PATH",
        help="write the witness of each finding for Perfetto, a step a cycle: .pftrace, or .json",
    )
    parser.add_argument(
        "--over",
        metavar="NAME=FIRST:LAST",
        action="append",
        default=[],
        help="check every value of a parameter: a range with both ends, or 1,2,4; repeatable",
    )
    parser.add_argument(
        "--out", metavar="PATH", help="with --over: write the map, .json or .csv, as well"
    )


def run(args: Namespace) -> ExitCode:
    """Print the verdict and the findings, or the map of verdicts."""
    form = _format(args)
    if args.over:
        return _run_over(args, form)
    if args.out:
        raise UsageError("--out writes the map of --over; add --over NAME=FIRST:LAST")
    if (args.repair or args.lint) and form in ("sarif", "github"):
        raise UsageError(f"--format {form} shows no changes; use text or json")
    subject = load_subject(args)
    machine = load_machine_for(args.machine, subject.schedule) if args.machine else None
    result = prove(subject, quiet=form != "text")
    verdict = result.under(strict=args.strict)
    if args.trace:
        _write_trace(args.trace, subject, result)
    advice = advise(args, subject, result, machine, quiet=form != "text")
    if form == "text":
        emit(wrap(subject.title, indent="    "))
        emit(verdict_line(result, strict=args.strict))
        text = findings_text(result, advice.below)
        if text:
            emit("\n" + text)
        if advice.lint:
            emit("\n" + advice.lint)
        return EXIT_OF[verdict]
    if form == "github":
        from asyncsim.cli.annotations import annotations_text

        if result.findings or result.note:
            emit(annotations_text(result))
    elif form == "sarif":
        from asyncsim.cli.sarif import sarif_log

        emit_json(sarif_log(subject, result, verdict))
    else:
        name = machine.name if machine else None
        report = report_json(subject, machine=name, verdict=verdict, findings=result.findings)
        emit_json(advice.added_to(report))
    if result.note and form == "json":
        note(f"open: {result.note}")
    return EXIT_OF[verdict]


def _write_trace(path: str, subject: Subject, result: CheckResult) -> None:
    from asyncsim.cli.timeline import show_traces
    from asyncsim.cli.witness_trace import witness_traces

    traces = witness_traces(subject.scenario.name, result.findings)
    if traces:
        show_traces(traces, timeline=False, path=path)
    else:
        note(f"{path} is not written: there is no witness")


def _format(args: Namespace) -> str:
    if args.json and args.format not in (None, "json"):
        raise UsageError(f"--json and --format {args.format} exclude each other; drop one")
    return "json" if args.json else args.format or "text"


def _run_over(args: Namespace, form: str) -> ExitCode:
    """Exit code: findings in any cell, else incomplete in any, else clean."""
    from asyncsim.cli import sweep, sweep_text

    if form not in ("text", "json"):
        raise UsageError(f"--over has no --format {form}; use text or json, or --out map.csv")
    for option in ("repair", "lint", "trace"):
        if getattr(args, option):
            raise UsageError(f"--over has no --{option}; use it on one combination")
    suffix = Path(args.out).suffix if args.out else ".json"
    if suffix not in (".json", ".csv"):
        raise UsageError(f"--out {args.out}: end the name in .json or .csv")
    over = sweep.parse_over(args.over)
    safe = sweep.sweep(args, parse_parameters(args.params), over, quiet=form == "json")
    if form == "json":
        emit_json(sweep_text.safe_map_json(safe))
    else:
        emit(sweep_text.safe_map_text(safe))
    if args.out:
        write_whole(args.out, sweep_text.exported(safe, suffix).encode())
    verdicts = {cell.verdict for cell in safe.cells}
    for verdict in (Verdict.FINDINGS, Verdict.INCOMPLETE):
        if verdict in verdicts:
            return EXIT_OF[verdict]
    return ExitCode.CLEAN
