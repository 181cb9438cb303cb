"""The parent's handle on the child that owns the GPU: one run at a time, with a host time limit."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import tempfile
import threading
from types import TracebackType
from typing import IO

from asyncsim.errors import EnvironmentError_
from asyncsim.hw.launch.protocol import RunReply, RunSpec, decode_reply, encode

_ENVIRONMENT = "environment: "


class LaunchFailed(Exception):
    """The child died, ran out of time, or CUDA refused. One line.

    ``done``: launches before it that ended as they should, where the child could tell;
    ``launched``: whether a launch had begun.
    """

    def __init__(self, text: str, *, done: int = 0, launched: bool = True) -> None:
        super().__init__(text)
        self.done, self.launched = done, launched


class NoAnswer(LaunchFailed):
    """The child ran out of time and was killed."""


class Child:
    """Starts the child at the first run, and again after one that failed.

    A context manager; ``command`` may be replaced by a test's fake.
    """

    def __init__(self, command: tuple[str, ...] = ()) -> None:
        self._command = command or (sys.executable, "-m", "asyncsim.hw.child")
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()
        self._errors: IO[str] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, spec: RunSpec, *, timeout_s: float = 60.0) -> RunReply:
        """Send a spec and wait for its reply.

        Raises EnvironmentError_ (no GPU, wrong GPU, no packages) and LaunchFailed.
        """
        process = self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(encode(spec) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            self.close()
            raise NoAnswer(
                f"the GPU process gave no answer in {timeout_s:g} s and was killed; "
                "fix: raise the limit, or look for a wait without a bound"
            ) from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise LaunchFailed(f"the GPU process died: {self._last_words()}")
        reply = decode_reply(line)
        if reply.error.startswith(_ENVIRONMENT):
            raise EnvironmentError_(reply.error.removeprefix(_ENVIRONMENT))
        if reply.error:
            self.close()
            text = reply.error.split(" Common causes")[0]
            raise LaunchFailed(text, done=reply.done, launched=reply.launched)
        return reply

    def close(self) -> None:
        """End the child; kill it if it does not end by itself."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        try:
            process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._answers = queue.Queue()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        thread = threading.Thread(
            target=_pump, args=(self._process.stdout, self._answers), daemon=True
        )
        thread.start()
        return self._process

    def _last_words(self) -> str:
        self.close()
        if self._errors is None:
            return "no message"
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1][:300] if lines else "no message"


def _pump(lines: IO[str] | None, answers: queue.Queue[str]) -> None:
    """Move lines to the queue; an empty one says that the child has ended."""
    assert lines is not None
    for line in lines:
        answers.put(line)
    answers.put("")
