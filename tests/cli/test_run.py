"""``run`` with and without a GPU. The GPU is a stand-in here; tests/hw has the real one."""

from __future__ import annotations

import json

import pytest

import asyncsim.hw.launch
import asyncsim.hw.probe
from asyncsim.errors import EnvironmentError_
from asyncsim.hw.launch import Diagnosis, RunResult, Timing
from asyncsim.hw.launch.child_process import LaunchFailed
from asyncsim.hw.launch.verify import Verification
from tests.cli.test_check import KEYS

RING = ("tma_ring", "--tiles", 12, "--ctas", 8)
NO_DRIVER = "no NVIDIA driver; fix: run on a machine with an NVIDIA GPU and driver 580 or newer"
GPU = {
    "gpu": "NVIDIA H200",
    "board": "44e4d8ff",
    "driver": "580.1",
    "cuda": "13.0",
    "date": "2026-11-30",
}
TIMING = Timing(
    cycles=6000.0,
    cycles_p10=5990.0,
    cycles_p90=6020.0,
    time_us=3.1,
    clock_mhz=1935.5,
    l2="cold",
    n=20,
)
EQUAL = Verification(ctas=8, of_ctas=8, elements=1024, wrong=0)
WRONG = Verification(
    ctas=8, of_ctas=8, elements=1024, wrong=3, first="result[0, 1] is 5, expected 4"
)
HANG = Diagnosis(
    op_id=31,
    role="consumer",
    warp=0,
    cta=2,
    barrier="full[1]",
    parity=0,
    index=5,
    state=0,
    generation=1,
    where="tma_ring.py:119",
)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncsim.hw.probe, "what_is_missing", lambda: NO_DRIVER)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """``gpu(result)``: launches give this result, or raise it; returns the calls' arguments."""
    calls: list[dict[str, object]] = []

    def set_result(result: object) -> list[dict[str, object]]:
        def run_schedule(_schedule: object, **options: object) -> object:
            calls.append(options)
            if isinstance(result, Exception):
                raise result
            return result

        monkeypatch.setattr(asyncsim.hw.probe, "what_is_missing", lambda: "")
        monkeypatch.setattr(asyncsim.hw.launch, "run_schedule", run_schedule)
        return calls

    return set_result


def result(**fields: object) -> RunResult:
    return RunResult(compiled=None, gpu=GPU, **fields)  # type: ignore[arg-type]


def test_without_a_gpu(cli, no_gpu) -> None:  # type: ignore[no-untyped-def]
    done = cli("run", *RING)
    assert (done.code, done.err) == (0, "")
    text = " ".join(done.out.split())
    assert f"measured not run on a GPU: {NO_DRIVER}" in text
    assert "verdict clean" in text and "cycles" in text


def test_without_a_gpu_as_json(cli, no_gpu) -> None:  # type: ignore[no-untyped-def]
    done = cli("run", *RING, "--json")
    report = json.loads(done.out)
    assert (done.code, list(report)) == (0, KEYS)
    assert report["cycles"] > 0 and report["measured"] is None and report["error_pct"] is None
    assert done.err == f"not run on a GPU: {NO_DRIVER}\n"


def test_without_a_gpu_it_ends_as_predict_does(cli, no_gpu) -> None:  # type: ignore[no-untyped-def]
    assert cli("run", *RING, "--twin", "early_release").code == 1
    assert cli("run", *RING, "--twin", "no_proxy_fence").code == 0
    assert cli("run", *RING, "--twin", "no_proxy_fence", "--strict").code == 1


def test_a_gpu_can_be_required(cli, no_gpu) -> None:  # type: ignore[no-untyped-def]
    done = cli("run", *RING, "--require-gpu")
    assert (done.code, done.err) == (4, f"asyncsim: --require-gpu: {NO_DRIVER}\n")
    assert "verdict    clean" in done.out


def test_the_stored_measurement_is_shown_instead(cli, no_gpu) -> None:  # type: ignore[no-untyped-def]
    out = cli("run", "tma_ring").out
    assert "\nstored     " in out and "NVIDIA H200" in out
    assert "\nstored " not in cli("run", *RING).out
    assert "\nstored " not in cli("run", "tma_ring", "--twin", "no_proxy_fence").out


