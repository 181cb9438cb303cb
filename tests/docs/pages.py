"""The pages of the documentation and the code blocks in them.

Blocks marked ``python`` run in order, in one namespace a page. Blocks marked ``console`` hold
``$ asyncsim ...`` lines and what they print (stderr too; ``[exit code N]`` when it is not 0).
``console numbers`` is the same with numbers free to differ: predictions move when machine files do.
``python NAME`` is a block that is also the file NAME.py, ``diff NAME`` changes that file; on such a
page commands run in a folder that holds its files as they are there, as commands with ``-o`` do.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from asyncsim.cli.main import main

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)?(?: (\w+))?$")
NO_GPU = "no NVIDIA driver; fix: run on a machine with an NVIDIA GPU and driver 580 or newer"
NUMBER = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class Block:
    """A fenced block: ``line`` is that of its first line, counted from 1."""

    page: Path
    language: str
    mark: str
    line: int
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """README and every page below docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> Iterator[Block]:
    """The fenced blocks of one language."""
    inside: list[str] | None = None
    kind, mark, start = "", "", 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = FENCE.match(line)
        if inside is None:
            if fence:
                inside, kind, mark, start = [], fence[1] or "", fence[2] or "", number + 1
        elif line == "```":
            if kind == language:
                yield Block(page, kind, mark, start, tuple(inside))
            inside = None
        else:
            inside.append(line)
    assert inside is None, f"{page}: the fence at line {start - 1} is not closed"


def run_python(block: Block, namespace: dict[str, object]) -> None:
    """Run a block so that tracebacks and source places name the page and its line."""
    source = "\n" * (block.line - 1) + "\n".join(block.lines) + "\n"
    exec(compile(source, str(block.page), "exec"), namespace)


def files_before(block: Block) -> dict[str, str]:
    """The files of a page, by name, as the blocks above this one leave them."""
    found: dict[str, str] = {}
    steps = [b for kind in ("python", "diff") for b in blocks(block.page, kind) if b.mark]
    for step in sorted(steps, key=lambda b: b.line):
        name = f"{step.mark}.py"
        if step.line < block.line and step.language == "python":
            found[name] = "\n".join(step.lines) + "\n"
        elif step.line < block.line:
            found[name] = _changed(found[name], step)
    return found


def _changed(text: str, diff: Block) -> str:
    old, new = (
        "".join(f"{line[1:]}\n" for line in diff.lines if line[:1] in signs)
        for signs in ((" ", "-"), (" ", "+"))
    )
    assert text.count(old) == 1, (
        f"{diff.name}: what it changes stands there {text.count(old)} times"
    )
    return text.replace(old, new)


def run_console(block: Block) -> list[str]:
    """The block as it ought to be: its commands, each followed by what it prints now."""
    files = files_before(block)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        out: list[str] = []
        for line in block.lines:
            if line.startswith("$ "):
                apart = files or " -o " in line  # what a command writes stays out of the tree
                out += [line, *run_command(line[2:], Path(folder) if apart else ROOT)]
    return out


def run_command(command: str, folder: Path = ROOT) -> list[str]:
    """The lines that an ``asyncsim`` command prints in a folder, without a GPU."""
    words = shlex.split(command)
    assert words[0] == "asyncsim", f"only asyncsim commands can be run: {command}"
    text = io.StringIO()
    linecache.clearcache()  # files of the same name change from block to block
    with (
        mock.patch("asyncsim.hw.probe.what_is_missing", return_value=NO_GPU),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(text),
        contextlib.redirect_stderr(text),
    ):
        code = main(words[1:])
    lines = [line.replace(f"{ROOT}{os.sep}", "") for line in text.getvalue().splitlines()]
    return [*lines, f"[exit code {code}]"] if code else lines


def comparable(lines: list[str] | tuple[str, ...], *, mark: str) -> list[str]:
    """Lines as they are compared. Under ``numbers``: commands as they are, else how lines begin."""
    if mark != "numbers":
        return [line.rstrip() for line in lines]
    commands = [line for line in lines if line.startswith("$ ")]
    begins = {NUMBER.sub("#", line.split()[0]) for line in lines if line[:3].strip()}
    return [*commands, *sorted(word for word in begins if word.strip("[]{},"))]


def update(page: Path) -> bool:
    """Rewrite the console blocks of a page with what their commands print; True if it changed."""
    lines = page.read_text(encoding="utf-8").splitlines()
    before = list(lines)
    for block in reversed(list(blocks(page, "console"))):
        lines[block.line - 1 : block.line - 1 + len(block.lines)] = run_console(block)
    if lines != before:
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lines != before
