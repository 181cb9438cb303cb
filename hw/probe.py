"""What this machine lacks to run a kernel, in one line. Makes no context and launches nothing."""

from __future__ import annotations

from importlib.util import find_spec


def what_is_missing() -> str:
    """What is missing and how to get it; "" if there are CUDA packages, a driver and a GPU."""
    if find_spec("cuda") is None or find_spec("cuda.core") is None:
        return "the CUDA packages are not installed; fix: pip install 'asyncsim[hw]'"
    try:
        from cuda.bindings import driver

        (status,) = driver.cuInit(0)
        count = driver.cuDeviceGetCount()[1] if not int(status) else 0
    except (ImportError, RuntimeError):  # the driver library is not there
        return "no NVIDIA driver; fix: run on a machine with an NVIDIA GPU and driver 580 or newer"
    if int(status) or not count:
        return f"no usable NVIDIA GPU ({status.name}); fix: run on a machine that has one"
    return ""
