"""``python -m tests.docs.picture ring.pftrace``: the picture of the README.

The file comes from a machine with a GPU: ``asyncsim run tma_ring --ctas 1 --tiles 12 --ffma 128
--l2 warm --trace ring.pftrace``.
"""

from __future__ import annotations

import sys

from asyncsim.trace.perfetto_reader import load_pftrace
from asyncsim.trace.svg import draw_svg
from tests.docs.pages import ROOT

PICTURE = ROOT / "docs" / "images" / "predicted_over_measured.svg"
TITLE = "tma_ring, one CTA: predicted above, measured on an H200 (stamped build) below"


def main(path: str) -> None:
    """Draw the predicted and the measured trace of a file."""
    predicted, measured = load_pftrace(path)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw_svg(predicted, measured, title=TITLE), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
