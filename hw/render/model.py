"""What rendering gives: the CUDA text and the list of kernel parameters, in order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ParameterKind(Enum):
    """What the host passes for a kernel parameter.

    TENSOR: pointer to a global tensor. STRIDE: an element stride of a tensor (int32). EXTENT: its
    extent in a dimension (int32). TENSOR_MAP: a 128-byte descriptor. TENSOR_MAPS: pointer to one
    for each CTA, which the kernel changes. ARG: a schedule argument (int32). REPORT,
    CLOCKS, DELAYS, STAMPS: buffers.
    """

    TENSOR = "tensor"
    STRIDE = "stride"
    EXTENT = "extent"
    TENSOR_MAP = "tensor_map"
    TENSOR_MAPS = "tensor_maps"
    ARG = "arg"
    REPORT = "report"
    CLOCKS = "clocks"
    DELAYS = "delays"
    STAMPS = "stamps"
    STAMP_CTAS = "stamp_ctas"
    STAMP_CAPACITY = "stamp_capacity"


_BYTES = {
    ParameterKind.STRIDE: 4,
    ParameterKind.EXTENT: 4,
    ParameterKind.TENSOR_MAP: 128,
    ParameterKind.ARG: 4,
    ParameterKind.STAMP_CTAS: 4,
    ParameterKind.STAMP_CAPACITY: 4,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """``name``: the declaration it stands for; ``dim``: of a STRIDE or EXTENT."""

    kind: ParameterKind
    name: str = ""
    dim: int = 0

    @property
    def bytes(self) -> int:
        return _BYTES.get(self.kind, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Build variants. The timed build has neither: hooks would cost cycles at every op.

    delays: a run-time table of delays by (op id, warp). stamps: the clock after each stamped op
    (hooks.py).
    """

    delays: bool = False
    stamps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """CUDA C++ of one schedule for one architecture; header-free.

    ``device``: the files of device code and ``functions``: the device functions of its own that
    stand before the kernel. ``op_count``: rows of the delay table (a row has one entry a warp).
    """

    source: str
    device: tuple[str, ...]
    functions: tuple[str, ...]
    kernel_name: str
    arch: str
    parameters: tuple[Parameter, ...]
    variant: Variant
    op_count: int
    warps: int


REPORT_WORDS = 16
CLOCKS_BYTES = 16
STAMP_BYTES = 8
