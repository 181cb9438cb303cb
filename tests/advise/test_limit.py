"""The time limit of what runs in a thread."""

from __future__ import annotations

import threading
import time

import pytest

from asyncsim.advise.limit import TookTooLong, time_limit


def forever() -> None:
    while True:
        try:
            sum(range(100))
        except Exception:  # as a scenario may
            continue


def test_it_ends_what_does_not_end() -> None:
    with pytest.raises(TookTooLong), time_limit(0.1):
        forever()


def test_it_ends_it_in_another_thread() -> None:
    ended = []

    def work() -> None:
        try:
            with time_limit(0.1):
                forever()
        except TookTooLong:
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=20)
    assert ended == [True]


def test_nothing_comes_late() -> None:
    """A limit that is over together with the body must not hit what comes after it."""
    for _ in range(30):
        try:
            with time_limit(0.002):
                time.sleep(0.0015)
        except TookTooLong:
            pass
        sum(range(1000))
    with time_limit(60):
        pass
    time.sleep(0.05)
