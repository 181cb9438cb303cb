"""What a GPU cannot have a number for: units and instructions that its architecture lacks.

A machine file leaves these tables and keys out, and the fields of the Machine are None.
Imports the standard library only.  See docs/machine.md.
"""

__all__ = ["lacking"]

import re
from collections.abc import Mapping

_FROM_SM_90 = {
    "tma": "TMA",
    "mbarrier": "mbarrier.try_wait",
    "setmaxnreg": "setmaxnreg",
    "launch.dependent": "griddepcontrol",
    "launch.pass": "griddepcontrol",
    "launch.wait": "griddepcontrol",
    "barrier.cluster": "clusters",
    "barrier.cluster_release": "clusters",
    "mma.f8": "mma.sync of 8-bit floats",
    "mma.f8_latency": "mma.sync of 8-bit floats",
    "smem.remote_load_latency": "clusters",
    "smem.stmatrix_warp": "stmatrix",
    "fence.proxy_async_smem": "async proxy",
    "fence.proxy_async": "async proxy",
    "fence.mbarrier_init": "fence.mbarrier_init",
    "fence.tensormap_release": "tensor maps",
    "fence.tensormap_acquire": "tensor maps",
    "code.producer_elected": "TMA",
    "code.producer_all_lanes": "TMA",
    "code.consumer": "mbarrier.try_wait",
}
_SM_100_ONLY = {"tcgen05": "tcgen05", "launch.cancel": "cluster launch control"}
_SM_90A_ONLY = {"wgmma": "wgmma", "code.wgmma_consumer": "wgmma"}


def lacking(architecture: str) -> Mapping[str, str]:
    """Tables (`tma`) and keys (`barrier.cluster`) without a meaning on an architecture, and why.

    The value names what is lacking.  An architecture that is no `sm_` name lacks nothing.
    """
    match = re.fullmatch(r"sm_(\d+)[af]?", architecture)
    if match is None:
        return {}
    older = _FROM_SM_90 if int(match[1]) < 90 else {}
    newer = {} if int(match[1]) in (100, 103) else _SM_100_ONLY
    return older | newer | ({} if architecture == "sm_90a" else _SM_90A_ONLY)
