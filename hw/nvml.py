"""Power, energy and temperature of a board, read through NVML.  Reads only; changes no setting."""

from __future__ import annotations

import ctypes
import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any

from asyncsim.errors import EnvironmentError_

_GPU_SENSOR, _SM_CLOCK = 0, 1
EVERY_S = 0.005  # between samples of a watch


class Board:
    """The GPU with a UUID, or the first one where NVML does not know it. Raises
    EnvironmentError_ without NVML."""

    def __init__(self, uuid: str = "") -> None:
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            raise EnvironmentError_(
                f"NVML is not there ({error}); fix: install the NVIDIA driver"
            ) from None
        self._call("nvmlInit_v2")
        self._handle = ctypes.c_void_p()
        name = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
        by_uuid = self._library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(self._handle))
        if by_uuid:
            self._call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(self._handle))

    def limit_w(self) -> float:
        """The power limit that is enforced, watts."""
        return self._uint("nvmlDeviceGetEnforcedPowerLimit") / 1000

    def watts(self) -> float:
        """Power, averaged by the driver over about a second."""
        return self._uint("nvmlDeviceGetPowerUsage") / 1000

    def celsius(self) -> float:
        value = ctypes.c_uint()
        self._call("nvmlDeviceGetTemperature", self._handle, _GPU_SENSOR, ctypes.byref(value))
        return float(value.value)

    def sm_mhz(self) -> float:
        value = ctypes.c_uint()
        self._call("nvmlDeviceGetClockInfo", self._handle, _SM_CLOCK, ctypes.byref(value))
        return float(value.value)

    def joules(self) -> float:
        """Energy since the driver was loaded; the counter moves in steps."""
        value = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", self._handle, ctypes.byref(value))
        return value.value / 1000

    def reasons(self) -> int:
        """Why the clock is not higher, as NVML's bits: 4 is the power limit, 0x20 and 0x40 heat."""
        value = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetCurrentClocksThrottleReasons", self._handle, ctypes.byref(value))
        return value.value

    def _uint(self, name: str) -> int:
        value = ctypes.c_uint()
        self._call(name, self._handle, ctypes.byref(value))
        return value.value

    def _call(self, name: str, *args: Any) -> None:
        code = getattr(self._library, name)(*args)
        if code:
            raise EnvironmentError_(f"{name} gave NVML error {code}; fix: see `nvidia-smi -q`")


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading: host time in seconds, energy, power, and NVML's reasons for the clock."""

    at: float
    joules: float
    watts: float
    reasons: int


class Watch:
    """Reads a board in a thread while the ``with`` block runs."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        board = self._board
        while not self._over.wait(EVERY_S):
            reading = board.joules(), board.watts(), board.reasons()
            self.samples.append(Sample(time.monotonic(), *reading))


def mean_watts(samples: list[Sample], since: float) -> float:
    """Mean power from host time ``since`` on: energy between the first and the last step of its
    counter; 0 where there are no two."""
    known = [s for s in samples if s.at >= since]
    steps = [after for before, after in pairwise(known) if after.joules > before.joules]
    if len(steps) < 2:
        return 0.0
    return (steps[-1].joules - steps[0].joules) / (steps[-1].at - steps[0].at)
