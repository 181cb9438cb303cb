"""Check: every interleaving of a schedule, proven from one execution or searched.

See docs/check.md. ``check(schedule)`` returns a CheckResult.
"""

from asyncsim.check.check import check

__all__ = ["check"]
