"""What only a process of its own shows: entry points, broken pipes, an interrupted run."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from asyncsim.__main__ import entry
from asyncsim.cli.output import write_whole

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
    # A shell that runs the tests in the background has its children ignore the interrupt.
    with subprocess.Popen(
        [*ASYNCSIM, "check", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
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


@pytest.mark.skipif(os.name != "posix", reason="a shell and devices of POSIX")
@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("> /dev/full", 2, "asyncsim: cannot write the results: No space left on device\n"),
    ],
)
def test_streams_that_take_nothing(redirection: str, code: int, said: str) -> None:
    command = f"{shlex.join(ASYNCSIM)} --version {redirection}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.skipif(os.name != "posix", reason="pipes and links of POSIX")
def test_a_pipe_or_a_link_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe, file, link = tmp_path / "pipe", tmp_path / "file", tmp_path / "link"
    os.mkfifo(pipe)
    file.touch()
    link.symlink_to(file)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(str(pipe), b"one")
    write_whole(str(link), b"two")
    assert (os.read(reader, 9), file.read_bytes()) == (b"one", b"two")
    os.close(reader)
    assert pipe.is_fifo() and link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [file, link, pipe]