def test_no_cuda_packages(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(asyncsim.hw.probe, "find_spec", lambda _name: None)
    done = cli("run", *RING, "--json", "--require-gpu")
    reason = "the CUDA packages are not installed; fix: pip install 'asyncsim[hw]'"
    assert done.code == 4
    assert done.err == f"not run on a GPU: {reason}\nasyncsim: --require-gpu: {reason}\n"


def test_the_wrong_gpu(cli, gpu) -> None:  # type: ignore[no-untyped-def]
    reason = "the kernel is for sm_90a, this GPU (NVIDIA A100) has compute capability 8.0"
    gpu(EnvironmentError_(reason))
    done = cli("run", *RING, "--json", "--require-gpu")
    assert done.code == 4 and json.loads(done.out)["measured"] is None
    assert done.err.splitlines()[0] == f"not run on a GPU: {reason}"


def test_measured_beside_predicted(cli, gpu) -> None:  # type: ignore[no-untyped-def]
    calls = gpu(result(timing=TIMING, verification=EQUAL))
    done = cli("run", *RING, "--l2", "warm")
    assert (done.code, done.err) == (0, "")
    assert "measured   6,000 cycles (5,990 to 6,020), 3.100 us at 1,936 MHz, median" in done.out
    assert "data       1024 elements of 8 of 8 CTAs equal\n" in done.out
    predicted = json.loads(cli("predict", *RING, "--l2", "warm", "--json").out)["cycles"]
    error = 100 * (predicted - 6000) / 6000
    assert f"error      {error:+.1f} % predicted over measured\n" in done.out
    assert calls == [{"arch": "sm_90a", "l2": "warm", "stamps": None, "broken": False}]


def test_measured_as_json(cli, gpu) -> None:  # type: ignore[no-untyped-def]
    gpu(result(timing=TIMING, verification=EQUAL))
    report = json.loads(cli("run", *RING, "--json").out)
    assert list(report) == KEYS
    assert report["measured"] == {
        "cycles": 6000.0,
        "cycles_p10": 5990.0,
        "cycles_p90": 6020.0,
        "time_us": 3.1,
        "clock_mhz": 1935.5,
        "launches": 20,
        "l2": "cold",
        "verified": True,
        "trouble": None,
        "gpu": GPU,
    }
    error = 100 * (report["cycles"] - 6000) / 6000
    assert report["error_pct"] == pytest.approx(error, abs=1e-3)


@pytest.mark.parametrize(
    ("outcome", "trouble"),
    [
        (result(verification=WRONG, timing=TIMING), str(WRONG)),
        (result(diagnosis=HANG), str(HANG)),
        (LaunchFailed("CUDA_ERROR_ILLEGAL_ADDRESS"), "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ],
)
def test_a_gpu_that_contradicts_a_clean_verdict(cli, gpu, outcome, trouble: str) -> None:  # type: ignore[no-untyped-def]
    gpu(outcome)
    done = cli("run", *RING)
    assert done.code == 5
    assert done.err == f"asyncsim: the GPU contradicts the verdict: {trouble}\n"


def test_a_gpu_that_shows_what_was_found(cli, gpu) -> None:  # type: ignore[no-untyped-def]
    calls = gpu(result(diagnosis=HANG))
    done = cli("run", *RING, "--twin", "expect_short")
    assert (done.code, done.err) == (1, "")
    assert "data       hangs on the GPU: consumer (warp 0, CTA 2) waited too long at" in done.out
    assert calls[0]["broken"] is True


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (
            ("cp_async_multistage", "--twin", "prologue_overrun"),
            "twin prologue_overrun is never launched: it could block or fault on the GPU",
        ),
    ],
)
def test_what_is_never_launched(cli, gpu, argv, reason: str) -> None:  # type: ignore[no-untyped-def]
    calls = gpu(result(timing=TIMING))
    done = cli("run", *argv, "--json")
    assert (done.code, calls) == (1, [])
    assert f"not run on a GPU: {reason}\n" in done.err


def test_stamps_are_asked_for(cli, gpu) -> None:  # type: ignore[no-untyped-def]
    calls = gpu(result(timing=TIMING, verification=EQUAL))
    cli("run", *RING, "--stamps")
    cli("run", *RING, "--timeline")
    assert all(call["stamps"] is not None for call in calls) and len(calls) == 2
