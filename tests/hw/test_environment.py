"""No CUDA packages, no GPU, the wrong GPU: one line each, that says how to fix it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from asyncsim.errors import EnvironmentError_
from asyncsim.hw import probe
from asyncsim.hw.compile import compile_schedule, nvrtc_version
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.launch.gpu import Gpu
from asyncsim.hw.launch.protocol import RunSpec
from asyncsim.scenarios.tma_ring import tma_ring

HIDE_CUDA = "import sys; sys.modules['cuda'] = sys.modules['cuda.core'] = None"
RUN_CHILD = "from asyncsim.hw.child import main; sys.exit(main())"


def test_compile_without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cuda", "cuda.bindings", "cuda.core"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (nvrtc_version, lambda: compile_schedule(tma_ring.build({}))):
        with pytest.raises(EnvironmentError_) as error:
            call()
        assert str(error.value) == (
            "the CUDA packages are not installed: no compile, no run; "
            "fix: pip install 'asyncsim[hw]'"
        )


def test_child_without_packages(a_spec: RunSpec) -> None:
    child = Child((sys.executable, "-c", f"{HIDE_CUDA}; {RUN_CHILD}"))
    with child, pytest.raises(EnvironmentError_) as error:
        child.run(a_spec)
    assert str(error.value) == (
        "the CUDA packages are not installed (cuda.core); fix: pip install 'asyncsim[hw]'"
    )


def test_probe_without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "find_spec", lambda name: None)
    assert probe.what_is_missing() == (
        "the CUDA packages are not installed; fix: pip install 'asyncsim[hw]'"
    )


@pytest.mark.parametrize(
    ("arch", "capability", "message"),
    [
        ("sm_90a", "9.0", ""),
        ("sm_100a", "10.0", ""),
        (
            "sm_100a",
            "9.0",
            "the kernel is for sm_100a, this GPU (Some GPU) has compute capability 9.0; "
            "fix: run on a GPU of capability 10.0",
        ),
        (
            "sm_90a",
            "8.0",
            "the kernel is for sm_90a, this GPU (Some GPU) has compute capability 8.0; "
            "fix: run on a GPU of capability 9.0",
        ),
    ],
)
def test_wrong_gpu(arch: str, capability: str, message: str) -> None:
    gpu = Gpu.__new__(Gpu)  # without its device
    gpu.facts = {"gpu": "Some GPU", "compute_capability": capability}
    require: Any = gpu._require
    if not message:
        require(arch)
        return
    with pytest.raises(EnvironmentError_) as error:
        require(arch)
    assert str(error.value) == message


def test_nothing_is_launched_when_nothing_is_asked_for() -> None:
    from asyncsim.errors import ScheduleError

    with pytest.raises(ScheduleError) as error:
        run_schedule(tma_ring.build({}), launches=0, verify_ctas=0)
    assert str(error.value) == "nothing to run; ask for verify_ctas, launches or stamps"
