"""Exit codes of every command. See docs/commands.md."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command found. INTERNAL is a bug of asyncsim, never a statement on a schedule."""

    CLEAN = 0
    FINDINGS = 1
    USAGE = 2
    INCOMPLETE = 3
    ENVIRONMENT = 4
    CONTRADICTED = 5
    INTERNAL = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141
