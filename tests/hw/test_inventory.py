"""The GPUs that are listed are those of this machine; a kernel is compiled past the cache."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from asyncsim.cli.doctor.trials import probe_schedule
from asyncsim.hw.compile import compile_anew
from asyncsim.hw.inventory import CUDA_NEEDED, devices, installed_driver
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.render import render

PACKAGES = find_spec("cuda") is not None and find_spec("cuda.core") is not None


@pytest.mark.hw
@pytest.mark.skipif(not PACKAGES, reason="needs the hw extra: pip install 'asyncsim[hw]'")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_compiled_past_the_cache(
    arch: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    code, resources = compile_anew(render(probe_schedule(arch), arch))
    assert code.startswith(b"\x7fELF") and resources.registers > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
def test_devices_and_driver() -> None:
    from cuda.core import Device

    first = Device(0)
    found = devices()[0]
    assert found.name == str(first.name)
    assert found.capability == tuple(first.compute_capability)
    assert found.sms == int(first.properties.multiprocessor_count)
    assert found.memory_bytes > 2**30
    assert installed_driver().cuda >= (CUDA_NEEDED, 0)


@pytest.mark.hw
@pytest.mark.skipif(not PACKAGES, reason="needs the hw extra: pip install 'asyncsim[hw]'")
def test_compiled_twice_it_says_the_same() -> None:
    """NVRTC has a cache of its own beside a driver; what comes out of it has no log."""
    rendered = render(probe_schedule("sm_90a"), "sm_90a")
    first, second = compile_anew(rendered), compile_anew(rendered)
    assert first == second
