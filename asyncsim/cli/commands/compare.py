"""``asyncsim compare``: predictions against the stored measurements, recomputed here."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, add_json, add_machine, parse_parameters
from asyncsim.cli.output import emit, emit_json, note
from asyncsim.cli.progress import working
from asyncsim.errors import UsageError
from asyncsim.suggest import did_you_mean

if TYPE_CHECKING:
    from asyncsim.hw.compare import Comparison
    from asyncsim.hw.store import Measurement


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO, parameters, and what to show of the rows."""
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help="rows of this one alone")
    parser.add_argument("--scenario", dest="named", metavar="NAME", help="the same as SCENARIO")
    parser.add_argument(
        "--worst", metavar="N", type=_positive, help="show the N worst rows of each table"
    )
    parser.add_argument(
        "-p",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="rows with this parameter alone; --NAME VALUE is the same",
    )
    add_machine(parser)
    parser.add_argument(
        "--check", action="store_true", help="fail when a row is not predicted as is stored"
    )
    parser.add_argument(
        "--intervals", action="store_true", help="from step to step, not totals: stamped kernels"
    )
    add_json(parser)


def run(args: Namespace) -> ExitCode:
    """Print the table and the statistics."""
    from asyncsim.hw.accuracy import load_stored, proven
    from asyncsim.hw.compare import compare_suite, comparison_json
    from asyncsim.machine import load_machine

    scenario = _scenario(args)
    if args.intervals:
        return _intervals(args, scenario)
    load_machine(args.machine)  # its faults are told before minutes have passed
    rows = _rows(scenario, parse_parameters(args.params))
    with working("comparing", quiet=args.json) as tell:
        known = proven(load_stored())
        comparison = compare_suite(rows, args.machine, proven=known, tell=tell)
    if args.json:
        emit_json(comparison_json(_only_worst(comparison, args.worst)))
    elif not rows:
        emit("no stored measurements" + (" with these parameters" if args.params else " yet"))
    else:
        from asyncsim.cli.compare_text import comparison_text

        whole = scenario is None and not args.params
        emit(comparison_text(comparison, worst=args.worst, whole=whole))
    return _against_stored(comparison) if args.check else ExitCode.CLEAN


def _intervals(args: Namespace, scenario: str | None) -> ExitCode:
    from asyncsim.cli.intervals_text import intervals_json, intervals_text
    from asyncsim.hw.compare_intervals import compare_intervals, load_intervals
    from asyncsim.machine import load_machine

    if args.check or args.worst is not None:
        raise UsageError("--intervals shows all of them; leave --check and --worst out")
    params = parse_parameters(args.params)
    every = load_intervals()
    names = sorted({m.configuration.scenario for m in every})
    if scenario is not None and scenario not in names:
        raise UsageError(
            f"no stored intervals of {scenario!r}; {did_you_mean(scenario, names)}"
            f"there are some of {', '.join(names) or 'nothing'}"
        )
    found = [m for m in every if scenario in (None, m.configuration.scenario)]
    _refuse_unknown(params, [m.configuration.params for m in found])
    chosen = [
        m for m in found if all(m.configuration.params.get(n) == v for n, v in params.items())
    ]
    machine = load_machine(args.machine)
    with working("comparing intervals", quiet=args.json):
        compared = compare_intervals(chosen, machine)
    if args.json:
        emit_json(intervals_json(compared))
    else:
        emit(intervals_text(compared) if compared else "no stored intervals with these parameters")
    return ExitCode.CLEAN


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of rows; give 1 or more")
    return int(text)


def _scenario(args: Namespace) -> str | None:
    scenario: str | None = args.scenario or args.named
    if args.scenario and args.named and args.scenario != args.named:
        raise UsageError(f"two scenarios, {args.scenario} and {args.named}; name one")
    if args.check and (scenario or args.params):
        raise UsageError("--check compares all stored rows; leave SCENARIO and parameters out")
    return scenario


def _only_worst(comparison: Comparison, worst: int | None) -> Comparison:
    """The N worst rows, worst first; the statistics stay those of all."""
    if worst is None:
        return comparison
    from asyncsim.cli.compare_text import worst_first

    return replace(comparison, rows=tuple(worst_first(comparison.rows)[:worst]))


def _rows(scenario: str | None, params: dict[str, int]) -> list[Measurement]:
    from asyncsim.hw.store import load_all

    rows = load_all()
    names = sorted({m.scenario for m in rows})
    if scenario is not None and scenario not in names:
        raise UsageError(
            f"no stored measurements of {scenario!r}; {did_you_mean(scenario, names)}"
            f"there are some of {', '.join(names) or 'nothing'}"
        )
    found = [m for m in rows if scenario in (None, m.scenario)]
    _refuse_unknown(params, [m.params for m in found])
    return [m for m in found if all(m.params.get(n) == v for n, v in params.items())]


def _refuse_unknown(asked: Iterable[str], rows: Iterable[Mapping[str, int]]) -> None:
    known = dict.fromkeys(name for params in rows for name in params)
    for name in asked:
        if name not in known:
            raise UsageError(
                f"no stored row has a parameter {name!r}; {did_you_mean(name, known)}"
                f"they have {', '.join(known)}"
            )


def _against_stored(comparison: Comparison) -> ExitCode:
    from asyncsim.hw.accuracy import REPAIR, differences, load_stored, shown

    stored = load_stored()
    if not stored:
        note("no stored figures to compare with yet: nothing to check")
        return ExitCode.CLEAN
    faults = differences(stored, comparison)
    for fault in shown(faults):
        note(fault)
    note(REPAIR if faults else "every row is predicted as is stored")
    return ExitCode.FINDINGS if faults else ExitCode.CLEAN
