"""The builder: Python calls in, a frozen Schedule out."""

from asyncsim.build.builder import ScheduleBuilder
from asyncsim.build.value import Value, maximum, minimum

__all__ = ["ScheduleBuilder", "Value", "maximum", "minimum"]
