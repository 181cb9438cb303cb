"""Who may import what. Reads the imports of every module, runs none of them.

The core needs the standard library, SimPy, NumPy and networkx alone; NumPy and networkx are loaded
when first needed, so that ``import asyncsim`` is fast and the core can run in a browser.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CUDA = {"cuda", "cupy", "pynvml", "torch"}
EVERYWHERE = set(sys.stdlib_module_names) | {"asyncsim"}
# Third-party package -> the folders (below asyncsim/) that may import it.
ALLOWED = {
    "simpy": ("sim/",),
    "numpy": ("",),
    "networkx": ("",),
    "ml_dtypes": ("evaluate/", "hw/"),
    "scipy": ("hw/calibrate/",),
    "google": ("trace/",),
    "pytest": ("pytest_plugin.py",),
    "pyarrow": ("advise/",),
    "distributed": ("advise/",),
    "nvMatmulHeuristics": ("hw/beside/",),
    **dict.fromkeys(CUDA, ("hw/",)),
}
# What the command line must not load before a command needs it.
HEAVY = (
    "numpy",
    "networkx",
    "simpy",
    "ml_dtypes",
    "google.protobuf",
    "cuda",
    "scipy",
    "pyarrow",
    "distributed",
)


@dataclass(frozen=True)
class Import:
    """One import: the module (relative to asyncsim/), the top-level package, at module level?"""

    module: str
    package: str
    name: str
    line: int
    eager: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


def imports() -> Iterator[Import]:
    """Every import of the package, type-checking blocks left out."""
    for folder in sorted((ROOT / "asyncsim").iterdir()):
        files = [folder] if folder.suffix == ".py" else sorted(folder.resolve().rglob("*.py"))
        for path in files:
            inside = path.relative_to(folder.resolve()) if folder.is_dir() else path.name
            module = f"{folder.name}/{inside}" if folder.is_dir() else path.name
            yield from _of_file(path, module)


def _of_file(path: Path, module: str) -> Iterator[Import]:
    yield from _of_body(ast.parse(path.read_text()).body, module, eager=True)


def _of_body(body: list[ast.stmt], module: str, *, eager: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name.partition(".")[0], alias.name, node.lineno, eager)
        elif isinstance(node, ast.ImportFrom):
            name = _absolute(node, module)
            yield Import(module, name.partition(".")[0], name, node.lineno, eager)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _of_body(node.orelse, module, eager=eager)
        else:
            inside = eager and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for field in ("body", "orelse", "finalbody"):
                yield from _of_body(getattr(node, field, []), module, eager=inside)
            for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                yield from _of_body(part.body, module, eager=inside)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if node.level == 0:
        return node.module or ""
    folders = ["asyncsim", *module.split("/")[:-1]]
    return ".".join([*folders[: len(folders) - node.level + 1], node.module or ""])


def test_the_reader_of_imports_sees_lazy_nested_and_eager_ones() -> None:
    source = (
        "import simpy\n"
        "def f():\n    try:\n        import numpy as np\n    except E:\n        import cuda.core\n"
        "if TYPE_CHECKING:\n    import networkx\n"
        "match x:\n    case 1:\n        from google.protobuf import message\n"
    )
    found = list(_of_body(ast.parse(source).body, "m.py", eager=True))
    assert [(i.package, i.eager) for i in found] == [
        ("simpy", True),
        ("numpy", False),
        ("cuda", False),
        ("google", True),
    ]


def test_every_folder_is_read() -> None:
    folders = {i.module.partition("/")[0] for i in imports()}
    assert {"ir", "build", "stream", "sync", "check", "sim", "cli", "hw", "scenarios"} <= folders


def test_third_party_packages_stay_where_they_belong() -> None:
    strays = [
        str(i)
        for i in imports()
        if i.package not in EVERYWHERE and not i.module.startswith(ALLOWED.get(i.package, ("\0",)))
    ]
    assert strays == []


def test_cuda_packages_are_imported_lazily() -> None:
    assert [str(i) for i in imports() if i.package in CUDA and i.eager] == []


def test_the_core_does_not_know_the_command_line_or_the_hardware() -> None:
    """``cli`` may import all, so may what a test suite imports; ``hw`` the core; the core neither,
    except inside functions."""
    bad = [
        str(i)
        for i in imports()
        if (
            i.name.startswith("asyncsim.cli")
            and not i.module.startswith(("cli/", "testing.py", "__main__.py"))
        )
        or (
            i.name.startswith("asyncsim.hw")
            and i.eager
            and not i.module.startswith(("hw/", "cli/"))
        )
    ]
    assert bad == []


def test_the_language_knows_no_reader() -> None:
    """ir, build, memory, stream and sync do not import check, sim, evaluate, predict or hw."""
    readers = ("check", "sim", "evaluate", "predict", "hw", "trace", "machine", "cli")
    bad = [
        str(i)
        for i in imports()
        if i.module.startswith(("ir/", "build/", "memory/", "stream/", "sync/"))
        and i.name.startswith(tuple(f"asyncsim.{r}" for r in readers))
    ]
    assert bad == []


@pytest.mark.parametrize(
    "statement",
    [
        "import asyncsim",
        "from asyncsim.cli.main import main; main(['list'])",
        "from asyncsim.cli.main import main; main(['predict', 'nosuch'])",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(statement: str) -> None:
    script = f"{statement}\nimport sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
