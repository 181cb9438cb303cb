"""``python -m tests.docs.picture ring.pftrace``: the picture of the README.

The file holds the measured timeline; it comes from a machine with a GPU: ``asyncsim run tma_ring
--ctas 1 --tiles 12 --ffma 128 --l2 warm --trace ring.pftrace``. The prediction is made anew.
"""

from __future__ import annotations

import sys

from asyncsim.catalog import find_scenario
from asyncsim.predict import predict
from asyncsim.trace.perfetto_reader import load_pftrace
from asyncsim.trace.svg import draw_svg
from tests.docs.pages import ROOT

PICTURE = ROOT / "docs" / "images" / "predicted_over_measured.svg"
PARAMETERS = {"ctas": 1, "tiles": 12, "ffma": 128}
TITLE = "tma_ring, one CTA: predicted above, measured on an H200 (stamped build) below"


def main(path: str) -> None:
    """Draw the prediction of today over the measured trace of a file."""
    schedule = find_scenario("tma_ring").build(PARAMETERS)
    _, prediction = predict(schedule, l2="warm", keep_trace=True)
    measured = next(t for t in load_pftrace(path) if t.source == "measured")
    assert prediction is not None and prediction.trace is not None
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw_svg(prediction.trace, measured, title=TITLE), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
