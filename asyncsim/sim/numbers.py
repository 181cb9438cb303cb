"""The machine's numbers on the engine's grid, and a record of which of them were used.

Ticks are 1/64 cycle; rates are exact fractions of bytes per tick. See docs/model-notes.md.
"""

from __future__ import annotations

from fractions import Fraction

from asyncsim.errors import UsageError
from asyncsim.machine import TICKS_PER_CYCLE, Curve, Machine, lacking, ticks

ALWAYS = (
    "gpu.sms",
    "gpu.gpc_sms",
    "gpu.smem_per_sm",
    "gpu.smem_reserved_per_cta",
    "gpu.smem_granule",
    "gpu.registers_per_sm",
    "gpu.registers_per_thread",
    "gpu.register_granule",
    "gpu.threads_per_sm",
    "gpu.warps_per_sm",
    "gpu.ctas_per_sm",
    "launch.gpc_run",
    "clock.boost",
)
"""What every run reads straight from the machine: to place CTAs, and to scale DRAM's clock."""


class Numbers:
    """Reads numbers of a machine by dotted key; ``origins`` counts those that were used.

    Raises UsageError for a unit that the machine's architecture lacks.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._used: dict[str, object] = dict.fromkeys(ALWAYS)
        self._ticks: dict[str, int] = {}  # what was worked out before
        self._rates: dict[str, Fraction] = {}

    def _read(self, key: str, suffix: str) -> object:
        if key not in self._used:
            group, field = key.split(".")
            unit = getattr(self.machine, group)
            value = None if unit is None else getattr(unit, field + suffix)
            if value is None:
                raise UsageError(self._lacking(group, key))
            self._used[key] = value
        return self._used[key]

    def _lacking(self, group: str, key: str) -> str:
        name, architecture = self.machine.name, self.machine.architecture
        lacks = lacking(architecture)
        what = lacks.get(group) or lacks.get(key) or key
        return f"machine {name} is {architecture}, which has no {what}; choose another machine"

    def note(self, key: str) -> None:
        """Count a number that was read straight from the machine as used."""
        self._used.setdefault(key, None)

    def also(self, other: Numbers) -> None:
        """Count what the other has used, too."""
        for key in other._used:
            self.note(key)

    def fill(self) -> Fraction:
        """Bytes per tick of the port into one SM; without TMA, what cp.async gets through it."""
        return self.rate("cp_async.port" if self.machine.tma is None else "tma.fill")

    def exact(self, key: str) -> Fraction:
        """A number of cycles, exact."""
        value = self._read(key, "_cycles")
        assert isinstance(value, Fraction)
        return value

    def ticks(self, key: str) -> int:
        """A number of cycles, in ticks."""
        known = self._ticks.get(key)
        if known is None:
            known = self._ticks[key] = ticks(self.exact(key))
        return known

    def curve(self, key: str) -> Curve:
        """A curve of cycles."""
        value = self._read(key, "_cycles")
        assert isinstance(value, Curve)
        return value

    def rate(self, key: str) -> Fraction:
        """Bytes per tick."""
        known = self._rates.get(key)
        if known is None:
            value = self._read(key, "_bytes_per_cycle")
            assert isinstance(value, Fraction)
            known = self._rates[key] = value / TICKS_PER_CYCLE
        return known

    def bytes(self, key: str) -> int:
        value = self._read(key, "_bytes")
        assert isinstance(value, int)
        return value

    def count(self, key: str) -> int:
        value = self._read(key, "")
        assert isinstance(value, int)
        return value

    def origins(self) -> dict[str, dict[str, int]]:
        """How many of the numbers used are measured, published, assumed: by group of the file."""
        counts: dict[str, dict[str, int]] = {}
        for key in sorted(self._used):
            how, group = self.machine.provenance[key].how, key.split(".")[0]
            groups = counts.setdefault(how, {})
            groups[group] = groups.get(group, 0) + 1
        return counts
