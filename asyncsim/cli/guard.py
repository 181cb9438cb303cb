"""Run a stranger's code: a scenario file and the tracing of its schedule.

What it raises becomes one line with file, line and text; what it prints goes to stderr; what never
ends is stopped at a stated limit (where the platform has SIGALRM, in the main thread).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import FrameType, TracebackType

from asyncsim.cli.exit_code import ExitCode
from asyncsim.errors import ScheduleError, SourceLoc, UsageError

TRACE_LIMIT_S = 20.0
MAX_TEXT = 300
MAX_SWALLOWED = 3
_PACKAGE = str(Path(__file__).parents[1])
_SCENARIOS = str(Path(_PACKAGE) / "scenarios")


class _TooLong(BaseException):
    """Not an Exception: a scenario's ``except Exception`` must not swallow it."""


@contextmanager
def stranger(doing: str, *, limit_s: float | None = None) -> Iterator[None]:
    """Guard the body. Raises UsageError, or ScheduleError with the place where it was raised."""
    limit = TRACE_LIMIT_S if limit_s is None else limit_s
    try:
        with redirect_stdout(sys.stderr), _deadline(doing, limit):
            yield
    except ScheduleError as error:
        if error.loc is None:
            error.loc = user_place(error.__traceback__)
        raise
    except (UsageError, KeyboardInterrupt, GeneratorExit):
        raise
    except _TooLong as stop:
        raise UsageError(str(stop)) from None
    except SyntaxError as error:
        place = f"{Path(error.filename).name}:{error.lineno}: " if error.filename else ""
        raise UsageError(f"{place}{doing}: syntax error: {error.msg}; correct that line") from None
    except BaseException as error:
        place = _prefix(user_place(error.__traceback__))
        raise UsageError(f"{place}{doing}: {exception_text(error)}; correct that line") from None


def exception_text(error: BaseException) -> str:
    """The exception in one line: its type and the first line of its text."""
    first = str(error).strip().partition("\n")[0]
    if len(first) > MAX_TEXT:
        first = first[:MAX_TEXT] + "..."
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def user_place(traceback: TracebackType | None) -> SourceLoc | None:
    """The innermost line that belongs to neither asyncsim (its scenarios do) nor Python."""
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if _is_user(file):
            place = SourceLoc(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def _is_user(file: str) -> bool:
    import sysconfig

    if file.startswith(_SCENARIOS):
        return True
    paths = sysconfig.get_paths()
    libraries = (_PACKAGE, paths["stdlib"], paths["purelib"], paths["platlib"], "<")
    return not file.startswith(libraries)


def _prefix(place: SourceLoc | None) -> str:
    return f"{place}: " if place else ""


@contextmanager
def _deadline(doing: str, limit_s: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer") or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    fired = 0

    def stop(_signal: int, frame: FrameType | None) -> None:
        nonlocal fired
        fired += 1
        while frame is not None and not _is_user(frame.f_code.co_filename):
            frame = frame.f_back
        place = SourceLoc(frame.f_code.co_filename, frame.f_lineno) if frame else None
        text = (
            f"{_prefix(place)}{doing} took longer than {limit_s:g} s and was stopped; a loop of "
            "the kernel is `with k.loop(n)`, not a Python loop"
        )
        if fired > MAX_SWALLOWED:  # a bare `except:` around the loop
            os.write(2, f"asyncsim: {text}\n".encode())
            os._exit(ExitCode.USAGE)
        raise _TooLong(text)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
