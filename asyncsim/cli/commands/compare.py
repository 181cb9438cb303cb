"""``asyncsim compare``: predictions against the stored measurements, recomputed here."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, add_json, add_machine
from asyncsim.cli.output import emit, emit_json, note
from asyncsim.errors import UsageError
from asyncsim.suggest import did_you_mean

if TYPE_CHECKING:
    from asyncsim.hw.compare import Comparison
    from asyncsim.hw.store import Measurement


def add_arguments(parser: CommandParser) -> None:
    """SCENARIO, ``--machine``, ``--check``, ``--json``."""
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help="rows of this one alone")
    add_machine(parser)
    parser.add_argument(
        "--check", action="store_true", help="fail when the statistics got worse than the stored"
    )
    add_json(parser)


def run(args: Namespace) -> ExitCode:
    """Print the table and the statistics."""
    from asyncsim.hw.compare import compare, comparison_json, predictor
    from asyncsim.machine import load_machine

    if args.check and args.scenario:
        raise UsageError("--check compares all stored rows; leave SCENARIO out")
    machine = load_machine(args.machine)
    rows = _rows(args.scenario)
    comparison = compare(rows, predictor(machine))
    if args.json:
        emit_json(comparison_json(comparison))
    elif not rows:
        emit("no stored measurements yet")
    else:
        from asyncsim.cli.compare_text import comparison_text

        emit(comparison_text(comparison))
    return _against_stored(comparison) if args.check else ExitCode.CLEAN


def _rows(scenario: str | None) -> list[Measurement]:
    from asyncsim.hw.store import load_all

    rows = load_all()
    names = sorted({m.scenario for m in rows})
    if scenario is not None and scenario not in names:
        raise UsageError(
            f"no stored measurements of {scenario!r}; {did_you_mean(scenario, names)}"
            f"there are some of {', '.join(names) or 'nothing'}"
        )
    return [m for m in rows if scenario in (None, m.scenario)]


def _against_stored(comparison: Comparison) -> ExitCode:
    from asyncsim.hw.compare import ACCURACY, worse_than

    if not ACCURACY.exists():
        note("no stored statistics to compare with yet: nothing to check")
        return ExitCode.CLEAN
    faults = worse_than(json.loads(ACCURACY.read_text(encoding="utf-8")), comparison)
    for fault in faults:
        note(f"worse: {fault}")
    if not faults:
        note("not worse than the stored statistics")
    return ExitCode.FINDINGS if faults else ExitCode.CLEAN
