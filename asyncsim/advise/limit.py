"""A time limit for what runs in this thread, whichever thread of whichever process it is.

An alarm signal reaches main threads only; workers of some executors are others. So a timer raises
an exception in the thread that it guards, which takes effect between two steps of Python code. Code
that stays outside of Python for long is ended with its process: see workers.py.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TookTooLong(BaseException):
    """The limit is over. No Exception: a scenario's ``except Exception`` must not swallow it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TookTooLong in the body after so many seconds."""
    thread, lock, over = threading.get_ident(), threading.Lock(), False

    def raise_in_body(exception: type[BaseException] | None) -> None:
        target = None if exception is None else ctypes.py_object(exception)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), target)

    def stop() -> None:
        with lock:
            if not over:
                raise_in_body(TookTooLong)

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over = True
            raise_in_body(None)  # one that is on its way has come too late
        timer.cancel()
