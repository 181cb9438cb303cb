"""Run the steps of many combinations on an executor, whatever happens to its workers.

``Processes`` are worker processes of our own. One that dies, or stays outside of Python past its
limit, costs one combination: the others that ran at that time are run again, one by one. The
executor of somebody else is used as it is: when it breaks, or none of its workers answers for long,
what it has not done is lost.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from asyncsim.collecting import collect_rarely

T = TypeVar("T")
R = TypeVar("R")

GRACE_S = 15.0  # past the limit, and for the start of a worker
SILENCE = 4  # limits, in which at least one worker of somebody else answers
LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Lost:
    """There is no result, in one line why."""

    why: str


class Workers(Protocol):
    """Calls a function for every item. Yields (index, result) as they come."""

    def outcomes(
        self, function: Callable[[T], R], items: Sequence[T]
    ) -> Iterator[tuple[int, R | Lost]]: ...

    def close(self) -> None: ...


class InThisThread:
    """One after the other, here. What the calls print goes to stderr."""

    def outcomes(
        self, function: Callable[[T], R], items: Sequence[T]
    ) -> Iterator[tuple[int, R | Lost]]:
        for index, item in enumerate(items):
            with redirect_stdout(sys.stderr):
                result = function(item)
            yield index, result

    def close(self) -> None:
        pass


class Foreign:
    """An executor that somebody else has made and will shut down."""

    def __init__(self, executor: Executor, silence_s: float) -> None:
        self._executor, self._silence_s = executor, silence_s
        self._flying: set[Future[object]] = set()

    def outcomes(
        self, function: Callable[[T], R], items: Sequence[T]
    ) -> Iterator[tuple[int, R | Lost]]:
        futures: dict[Future[R], int] = {}
        for index, item in enumerate(items):
            try:
                futures[self._executor.submit(function, item)] = index
            except (BrokenExecutor, RuntimeError) as error:  # broken, or shut down
                yield index, Lost(_text(error))
        self._flying = set(futures)  # type: ignore[arg-type]
        heard = time.monotonic()
        while futures:
            done, _ = wait(futures, timeout=LOOK_S, return_when=FIRST_COMPLETED)
            for future in done:
                result = _result(future)
                yield futures.pop(future), result
                heard = time.monotonic()
            if time.monotonic() - heard > self._silence_s:
                self.close()
                for index in futures.values():
                    yield index, Lost(f"no worker has answered for {self._silence_s:g} s")
                return

    def close(self) -> None:
        for future in self._flying:
            future.cancel()


@dataclass(slots=True)
class Processes:
    """``jobs`` worker processes that take no longer than ``limit_s`` for an item."""

    jobs: int
    limit_s: float
    _pool: _Pool | None = field(default=None, init=False)

    def outcomes(
        self, function: Callable[[T], R], items: Sequence[T]
    ) -> Iterator[tuple[int, R | Lost]]:
        waiting = deque(enumerate(items))
        while waiting:
            suspects = yield from self._run(function, waiting, self.jobs)
            for suspect in suspects:
                again = yield from self._run(function, deque([suspect]), 1)
                for index, _ in again:
                    yield index, Lost("its worker process died")

    def close(self) -> None:
        if self._pool is not None:
            self._pool.kill()
            self._pool = None

    def _run(
        self, function: Callable[[T], R], waiting: deque[tuple[int, T]], at_once: int
    ) -> Generator[tuple[int, R | Lost], None, list[tuple[int, T]]]:
        """Until nothing waits, or the pool breaks: then returns what it was at."""
        pool = self._pool = self._pool or _Pool(self.jobs)
        flying: dict[Future[R], tuple[int, T, float]] = {}
        suspects: list[tuple[int, T]] = []
        while flying or (waiting and not suspects):
            while waiting and not suspects and len(flying) < at_once:
                index, item = waiting.popleft()
                try:
                    flying[pool.submit(function, item)] = index, item, time.monotonic()
                except BrokenExecutor:
                    suspects.append((index, item))
            done, _ = wait(flying, timeout=LOOK_S, return_when=FIRST_COMPLETED)
            for future in done:
                index, item, _ = flying.pop(future)
                if isinstance(future.exception(), BrokenExecutor):
                    suspects.append((index, item))
                else:
                    result = _result(future)
                    yield index, result
            for future in self._overdue(flying):
                index, _, _ = flying.pop(future)
                pool.kill()
                yield index, Lost(f"took longer than {self.limit_s:g} s")
        if suspects or pool.killed:
            self.close()
        return suspects

    def _overdue(self, flying: dict[Future[R], tuple[int, T, float]]) -> list[Future[R]]:
        now = time.monotonic()
        late = [f for f, (_, _, begin) in flying.items() if now - begin > self.limit_s + GRACE_S]
        return late[:1]


class _Pool:
    """A process pool whose workers can be ended."""

    def __init__(self, jobs: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._ids = context.SimpleQueue()
        self._executor = ProcessPoolExecutor(
            jobs, mp_context=context, initializer=_begin, initargs=(self._ids,)
        )
        self.killed = False

    def submit(self, function: Callable[[T], R], item: T) -> Future[R]:
        return self._executor.submit(function, item)

    def kill(self) -> None:
        """End the workers, whatever they are at, and forget what waits."""
        self.killed = True
        ids = set()
        while not self._ids.empty():
            ids.add(self._ids.get())
        for child in multiprocessing.active_children():
            if child.pid in ids:
                child.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _begin(ids: multiprocessing.SimpleQueue[int]) -> None:
    """In a new worker: Ctrl-C is for the parent, and so is standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr
    collect_rarely()
    ids.put(os.getpid())


def _result(future: Future[R]) -> R | Lost:
    try:
        return future.result()
    except (Exception, CancelledError) as error:
        return Lost(_text(error))


def _text(error: BaseException) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
