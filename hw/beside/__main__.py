"""``python -m asyncsim.hw.beside``: docs/accuracy.md, from what is stored.

``--update`` first computes anew what is stored for it: the attention table (minutes), 8-bit
GEMMs, and the estimates of nvMatmulHeuristics if that is installed.  The rows of our own come from
``python -m asyncsim.hw.compare --update``.
"""

from __future__ import annotations

import argparse
import sys

from asyncsim.hw.beside import attention, fp8, heuristics
from asyncsim.hw.beside.page import write_page
from asyncsim.hw.store import load_all


def main(argv: list[str] | None = None) -> int:
    """0: written."""
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.beside", description=__doc__)
    parser.add_argument("--update", action="store_true", help="compute anew what is stored")
    if parser.parse_args(argv).update:
        attention.STORED.write_text(attention.text_of(attention.answers()), encoding="utf-8")
        fp8.STORED.write_text(fp8.text_of(fp8.predicted()), encoding="utf-8")
        if heuristics.installed():
            estimates = heuristics.estimate_rows(load_all())
            heuristics.STORED.write_text(heuristics.text_of(estimates), encoding="utf-8")
        else:
            print(f"{heuristics.PACKAGE} is not installed: its estimates stay", file=sys.stderr)
    write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
