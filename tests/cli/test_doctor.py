"""``doctor``: what works here, what is missing, the command that gets it."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata

import pytest

import asyncsim.hw.compile
import asyncsim.hw.inventory
import asyncsim.hw.probe
from asyncsim.cli.doctor.item import Group, Item
from asyncsim.cli.doctor.packages import satisfies
from asyncsim.cli.doctor.trials import fitting_machines, probe_schedule
from asyncsim.errors import EnvironmentError_
from asyncsim.hw.inventory import Device, Driver
from asyncsim.machine import known_machines, load_machine

NO_DRIVER = "no NVIDIA driver; fix: run on a machine with an NVIDIA GPU and driver 580 or newer"
ITEM = Item(group=Group.COMPILE, name="trial of the compiler", ok=True, found="")
H200 = Device(name="NVIDIA H200", capability=(9, 0), sms=132, memory_bytes=139 * 2**30)


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on a machine with a GPU and without, with the CUDA packages and without."""
    monkeypatch.setattr(asyncsim.hw.probe, "what_is_missing", lambda: NO_DRIVER)
    monkeypatch.setattr(asyncsim.hw.compile, "nvrtc_version", lambda: "13.0")
    monkeypatch.setattr(asyncsim.hw.compile, "compile_anew", lambda rendered: (b"x" * 5000, None))


def with_gpu(monkeypatch: pytest.MonkeyPatch, device: Device, cuda: tuple[int, int]) -> None:
    monkeypatch.setattr(asyncsim.hw.probe, "what_is_missing", lambda: "")
    monkeypatch.setattr(asyncsim.hw.inventory, "devices", lambda: (device,))
    driver = Driver(version="580.1", cuda=cuda)
    monkeypatch.setattr(asyncsim.hw.inventory, "installed_driver", lambda: driver)


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """As if these packages were not installed."""
    real = metadata.version

    def version(name: str) -> str:
        if name in missing:
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)


def diagnosis(cli, *argv: str) -> dict:  # type: ignore[no-untyped-def, type-arg]
    return json.loads(cli("doctor", "--json", *argv).out)


def item(found: dict, name: str) -> dict:  # type: ignore[type-arg]
    return next(i for i in found["items"] if i["name"] == name)


