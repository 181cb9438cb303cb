"""A case that runs for a second or more while the board's power is read.  Needs cuda.core, NVML.

See docs/machine.md.
"""

__all__ = ["FILLING", "long_run"]

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncsim.hw.nvml import Board, Watch, mean_watts

from .case import Case, Samples
from .sources import Variant

if TYPE_CHECKING:
    from .lab import Lab

SETTLED = 0.55  # of the time: the clock and the driver's own mean have settled by then
FILL_MB = 640
FILLING = Variant("power.cu"), Variant("power.cu", (("WIDTH", 8),))  # by 16 and by 8 bits


def long_run(lab: "Lab", case: Case) -> Samples:
    """Launches one after the other; what is read counts from when things have settled.

    ``watts``, ``celsius``, ``limit``: of the board; ``reasons``: NVML's bits; beside them
    what the case reduces each launch to, unless it has no kernel.
    """
    from cuda.core import LaunchConfig, launch

    board = Board(str(lab.device.uuid))
    if not case.kernel:
        with Watch(board) as watch:
            begin = time.monotonic()
            time.sleep(case.seconds)
        return _board_samples(board, watch, begin)
    _fill(lab, case)
    kernel = lab.kernel(case)
    config = LaunchConfig(grid=case.grid, block=case.block, shmem_size=case.smem)
    args: list[Any] = [lab.out, lab.abort, lab.data, *(np.int32(p) for p in case.args)]
    marks: list[Samples] = []
    with Watch(board) as watch:
        begin = time.monotonic()
        settled = begin + SETTLED * case.seconds
        while time.monotonic() < begin + case.seconds:
            launch(lab.stream, config, kernel, *args)
            samples = case.reduce(lab.read(case.words), lab.context)
            if time.monotonic() > settled or not marks:
                marks.append(samples)
    kept = marks[1:] or marks
    launches = {name: np.concatenate([one[name] for one in kept]) for name in kept[0]}
    return launches | _board_samples(board, watch, settled)


def _board_samples(board: Board, watch: Watch, since: float) -> Samples:
    """The energy counter decides; where it stands still, the driver's own mean does."""
    last = [s.watts for s in watch.samples if s.at >= since][-20:] or [board.watts()]
    watts = mean_watts(watch.samples, since) or float(np.mean(last))
    reasons = 0
    for sample in watch.samples:
        reasons |= sample.reasons if sample.at >= since else 0
    found = {
        "watts": watts,
        "driver_watts": float(np.mean(last)),
        "celsius": board.celsius(),
        "limit": board.limit_w(),
        "reasons": float(reasons),
    }
    return {name: np.array([value]) for name, value in found.items()}


def _fill(lab: "Lab", case: Case) -> None:
    from cuda.core import LaunchConfig, launch

    kernel = lab.code(FILLING[case.width == 8]).get_kernel("power_fill")
    zero = np.int32(0)
    args = (lab.out, lab.abort, lab.data, np.int32(case.fill), zero, np.int32(FILL_MB), zero)
    launch(lab.stream, LaunchConfig(grid=1056, block=256), kernel, *args)
    lab.stream.sync()
