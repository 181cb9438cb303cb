"""The GPUs of this machine and whether its compiler works. Makes no context, launches nothing."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

CUDA_NEEDED = 13  # the major version that the CUDA packages of the hw extra are built for


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU: ``capability`` is (9, 0) of sm_90; ``memory_bytes`` all of its memory."""

    name: str
    capability: tuple[int, int]
    sms: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """``version`` is nvidia-smi's, "" if that is not there; ``cuda`` the highest it runs."""

    version: str
    cuda: tuple[int, int]


def devices() -> tuple[Device, ...]:
    """The GPUs, in CUDA's order. Call it when ``what_is_missing`` says nothing."""
    from cuda.bindings import driver

    attribute = driver.CUdevice_attribute
    major = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    minor = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
    sms = attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    driver.cuInit(0)
    found = []
    for ordinal in range(int(driver.cuDeviceGetCount()[1])):
        device = driver.cuDeviceGet(ordinal)[1]
        name = bytes(driver.cuDeviceGetName(128, device)[1]).split(b"\0")[0].decode()
        found.append(
            Device(
                name=name,
                capability=(
                    int(driver.cuDeviceGetAttribute(major, device)[1]),
                    int(driver.cuDeviceGetAttribute(minor, device)[1]),
                ),
                sms=int(driver.cuDeviceGetAttribute(sms, device)[1]),
                memory_bytes=int(driver.cuDeviceTotalMem(device)[1]),
            )
        )
    return tuple(found)


def installed_driver() -> Driver:
    """The NVIDIA driver. Call it when ``what_is_missing`` says nothing."""
    from cuda.bindings import driver

    cuda = int(driver.cuDriverGetVersion()[1])
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        smi = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
        version = smi.stdout.strip().splitlines()[0] if smi.returncode == 0 else ""
    except (OSError, IndexError, subprocess.TimeoutExpired):
        version = ""
    return Driver(version=version, cuda=(cuda // 1000, cuda % 1000 // 10))
