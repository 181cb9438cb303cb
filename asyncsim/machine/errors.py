"""The error of a broken or unknown machine file.

Imports nothing.  A machine file is checked whole: one MachineError lists every fault.
See docs/machine.md.
"""

__all__ = ["Fault", "MachineError"]

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in a machine file: the key, what, and how to mend it."""

    key: str
    problem: str
    fix: str

    def __str__(self) -> str:
        return f"{self.key}: {self.problem}; {self.fix}"


class MachineError(ValueError):
    """A machine that cannot be loaded: an unknown name, or a file with faults.

    `faults` lists them in the order of the file's schema; the message holds one line for each.
    """

    def __init__(self, headline: str, faults: tuple[Fault, ...] = ()) -> None:
        self.headline = headline
        self.faults = faults
        super().__init__("\n".join([headline, *(f"  {fault}" for fault in faults)]))
