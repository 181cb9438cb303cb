"""What is installed and what is public."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import asyncsim
from asyncsim.build import handles

ROOT = Path(__file__).parents[1]


def test_public_names_are_listed_and_there() -> None:
    assert sorted(asyncsim.__all__) == asyncsim.__all__
    assert [name for name in asyncsim.__all__ if not hasattr(asyncsim, name)] == []


def test_the_version_is_that_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["version"] == asyncsim.__version__


def test_links_of_the_package_lead_to_the_top_level_folders() -> None:
    for name in ("hw", "scenarios"):
        link = ROOT / "asyncsim" / name
        assert link.is_symlink() and link.readlink().as_posix() == f"../{name}"


FAMILIES = ("mbarrier", "tma", "cp_async", "bulk", "wgmma", "bar", "fence", "mem")


def documented() -> Iterator[tuple[str, object]]:
    """Public names, what they have, the families of the builder and its handles."""
    builder = asyncsim.ScheduleBuilder("k")
    found = [(name, getattr(asyncsim, name)) for name in asyncsim.__all__]
    found += [(f"k.{name}", type(getattr(builder, name))) for name in FAMILIES]
    found += [
        (name, value)
        for name, value in vars(handles).items()
        if inspect.isclass(value) and value.__module__ == handles.__name__
    ]
    for name, value in found:
        yield name, value
        if inspect.isclass(value) and value.__module__.startswith("asyncsim."):
            for owner in value.__mro__:
                for member, what in vars(owner).items():
                    if not member.startswith("_") and (
                        inspect.isfunction(what) or isinstance(what, property)
                    ):
                        yield f"{name}.{member}", what


def test_every_public_name_says_what_it_is() -> None:
    silent = [
        name
        for name, value in documented()
        if not (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__)
        and not name.startswith("ScheduleError.")
    ]
    assert silent == []
    assert len(list(documented())) > 100


def test_every_public_name_stands_in_the_documentation() -> None:
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)(?:\([^`]*\))?`", text))
    assert [name for name in asyncsim.__all__ if name not in named] == []


def python(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import asyncsim.check, asyncsim.predict",
        "from asyncsim.check import check; from asyncsim.predict import predict",
        "from asyncsim.cli.main import main; main(['check', 'sync_copy', '--tiles', '1'])",
    ],
)
def test_check_and_predict_are_functions_whatever_was_imported_before(before: str) -> None:
    script = f"{before}\nfrom asyncsim import check, predict\nprint(type(check), type(predict))"
    assert python(script).splitlines()[-1] == "<class 'function'> <class 'function'>"


def test_importing_asyncsim_loads_nothing_else() -> None:
    loaded = "print(*[m for m in sys.modules if m.partition('.')[0] == 'asyncsim'])"
    assert python(f"import sys, asyncsim; {loaded}") == "asyncsim"


def test_the_readers_are_loaded_when_they_are_needed() -> None:
    loaded = "print(any(m in sys.modules for m in ('asyncsim.check', 'asyncsim.machine')))"
    assert python(f"import sys, asyncsim; {loaded}") == "False"
    assert python(f"import sys; from asyncsim import check; {loaded}") == "True"


def test_names_are_listed_and_others_refused() -> None:
    assert set(asyncsim.__all__) <= set(dir(asyncsim))
    with pytest.raises(AttributeError, match="^module 'asyncsim' has no attribute 'chek'$"):
        asyncsim.chek  # noqa: B018


@pytest.mark.parametrize("reader", [asyncsim.check, asyncsim.predict])
def test_what_is_not_finished_is_refused_in_words(reader: Callable[[object], object]) -> None:
    builder = asyncsim.ScheduleBuilder("k")
    rest = "; call the function that builds it, and end that with `return k.finish()`"
    for given, kind in ((builder, "ScheduleBuilder"), (lambda: builder, "function")):
        with pytest.raises(TypeError) as caught:
            reader(given)
        assert str(caught.value) == f"{reader.__name__} takes a Schedule, not {kind}{rest}"


def test_a_machine_is_a_name_or_a_path() -> None:
    schedule = asyncsim.ScheduleBuilder("k").finish()
    by_name, by_path = (
        asyncsim.predict(schedule, machine)[1]
        for machine in ("h200", ROOT / "asyncsim" / "machine" / "h200.toml")
    )
    assert by_name == by_path
