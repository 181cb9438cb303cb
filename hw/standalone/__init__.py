"""A kernel with a host program around it, in one file that plain ``nvcc`` builds.

The program fills the inputs as ``make_inputs`` does, launches, compares with what ``evaluate``
says, and times. See docs/run.md.
"""

from asyncsim.hw.standalone.program import standalone

__all__ = ["standalone"]