def test_text(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("doctor")
    assert (done.code, done.err) == (0, "")
    headings = [line for line in done.out.splitlines() if line and not line.startswith(" ")]
    assert headings[:3] == ["check and predict", "compile", "run on a GPU"]
    assert f"  ok  simpy              {metadata.version('simpy')}\n" in done.out
    assert "\n  ok  trial              a small schedule: clean, " in done.out
    assert "\n  ok  NVRTC              13.0; stored measurements used 13.0\n" in done.out
    assert "\n  ok  trial              a small kernel for sm_90a: cubin of 5,000 bytes " in done.out
    assert "\n  --  GPU                no NVIDIA driver\n" in done.out
    assert done.out.endswith("  GPU: run on a machine with an NVIDIA GPU and driver 580 or newer\n")


def test_without_a_gpu_check_and_predict_work(cli) -> None:  # type: ignore[no-untyped-def]
    found = diagnosis(cli)
    works = found["works"]
    assert list(works) == ["check", "predict", "render", "compile", "run"]
    assert works["check"] and works["predict"] and works["render"] and not works["run"]
    done = cli("doctor", "--require-gpu")
    assert (done.code, done.err) == (4, f"asyncsim: --require-gpu: {NO_DRIVER}\n")


def test_the_gpu_of_the_machine_file(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    with_gpu(monkeypatch, H200, (13, 0))
    monkeypatch.setattr("asyncsim.cli.doctor.packages.HARDWARE", {})
    done = cli("doctor", "--require-gpu", "--json")
    found = json.loads(done.out)
    assert (done.code, done.err, found["works"]["run"]) == (0, "", True)
    gpu = item(found, "GPU")["found"]
    assert gpu == "NVIDIA H200, compute capability 9.0, 132 SMs, 139 GiB"
    assert item(found, "driver") == {
        "group": "run on a GPU",
        "name": "driver",
        "ok": True,
        "found": "580.1, CUDA 13.0",
        "fix": "",
    }
    assert item(found, "machine")["found"].endswith(": is made for this GPU")


def test_another_gpu_than_that_of_the_machine_file(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    a100 = Device(name="NVIDIA A100-SXM4-80GB", capability=(8, 0), sms=108, memory_bytes=2**36)
    with_gpu(monkeypatch, a100, (13, 0))
    machine = item(diagnosis(cli), "machine")
    assert (machine["ok"], machine["fix"]) == (False, "use --machine a100")
    assert item(diagnosis(cli, "--machine", "a100"), "machine")["ok"]
    unknown = Device(name="NVIDIA Z1", capability=(8, 6), sms=10, memory_bytes=2**30)
    with_gpu(monkeypatch, unknown, (13, 0))
    machine = item(diagnosis(cli), "machine")
    assert machine["fix"] == "write a machine file for this GPU: docs/machine.md"


def test_an_old_driver(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    with_gpu(monkeypatch, H200, (12, 8))
    found = diagnosis(cli)
    assert item(found, "driver")["fix"] == "install an NVIDIA driver for CUDA 13: 580 or newer"
    assert not found["works"]["run"]


def test_machine_files_of_a_gpu() -> None:
    assert fitting_machines("NVIDIA H200", (9, 0), 132) == ["h200"]
    assert fitting_machines("NVIDIA H100 80GB HBM3", (9, 0), 132) == ["h100"]
    assert fitting_machines("NVIDIA GH", (9, 0), 132) == ["h100", "h200"]
    assert fitting_machines("NVIDIA H100 PCIe", (9, 0), 114) == []
    assert fitting_machines("NVIDIA B200", (10, 0), 148) == ["b200"]


@pytest.mark.parametrize("name", known_machines())
def test_the_trial_is_clean_on_every_machine(cli, name: str) -> None:  # type: ignore[no-untyped-def]
    assert probe_schedule(load_machine(name).architecture).archs
    found = item(diagnosis(cli, "--machine", name), "trial")["found"]
    assert found.startswith("a small schedule: clean, ")


def test_missing_packages_and_the_command_that_gets_them(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    without(monkeypatch, "cuda-core", "nvidia-cuda-nvrtc", "protobuf")
    monkeypatch.setattr(
        "asyncsim.cli.doctor.packages.requirements",
        lambda: {"cuda-core": "cuda-core[cu13]==1.2.0", "protobuf": "protobuf>=5"},
    )
    done = cli("doctor", "--json")
    found = json.loads(done.out)
    assert done.code == 0 and found["works"]["check"] and not found["works"]["compile"]
    assert item(found, "protobuf")["found"] == "not installed; needed by --trace x.pftrace"
    wanted = ["protobuf>=5", "cuda-core[cu13]==1.2.0", "nvidia-cuda-nvrtc"]
    assert shlex.split(found["fixes"][0]) == [sys.executable, "-m", "pip", "install", *wanted]
    assert item(found, "cuda-core")["fix"].endswith("pip install 'cuda-core[cu13]==1.2.0'")


def test_a_package_of_another_version(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(
        "asyncsim.cli.doctor.packages.requirements", lambda: {"simpy": "simpy>=99,<100"}
    )
    done = cli("doctor", "--json")
    simpy = item(json.loads(done.out), "simpy")
    assert simpy["found"] == f"{metadata.version('simpy')}, but simpy>=99,<100 is needed"
    assert done.code == 4


def test_a_trial_that_fails_is_said(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    def broken(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'networkx'")

    monkeypatch.setattr("asyncsim.cli.doctor.trials.probe_schedule", broken)
    monkeypatch.setattr("asyncsim.cli.doctor.trials._compile", lambda arch: ITEM)
    done = cli("doctor", "--json")
    assert done.code == 4
    assert item(json.loads(done.out), "trial")["found"] == "No module named 'networkx'"


def test_without_a_compiler(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    def none() -> str:
        raise EnvironmentError_("no NVRTC; fix: pip install 'asyncsim[hw]'")

    monkeypatch.setattr(asyncsim.hw.compile, "nvrtc_version", none)
    found = diagnosis(cli)
    nvrtc = item(found, "NVRTC")
    assert (nvrtc["ok"], nvrtc["found"]) == (False, "no NVRTC")
    assert nvrtc["fix"] == "pip install 'asyncsim[hw]'"
    assert not found["works"]["compile"]


def test_another_nvrtc_than_that_of_the_measurements(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(asyncsim.hw.compile, "nvrtc_version", lambda: "13.2")
    nvrtc = item(diagnosis(cli), "NVRTC")
    assert nvrtc["ok"] and nvrtc["found"] == "13.2; stored measurements used 13.0"
    assert nvrtc["fix"].startswith("measured cycles can differ")


def test_a_cache_that_cannot_be_written(cli, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path / "cubin"))
    assert item(diagnosis(cli), "cache")["found"] == f"{tmp_path / 'cubin'}: 0 cubins, 0.0 MiB"
    monkeypatch.setattr("os.access", lambda *_: False)
    cache = item(diagnosis(cli), "cache")
    assert (cache["ok"], cache["fix"]) == (False, "set ASYNCSIM_CACHE to a folder that can")


@pytest.mark.parametrize(
    ("version", "requirement", "holds"),
    [
        ("4.1.2", "simpy>=4.1,<5", True),
        ("5.0", "simpy>=4.1,<5", False),
        ("5", "simpy<5.0", False),
        ("13.0.88", "nvidia-cuda-nvrtc==13.0.88", True),
        ("13.0.88.1", "nvidia-cuda-nvrtc==13.0.88", False),
        ("2.0rc1", "numpy>=1.26", True),
        ("1.9", "numpy>1.9", False),
        ("1.9", "numpy<=1.9.0", True),
        ("1.0", "anything", True),
    ],
)
def test_versions(version: str, requirement: str, holds: bool) -> None:
    assert satisfies(version, requirement) is holds


def test_unknown_machine(cli) -> None:  # type: ignore[no-untyped-def]
    assert cli("doctor", "--machine", "h20").code == 2
