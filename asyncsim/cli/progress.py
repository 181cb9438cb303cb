"""A line on stderr that says what takes so long; nothing where stderr is no terminal.

The line shows after a moment, is rewritten in place, and is wiped before results are printed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from asyncsim.cli.output import WIDTH, shorten

Tell = Callable[[str], None]
"""Say what is being done now."""

AFTER_S = 0.7
EVERY_S = 0.2
WIPE = "\r\x1b[2K"


@contextmanager
def working(doing: str, *, quiet: bool, after_s: float = AFTER_S) -> Iterator[Tell]:
    """Show ``doing`` and the seconds it takes while the body runs; ``quiet``: under --json."""
    if quiet or not _is_terminal():
        yield lambda now: None
        return
    line = _Line(doing, after_s)
    line.start()
    try:
        yield line.tell
    finally:
        line.stop()


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class _Line(threading.Thread):
    """Rewrites the line until it is stopped, then wipes it."""

    def __init__(self, doing: str, after_s: float) -> None:
        super().__init__(daemon=True)
        self._doing, self._after_s = doing, after_s
        self._begin = time.monotonic()
        self._stopped = threading.Event()
        self._stream = sys.stderr
        self._shown = False

    def tell(self, now: str) -> None:
        self._doing = now

    def run(self) -> None:
        wait = self._after_s
        while not self._stopped.wait(wait):
            seconds = f", {time.monotonic() - self._begin:.0f} s"
            text = shorten(self._doing, WIDTH - 1 - len(seconds)) + seconds
            self._stream.write(WIPE + text)
            self._stream.flush()
            self._shown = True
            wait = EVERY_S

    def stop(self) -> None:
        self._stopped.set()
        self.join()
        if self._shown:
            self._stream.write(WIPE)
            self._stream.flush()
