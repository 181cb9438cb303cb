"""asyncsim: prove, predict, run and explain the schedule of an asynchronous GPU kernel."""

from asyncsim.build import ScheduleBuilder, Value, maximum, minimum
from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import AccessMode, ComputeDef, ComputeOperand, Fill, OobFill, Work
from asyncsim.rules import Finding, Rule, Severity

__version__ = "0.1.0"

__all__ = [
    "AccessMode",
    "ComputeDef",
    "ComputeOperand",
    "Fill",
    "Finding",
    "OobFill",
    "Rule",
    "ScheduleBuilder",
    "ScheduleError",
    "Severity",
    "Value",
    "Work",
    "maximum",
    "minimum",
]
