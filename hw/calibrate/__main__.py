"""Command line: `python -m hw.calibrate run|fit|compile`.  See docs/machine.md."""

import argparse
import sys
from pathlib import Path


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="calibrate", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("run", "child"):
        command = verbs.add_parser(verb, help="measure on the GPU and write raw rows as JSON")
        command.add_argument("--out", type=Path, required=True, help="JSON file to write")
        command.add_argument("--cubins", type=Path, help="folder written by `compile`")
        command.add_argument("--passes", type=int, default=1, help="over the benchmarks")
        command.add_argument("--only", help="benchmarks whose name starts so; several by commas")
    command = verbs.add_parser("compile", help="compile all kernels into a folder (no GPU)")
    command.add_argument("--cubins", type=Path, required=True)
    command = verbs.add_parser("fit", help="raw rows and a machine file in, machine file out")
    command.add_argument("--raw", type=Path, nargs="+", required=True)
    command.add_argument("--machine", type=Path, required=True, help="keeps what rows do not give")
    command.add_argument("--out", type=Path, required=True)
    command.add_argument(
        "--waits", choices=("counted", "clock"), default="counted", help="bound of a wait loop"
    )
    args = parser.parse_args(argv)
    if args.verb == "fit":
        from .fit import fit_file

        return fit_file(args.raw, args.machine, args.out, int(args.waits == "counted"))
    from .run import compile_all, measure, run_child

    if args.verb == "compile":
        print(f"{compile_all(args.cubins)} kernels in {args.cubins}")
        return 0
    if args.verb == "run":
        return run_child(args.out, args.cubins, args.only, args.passes)
    return measure(args.out, args.cubins, args.only, args.passes)


if __name__ == "__main__":
    sys.exit(main())
