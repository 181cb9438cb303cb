"""Guarded launches: a child process owns the GPU, the parent owns the schedule.

``run_schedule`` is the one call most users need. See docs/hardware.md.
"""

from asyncsim.hw.launch.child_process import Child
from asyncsim.hw.launch.diagnosis import Diagnosis
from asyncsim.hw.launch.programs import ProgramResult, run_program
from asyncsim.hw.launch.run import RunResult, run_schedule
from asyncsim.hw.launch.timing import Timing

__all__ = [
    "Child",
    "Diagnosis",
    "ProgramResult",
    "RunResult",
    "Timing",
    "run_program",
    "run_schedule",
]
