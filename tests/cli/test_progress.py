"""A line on a terminal while something takes long; silence in logs and under --json."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time

import pytest

from asyncsim.cli.progress import WIPE, working


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def wait_for(stream: io.StringIO, text: str) -> None:
    deadline = time.monotonic() + 10
    while text not in stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert text in stream.getvalue()


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """stderr becomes one; called in the test, because pytest sets stderr anew after fixtures."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_the_line_follows_what_is_told_and_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with working("checking ws_gemm", quiet=False, after_s=0.01) as tell:
        wait_for(terminal, "checking ws_gemm, 0 s")
        tell("simulating ws_gemm")
        wait_for(terminal, "simulating ws_gemm, 0 s")
    text = terminal.getvalue()
    assert text.startswith(WIPE) and text.endswith(WIPE) and "\n" not in text


def test_it_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with working("x" * 200, quiet=False, after_s=0.01):
        wait_for(terminal, "..., 0 s")
    assert max(len(part) for part in terminal.getvalue().split(WIPE)) <= 79


def test_what_is_quick_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with working("checking", quiet=False, after_s=5):
        pass
    assert terminal.getvalue() == ""


def test_it_is_wiped_when_the_body_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with pytest.raises(KeyError), working("checking", quiet=False, after_s=0.01):
        wait_for(terminal, "checking")
        raise KeyError
    assert terminal.getvalue().endswith(WIPE)


@pytest.mark.parametrize("why", ["json", "log", "dumb"])
def test_silence(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    log = io.StringIO()
    if why == "log":
        monkeypatch.setattr(sys, "stderr", log)
    if why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    with working("checking", quiet=why == "json", after_s=0.0) as tell:
        tell("something")
        time.sleep(0.05)
    assert (terminal.getvalue(), log.getvalue()) == ("", "")


def test_predict_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from asyncsim.catalog import find_scenario
    from asyncsim.predict import predict

    told: list[str] = []
    predict(find_scenario("sync_copy").build({"tiles": 2, "ctas": 1}), progress=told.append)
    assert told == ["checking sync_copy", "simulating sync_copy"]


@pytest.mark.skipif(os.name != "posix", reason="a terminal of POSIX")
def test_on_a_terminal_results_stand_alone() -> None:
    """stderr is a terminal: it shows the line; stdout has the result alone."""
    import pty

    main, child = pty.openpty()
    script = (
        "import asyncsim.cli.progress as p\n"
        "p.working.__wrapped__.__kwdefaults__['after_s'] = 0.0\n"
        "from asyncsim.cli.main import main\n"
        "main(['check', 'tma_ring', '--tiles', '40'])\n"
    )
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=child,
        env=environment,
        check=True,
    )
    os.close(child)
    shown = os.read(main, 10_000).decode()
    os.close(main)
    assert "checking tma_ring, 0 s" in shown and shown.endswith(WIPE)
    assert b"\x1b" not in done.stdout and done.stdout.endswith(b"breaks a rule\n")
