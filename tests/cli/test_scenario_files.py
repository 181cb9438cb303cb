"""Scenario files from anywhere: picked, guarded, and refused in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import asyncsim.cli.guard

BUILDS = """
    from asyncsim import ScheduleBuilder

    def plain(warps=1):
        "A function without a decorator."
        k = ScheduleBuilder("plain")
        k.block(warps)
        k.bar.sync()
        return k.finish()
"""


@pytest.fixture
def write(tmp_path: Path):  # type: ignore[no-untyped-def]
    """``write(text)`` makes a scenario file and returns its path."""

    def make(text: str, name: str = "mine.py") -> str:
        path = tmp_path / name
        path.write_text(dedent(text))
        return str(path)

    return make


def test_a_plain_function(cli, write) -> None:  # type: ignore[no-untyped-def]
    path = write(BUILDS)
    done = cli("show", path, "--warps", 3)
    assert (done.code, done.err) == (0, "")
    assert "block of 96 threads" in done.out and "mine.py:8" in done.out
    listed = cli("list", path)
    assert listed.out == "plain: A function without a decorator.\n  params  warps=1\n"


def test_a_schedule_object(cli, write) -> None:  # type: ignore[no-untyped-def]
    path = write(BUILDS + "\n    done = plain(2)\n")
    assert "block of 64 threads" in cli("show", f"{path}:done").out


def test_nothing_is_written_beside_the_file(cli, write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    cli("show", write(BUILDS))
    assert [p.name for p in tmp_path.iterdir()] == ["mine.py"]


def test_helpers_beside_the_file_and_prints(cli, write, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(sys, "path", list(sys.path))
    write("WARPS = 5\n", "beside_the_file.py")
    path = write("from beside_the_file import WARPS\nprint('loading')\n" + dedent(BUILDS))
    done = cli("show", path, "--warps", 5)
    assert (done.code, done.err) == (0, "loading\n")
    assert "loading" not in done.out


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x = 1 / 0\n", "mine.py:1: loading mine.py: ZeroDivisionError: division by zero; "),
        ("def f(:\n", "mine.py:1: loading mine.py: syntax error: invalid syntax; "),
        ("import sys\nsys.exit(3)\n", "mine.py:2: loading mine.py: SystemExit: 3; "),
        (
            "import nosuchmodule\n",
            "mine.py:1: loading mine.py: ModuleNotFoundError: No module named 'nosuchmodule'; ",
        ),
        ("def f(*, n=1):\n    return {}[n]\n", "mine.py:2: building f: KeyError: 1; "),
        (
            "def f():\n    return f()\n",
            "mine.py:2: building f: RecursionError: maximum recursion depth exceeded; ",
        ),
    ],
)
def test_exceptions_are_one_line_with_their_place(cli, write, text: str, error: str) -> None:  # type: ignore[no-untyped-def]
    path = write(text)
    done = cli("check", path)
    assert (done.code, done.out, done.err) == (2, "", f"asyncsim: {error}correct that line\n")


@pytest.mark.parametrize(
    ("text", "spec", "error"),
    [
        (
            "x = 1\n",
            "",
            "PATH defines no scenario; write a function that returns k.finish(), "
            "best with @scenario above it",
        ),
        (
            "def f(n=1): return n\n",
            "",
            "PATH returned int, not a Schedule; end it with `return k.finish()`",
        ),
        (
            "def f(n): return n\n",
            "",
            "parameter 'n' of scenario 'f' has no integer default; write n=1",
        ),
        (
            "def f(): pass\ndef g(): pass\n",
            "",
            "PATH defines f, g; name the one that is meant, e.g. PATH:f",
        ),
        (
            "def ring(): pass\n",
            ":rings",
            "PATH defines no 'rings'; did you mean 'ring'? it has ring",
        ),
        (
            "def f(n=1): pass\n",
            "",
            "PATH returned NoneType, not a Schedule; end it with `return k.finish()`",
        ),
        (
            "x = 1\n",
            ":x",
            "PATH:x is of type int; name a scenario, a Schedule, or a function that returns one",
        ),
    ],
)
def test_files_without_the_scenario(cli, write, text: str, spec: str, error: str) -> None:  # type: ignore[no-untyped-def]
    path = write(text)
    done = cli("check", path + spec)
    # the path as it was typed: with the name where the message is about what was named
    assert (done.code, done.out) == (2, "")
    assert done.err == f"asyncsim: {error.replace('PATH', path)}\n"


def test_a_missing_file(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = cli("check", tmp_path / "no.py")
    text = f"cannot read scenario file {tmp_path}/no.py: No such file or directory; check the path"
    assert (done.code, done.err) == (2, f"asyncsim: {text}\n")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("n = 0\nwhile True:\n    n += 1\n", ": loading mine.py"),
        (
            "def f():\n    while True:\n        try:\n            g()\n"
            "        except Exception:\n            pass\ndef g():\n    pass\n",
            "building f",
        ),
    ],
)
def test_what_never_ends_is_stopped(cli, write, monkeypatch, text: str, place: str) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(asyncsim.cli.guard, "TRACE_LIMIT_S", 0.2)
    done = cli("check", f"{write(text)}:f" if "def f" in text else write(text))
    assert (done.code, done.out) == (2, "")
    assert place in done.err and done.err.endswith(
        " took longer than 0.2 s and was stopped; a loop of the kernel is `with k.loop(n)`, "
        "not a Python loop\n"
    )


def test_unrolling_stops_at_the_builders_limit(cli, write) -> None:  # type: ignore[no-untyped-def]
    path = write(
        """
        from asyncsim import ScheduleBuilder

        def forever():
            k = ScheduleBuilder("forever")
            while True:
                k.bar.sync()
        """
    )
    done = cli("check", path)
    assert (done.code, done.err) == (
        2,
        "asyncsim: mine.py:7: more than 100000 statements were traced; "
        "use k.loop instead of a Python loop\n",
    )


def test_a_kernel_value_as_a_python_condition(cli, write) -> None:  # type: ignore[no-untyped-def]
    path = write(
        """
        from asyncsim import ScheduleBuilder

        def f():
            k = ScheduleBuilder("f")
            with k.loop(4) as i:
                if i > 2:
                    pass
            return k.finish()
        """
    )
    done = cli("check", path)
    assert (done.code, done.err) == (
        2,
        "asyncsim: mine.py:7: a value of the kernel cannot be used as a Python condition; "
        "write `with k.when(condition):`\n",
    )


def test_a_loop_that_swallows_everything_is_stopped_too(write) -> None:  # type: ignore[no-untyped-def]
    path = write("while 1:\n    try:\n        while 1: pass\n    except: pass\n")
    script = (
        "import asyncsim.cli.guard as g, asyncsim.cli.main as m; g.TRACE_LIMIT_S = 0.1; "
        f"raise SystemExit(m.main(['check', {path!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "loading mine.py took longer than 0.1 s" in done.stderr


def test_an_exception_in_a_compute_definition(cli, write) -> None:  # type: ignore[no-untyped-def]
    path = write(
        """
        from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work

        D = ComputeDef(
            name="d",
            operands=(ComputeOperand(name="x", kind="fragment", mode=AccessMode.WRITE),),
            work=lambda: Work(alu=1 // 0),
            cuda="x[0] = 0;",
            numpy=lambda x, **_: x.fill(0),
        )

        def f():
            k = ScheduleBuilder("f")
            x = k.fragment("x", registers=1)
            k.mem.compute(D, x.all)
            return k.finish()
        """
    )
    done = cli("predict", path)
    assert (done.code, done.out, done.err) == (
        2,
        "",
        "asyncsim: mine.py:7: in f: ZeroDivisionError: integer division or modulo by zero; "
        "correct that line\n",
    )


@pytest.mark.parametrize(
    ("work", "error"),
    [
        ("None", "work of compute 'bad' returned NoneType; return Work(...), or a tuple of them"),
        ("Work(alu=-5)", "work of compute 'bad' has alu = -5; counts are 0 or more"),
    ],
)
def test_work_that_is_no_cost(cli, write, work: str, error: str) -> None:  # type: ignore[no-untyped-def]
    path = write(
        f"""
        from asyncsim import ComputeDef, ScheduleBuilder, Work

        BAD = ComputeDef(
            name="bad", operands=(), work=lambda: {work}, cuda="", numpy=lambda **_: None
        )

        def bad(warps=1):
            k = ScheduleBuilder("bad")
            k.block(warps)
            k.mem.compute(BAD)
            return k.finish()
        """
    )
    done = cli("predict", path)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"asyncsim: mine.py:11: {error}\n"


def test_a_file_that_is_no_text(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "bytes.py"
    path.write_bytes(b"x = 1\0")
    done = cli("check", path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("asyncsim: loading bytes.py: syntax error: ")


@pytest.mark.parametrize("command", ["check", "predict"])
def test_more_rounds_than_can_be_followed(cli, write, command: str) -> None:  # type: ignore[no-untyped-def]
    """Rounds in which a warp executes nothing count as well."""
    path = write(
        """
        from asyncsim import ScheduleBuilder

        def idle(trips=2):
            k = ScheduleBuilder("idle")
            with k.loop(trips), k.when(k.block_idx > 0):
                k.bar.sync()
            return k.finish()
        """
    )
    done = cli(command, path, "--trips", 10**12)
    assert done.code == 3
    assert (
        "a warp executes 1000000000000 rounds of loops; at most 1000000 are followed"
        in " ".join(done.out.split())
    )
    assert cli(command, path, "--trips", 1000).code == 0
