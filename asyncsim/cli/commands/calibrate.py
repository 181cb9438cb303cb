"""``asyncsim calibrate``: benchmarks on the GPU at hand, or stored ones, to a machine file."""

from __future__ import annotations

from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from asyncsim.cli.calibrate_text import calibration_text
from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser
from asyncsim.cli.output import emit, note, write_whole
from asyncsim.cli.progress import working
from asyncsim.errors import EnvironmentError_, UsageError

if TYPE_CHECKING:
    from asyncsim.hw.calibrate.raw import Document


def add_arguments(parser: CommandParser) -> None:
    """``--out``, ``--report``, ``--from``, ``--raw``, ``--only``."""
    parser.add_argument("--out", metavar="FILE", help="write the machine file")
    parser.add_argument(
        "--report", metavar="PATH", help="write a folder: a page, and a picture of each law"
    )
    parser.add_argument(
        "--from",
        dest="stored",
        metavar="FILE",
        action="append",
        type=Path,
        default=[],
        help="fit this raw file instead of measuring; several: all together",
    )
    parser.add_argument(
        "--raw", metavar="FILE", help="where the raw results go (default: named by board and date)"
    )
    parser.add_argument("--only", metavar="NAME", help="benchmarks whose name begins so alone")


def run(args: Namespace) -> ExitCode:
    """Print the laws and what differs from the machine file that comes with asyncsim."""
    if find_spec("scipy") is None:
        raise EnvironmentError_("scipy is not installed; fix: pip install 'asyncsim[calibrate]'")
    _check_paths(args)
    documents = _stored(args) if args.stored else [_measured(args)]

    from asyncsim.hw.calibrate.fit import to_toml
    from asyncsim.hw.calibrate.machine_file import machine_document
    from asyncsim.hw.calibrate.numbers import calibrated
    from asyncsim.hw.calibrate.raw import gpu_of, passes
    from asyncsim.hw.calibrate.report import report
    from asyncsim.machine import parse_machine
    from asyncsim.trace.files import replace_folder

    base = gpu_of(documents)
    with working("fitting", quiet=False):
        calibration = calibrated([run for document in documents for run in passes(document)])
    if not calibration.numbers:
        raise UsageError(
            "no number of a machine file follows from these rows; leave --only out, or give a raw "
            "file of `asyncsim calibrate`"
        )
    text = to_toml(machine_document(calibration, documents, base))
    parse_machine(text, "the calibrated machine file")
    emit(calibration_text(calibration, documents, base))
    if args.report:
        try:
            replace_folder(args.report, report(calibration, documents, base))
        except OSError as error:
            raise UsageError(
                f"cannot write {args.report}: {error.strerror or error}; choose another folder"
            ) from None
        note(f"wrote {args.report}")
    if args.out:
        write_whole(args.out, text.encode())
        note(f"wrote {args.out}")
    return ExitCode.CLEAN


def _check_paths(args: Namespace) -> None:
    """What would fail at the end shall fail before the GPU works for minutes."""
    from asyncsim.hw.calibrate.report import is_report

    if args.stored and args.raw:
        raise UsageError("--raw stores what was measured, --from measures nothing; name one")
    for option in ("out", "report", "raw"):
        path = getattr(args, option)
        if path and not Path(path).absolute().parent.is_dir():
            raise UsageError(f"--{option} {path}: there is no such folder; make it first")
    folder = Path(args.report) if args.report else None
    taken = folder and folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))
    if folder and taken and not is_report(folder):
        raise UsageError(f"--report {folder} exists and is no report; choose another folder")


def _stored(args: Namespace) -> list[Document]:
    from asyncsim.hw.calibrate.raw import not_quiet, only, read_raw

    documents = [read_raw(path) for path in args.stored]
    for path, document in zip(args.stored, documents, strict=True):
        if noise := not_quiet(document):
            raise UsageError(f"{path}: {noise}")
    return only(documents, args.only) if args.only else documents


def _measured(args: Namespace) -> Document:
    from asyncsim.hw.calibrate.at_hand import measure_here
    from asyncsim.hw.calibrate.raw import not_quiet
    from asyncsim.hw.calibrate.run import dump

    with working("looking for a GPU", quiet=False) as tell:
        document = measure_here(args.only, tell)
    if noise := not_quiet(document):
        raise EnvironmentError_(noise)
    origin = document["provenance"]
    path = args.raw or f"calibration-{origin['board']}-{origin['date']}.json"
    write_whole(path, dump(document).encode())
    note(f"wrote {path}")
    return document
