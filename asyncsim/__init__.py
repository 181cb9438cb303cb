"""asyncsim: prove, predict, run and explain the schedule of an asynchronous GPU kernel.

    from asyncsim import ScheduleBuilder, check, predict

Every public name is listed in docs/library.md, and loaded when it is first used, so that ``import
asyncsim`` takes no time.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsim.advise.advise import advise
    from asyncsim.advise.result import Advice
    from asyncsim.build import ScheduleBuilder, Value, maximum, minimum
    from asyncsim.check import check
    from asyncsim.errors import ScheduleError
    from asyncsim.ir.decl import AccessMode, ComputeDef, ComputeOperand, Fill, OobFill, Work
    from asyncsim.ir.program import Program
    from asyncsim.ir.schedule import Schedule
    from asyncsim.machine import Machine, load_machine
    from asyncsim.predict import CheckResult, Prediction, Verdict, predict
    from asyncsim.rules import Finding, Rule, Severity

__version__ = "0.1.0"

__all__ = [
    "AccessMode",
    "Advice",
    "CheckResult",
    "ComputeDef",
    "ComputeOperand",
    "Fill",
    "Finding",
    "Machine",
    "OobFill",
    "Prediction",
    "Program",
    "Rule",
    "Schedule",
    "ScheduleBuilder",
    "ScheduleError",
    "Severity",
    "Value",
    "Verdict",
    "Work",
    "advise",
    "check",
    "load_machine",
    "maximum",
    "minimum",
    "predict",
]

_LAZY = {
    "AccessMode": "asyncsim.ir.decl",
    "Advice": "asyncsim.advise",
    "CheckResult": "asyncsim.predict",
    "ComputeDef": "asyncsim.ir.decl",
    "ComputeOperand": "asyncsim.ir.decl",
    "Fill": "asyncsim.ir.decl",
    "Finding": "asyncsim.rules",
    "Machine": "asyncsim.machine",
    "OobFill": "asyncsim.ir.decl",
    "Prediction": "asyncsim.predict",
    "Program": "asyncsim.ir.program",
    "Rule": "asyncsim.rules",
    "Schedule": "asyncsim.ir.schedule",
    "ScheduleBuilder": "asyncsim.build",
    "ScheduleError": "asyncsim.errors",
    "Severity": "asyncsim.rules",
    "Value": "asyncsim.build",
    "Verdict": "asyncsim.predict",
    "Work": "asyncsim.ir.decl",
    "advise": "asyncsim.advise",
    "check": "asyncsim.check",
    "load_machine": "asyncsim.machine",
    "maximum": "asyncsim.build",
    "minimum": "asyncsim.build",
    "predict": "asyncsim.predict",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module 'asyncsim' has no attribute {name!r}")
        return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """``asyncsim.advise``, ``check`` and ``predict`` are functions, whatever was imported before.

    Importing the folder of that name would bind it as an attribute of its parent and hide the
    function; that binding is left out. ``from asyncsim.check import ...`` works as ever.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _LAZY and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
