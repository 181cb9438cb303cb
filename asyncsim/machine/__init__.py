"""Machine files: the numbers of a GPU with units and provenance.

`load_machine("h200")` gives a frozen `Machine`.  Imports the standard library only.
See docs/machine.md.
"""

__all__ = [
    "TICKS_PER_CYCLE",
    "Curve",
    "Fault",
    "Machine",
    "MachineError",
    "Provenance",
    "known_machines",
    "lacking",
    "load_machine",
    "parse_machine",
    "scaled",
    "slower",
    "ticks",
]

from asyncsim.machine.errors import Fault, MachineError
from asyncsim.machine.lacking import lacking
from asyncsim.machine.load import known_machines, load_machine, parse_machine
from asyncsim.machine.model import Machine
from asyncsim.machine.quantity import TICKS_PER_CYCLE, Curve, Provenance, ticks
from asyncsim.machine.scale import scaled, slower
