"""Options and fixtures that every test folder shares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How fast examples are drawn says something about the machine, nothing about the code. The same
# are drawn each time, so that the gate does not fail by chance; new ones with
# `--hypothesis-profile search`.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("search"), derandomize=True)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that launch kernels go to one worker: they have one GPU, and some time it."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.xdist_group("gpu"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)`` compares with ``golden/name`` beside the test."""
    folder = Path(str(request.node.path)).parent / "golden"
    update = bool(request.config.getoption("--update-golden"))

    def compare(name: str, text: str) -> None:
        path = folder / name
        if update:
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"{path} is missing; run pytest --update-golden and read it"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; see --update-golden"

    return compare
