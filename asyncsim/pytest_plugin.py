"""The pytest plug-in: ``assert_clean`` and ``assert_finds`` as fixtures.

pytest loads this module in every run, so it imports nothing of asyncsim before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from asyncsim.predict.result import CheckResult


@pytest.fixture(scope="session")
def assert_clean() -> Callable[..., CheckResult]:
    """``assert_clean(schedule, strict=False)`` of asyncsim.testing."""
    from asyncsim.testing import assert_clean

    return assert_clean


@pytest.fixture(scope="session")
def assert_finds() -> Callable[..., CheckResult]:
    """``assert_finds(schedule, rule)`` of asyncsim.testing."""
    from asyncsim.testing import assert_finds

    return assert_finds
