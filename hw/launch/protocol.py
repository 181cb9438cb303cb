"""What parent and child say to each other: one JSON object a line, bulk data in files.

The child knows nothing of schedules: it gets a cubin, parameters, tensors and maps by name.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """A tensor in GPU memory. ``element_bytes`` times ``elements`` are allocated.

    ``data``: file of raw bytes to fill it with; without one it starts as bytes of ``fill``: 0xFF is
    poison, and a tensor that is reduced into starts as 0 before each launch. ``output``:
    file to write its bytes to after the last launch, "" to leave it. ``expected``: file of the
    bytes that it must hold after each launch, then as many bytes of a mask: 0xFF is compared, 0 is
    not; "" compares nothing. ``near``: how far an element of this ``dtype`` may be from what is
    expected; 0 is bit for bit.
    """

    elements: int
    element_bytes: int
    data: str = ""
    fill: int = 0xFF
    output: str = ""
    expected: str = ""
    near: float = 0.0
    dtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSpec:
    """A tensor map: row-major shape, strides, box, and every how many-th element of each dimension.

    ``corners``: of an im2col map, whose ``box`` is (pixels, channels); () for others. ``wide``:
    "W" or "W128" of one along W. ``copies``: in global memory, of a map that the kernel changes; 0
    for a kernel parameter. Interleaved, an element of the last dimension is a slice, and the other
    strides count elements of ``dtype``.
    """

    tensor: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    dtype: str
    swizzle_bytes: int
    nan_fill: bool
    l2_promotion_bytes: int
    element_strides: tuple[int, ...] = ()
    interleave_bytes: int = 0
    corners: tuple[tuple[int, ...], ...] = ()
    wide: str = ""
    copies: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Launches of one kernel. ``parameters``: (kind, name, value, bytes) in order.

    ``l2``: "cold" evicts L2 before each launch, "warm" leaves what the launch before brought.
    ``delays``: file of delay tables of ``delay_bytes`` each, one a launch, or one for all; "" for
    none. ``stamps``: file to write stamps to. ``dependent``: the kernel that each launch is
    followed by, allowed to overlap (programmatic dependent launch); tensors of one name are the
    same memory. The first launch after which a tensor is not as expected is the last one.
    """

    cubin: str
    kernel: str
    arch: str
    grid: tuple[int, int, int]
    threads: int
    smem_bytes: int
    parameters: tuple[tuple[str, str, int, int], ...]
    tensors: dict[str, TensorSpec]
    maps: dict[str, MapSpec]
    launches: int
    warmups: int
    l2: str
    delays: str = ""
    delay_bytes: int = 0
    stamps: str = ""
    stamp_ctas: int = 0
    stamp_capacity: int = 0
    dependent: RunSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReply:
    """``report``: the words of the first time-out, empty if there was none. Per launch:
    ``span_ns`` (first CTA start to last CTA end by globaltimer), ``cta_cycles`` (the same of CTA 0
    by its SM's clock), ``clock_ghz`` (SM cycles over globaltimer, over all CTAs).
    ``starts``: (ns, cycles) of the first CTAs' starts in the last launch, for stamps.
    Of a program the report is that of the kernel whose number (0 or 1) is ``kernel``, and times go
    on to the end of the dependent one.
    ``done``: launches that ended as they should, warm-ups included. ``differs``: the launch after
    them left a tensor that is not as expected. ``error``: one line if the run failed on the way;
    ``launched``: then, whether a launch had begun.
    """

    report: tuple[int, ...] = ()
    span_ns: tuple[int, ...] = ()
    cta_cycles: tuple[int, ...] = ()
    clock_ghz: tuple[float, ...] = ()
    starts: tuple[tuple[int, int], ...] = ()
    gpu: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    done: int = 0
    differs: bool = False
    kernel: int = 0
    launched: bool = False
    error: str = ""


def encode(message: RunSpec | RunReply) -> str:
    return json.dumps(asdict(message))


def decode_spec(line: str) -> RunSpec:
    return _spec(json.loads(line))


def _spec(d: dict[str, Any]) -> RunSpec:
    d["dependent"] = None if d["dependent"] is None else _spec(d["dependent"])
    d["tensors"] = {n: TensorSpec(**t) for n, t in d["tensors"].items()}
    d["maps"] = {n: MapSpec(**_map(m)) for n, m in d["maps"].items()}
    d["parameters"] = tuple(tuple(p) for p in d["parameters"])
    d["grid"] = tuple(d["grid"])
    return RunSpec(**d)


def decode_reply(line: str) -> RunReply:
    d = _tuples(json.loads(line))
    d["starts"] = tuple(tuple(s) for s in d["starts"])
    return RunReply(**d)


def _map(d: dict[str, Any]) -> dict[str, Any]:
    return _tuples(d) | {"corners": tuple(tuple(c) for c in d["corners"])}


def _tuples(d: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in d.items()}
