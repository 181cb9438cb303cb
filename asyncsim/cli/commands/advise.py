"""``asyncsim advise``: which values of the free parameters to use, and why."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, add_json, add_machine, parse_parameters
from asyncsim.cli.output import emit, emit_json, note, write_whole
from asyncsim.cli.progress import working
from asyncsim.cli.subject import load_scenario
from asyncsim.errors import EnvironmentError_, UsageError

if TYPE_CHECKING:
    from asyncsim.advise import Advice


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO, parameters, what varies, the machine, the workers, where results go."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a name, or path/to/file.py[:name]")
    parser.add_argument(
        "-p",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="fix a parameter; --NAME VALUE is the same",
    )
    parser.add_argument(
        "--vary",
        metavar="NAME=FIRST:LAST",
        action="append",
        default=[],
        help="sweep this parameter, a range with both ends or 1,2,4, and no others; repeatable",
    )
    add_machine(parser)
    parser.add_argument(
        "--l2", choices=("cold", "warm"), default="cold", help="L2 before the run (default cold)"
    )
    parser.add_argument(
        "--top", metavar="N", type=int, default=5, help="prove and show the N fastest (default 5)"
    )
    parser.add_argument("--all", action="store_true", help="prove every combination")
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="for each step of a combination (default 60)",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="worker processes (default: one for each CPU)"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster does the work")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="run the N fastest on the GPU at hand: choose among them",
    )
    parser.add_argument("--out", "-o", metavar="PATH", help="write all results, .parquet")
    add_json(parser)
    parser.epilog = (
        "Without --vary all free parameters of the scenario are swept, but for those that are "
        "given;\n`asyncsim list SCENARIO` shows them."
    )


def run(args: Namespace) -> ExitCode:
    """Print the best combination and why; exit code 0 if there is a proven-clean one."""
    from asyncsim.cli.advise_text import advice_json, advice_text

    _refuse(args)
    advice = _advice(args)
    _write(args, advice)
    if args.json:
        emit_json(advice_json(advice, args.top))
    else:
        emit(advice_text(advice, args.top))
    return _code(advice)


def _refuse(args: Namespace) -> None:
    """Raise for what would fail after the sweep only."""
    if args.scheduler and args.jobs:
        raise UsageError("--jobs and --scheduler exclude each other; drop one")
    for option in ("top", "jobs"):
        value = getattr(args, option)
        if value is not None and value <= 0:
            raise UsageError(f"--{option} {value}: give at least 1")
    if not 0 < args.limit < float("inf"):
        raise UsageError(f"--limit {args.limit:g}: give seconds above 0, as 60")
    if args.out:
        from asyncsim.advise.rows import needs_pyarrow

        if Path(args.out).suffix != ".parquet":
            raise UsageError(f"-o {args.out}: end the name in .parquet")
        if not Path(args.out).parent.is_dir():
            raise UsageError(f"-o {args.out}: there is no such folder; make it first")
        needs_pyarrow()
    if args.measure:
        from asyncsim.hw.probe import what_is_missing

        if missing := what_is_missing():
            raise EnvironmentError_(f"--measure: {missing}")


def _advice(args: Namespace) -> Advice:
    from asyncsim.advise import Interrupted, advise
    from asyncsim.advise.dask import dask_executor
    from asyncsim.cli.advise_measure import measure_on_gpu
    from asyncsim.cli.sweep import parse_over

    scenario = load_scenario(args.scenario)
    given, vary = parse_parameters(args.params), parse_over(args.vary, "--vary")
    with ExitStack() as stack:
        executor = stack.enter_context(dask_executor(args.scheduler)) if args.scheduler else None
        tell = stack.enter_context(working(f"advising on {scenario.name}", quiet=args.json))
        try:
            return advise(
                scenario,
                args.machine,
                params=given,
                vary=vary,
                l2=args.l2,
                top=args.top,
                prove_all=args.all,
                limit_s=args.limit,
                executor=executor,
                jobs=args.jobs,
                measure=partial(measure_on_gpu, args.scenario, args.l2, tell)
                if args.measure
                else None,
                progress=tell,
            )
        except Interrupted as stopped:
            _write(args, stopped.advice)
            raise


def _write(args: Namespace, advice: Advice) -> None:
    if not args.out:
        return
    from asyncsim.advise.rows import parquet

    write_whole(args.out, parquet(advice))
    note(f"wrote {len(advice.trials)} of {len(advice.space)} combinations to {args.out}")


def _code(advice: Advice) -> ExitCode:
    from asyncsim.advise import Status

    if advice.best is not None:
        wrong = any(t.measured and t.measured.contradicts for t in advice.trials)
        return ExitCode.CONTRADICTED if wrong else ExitCode.CLEAN
    for status, code in (
        (Status.FINDINGS, ExitCode.FINDINGS),
        (Status.NO_END, ExitCode.FINDINGS),
        (Status.INCOMPLETE, ExitCode.INCOMPLETE),
    ):
        if advice.of(status):
            return code
    return ExitCode.USAGE
