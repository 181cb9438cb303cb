"""What only a process of its own shows: entry points, broken pipes, an interrupted run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from asyncsim.__main__ import entry

ASYNCSIM = [sys.executable, "-m", "asyncsim"]


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ASYNCSIM, *argv], capture_output=True, text=True, check=False)


def test_module_and_script_are_the_same_program() -> None:
    script = Path(sys.executable).with_name("asyncsim")
    if not script.exists():
        pytest.skip("asyncsim is not installed as a script")
    done = subprocess.run([script, "list"], capture_output=True, text=True, check=True)
    assert done.stdout == run("list").stdout


def test_exit_code_and_streams() -> None:
    done = run("check", "tma_ring", "--stages", "0")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert run("--version").stdout == "asyncsim 0.1.0\n"
    assert run().returncode == 2 and run("--help").returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_a_broken_pipe_is_quiet_and_not_clean() -> None:
    with subprocess.Popen(
        [*ASYNCSIM, "show", "ws_gemm"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, b"")


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_an_interrupt_is_one_line(tmp_path: Path) -> None:
    started = tmp_path / "started"
    file = tmp_path / "slow.py"
    file.write_text(f"import time\nopen({str(started)!r}, 'w').close()\ntime.sleep(15)\n")
    with subprocess.Popen(
        [*ASYNCSIM, "check", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 10
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=10)
    assert (process.returncode, out, errors) == (130, b"", b"asyncsim: interrupted\n")


def test_an_interrupt_while_the_command_line_is_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "asyncsim.cli.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "asyncsim.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted, *sys.meta_path])
    assert entry() == 130
    assert capsys.readouterr().err == "asyncsim: interrupted\n"
