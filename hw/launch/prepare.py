"""From a schedule to a run spec: cubin, inputs in files, parameters, tensor maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncsim.errors import ScheduleError
from asyncsim.hw.compile import Compiled
from asyncsim.hw.launch.protocol import MapSpec, RunSpec, TensorSpec
from asyncsim.hw.render import Parameter, ParameterKind
from asyncsim.ir.decl import GlobalTensor, Im2colMode, OobFill, TensorMap
from asyncsim.ir.op import AtomAdd, StoreOp
from asyncsim.ir.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

_WIDE = {Im2colMode.SPACE: "", Im2colMode.W: "W", Im2colMode.W128: "W128"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What an output tensor must hold after a launch: ``values`` where ``compared`` is True."""

    values: Array
    compared: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamps:
    """Which CTAs and how many ops of each warp are stamped."""

    ctas: int = 1
    capacity: int = 4096


def make_spec(
    schedule: Schedule,
    compiled: Compiled,
    inputs: Mapping[str, Array],
    folder: Path,
    *,
    launches: int,
    warmups: int,
    l2: str,
    read_outputs: bool,
    tables: Array | None = None,
    expected: Mapping[str, Image] | None = None,
    stamps: Stamps | None = None,
) -> RunSpec:
    """Write the inputs to ``folder`` and describe the run.

    ``tables``: the delay tables of the delay build, one a launch or one for all.
    ``expected``: what the outputs must hold after each launch.
    """
    images = expected or {}
    tensors = {
        t.name: _tensor(
            t,
            inputs.get(t.name),
            folder,
            read_outputs,
            images.get(t.name),
            start_byte(schedule, t.name),
        )
        for t in schedule.of_kind(GlobalTensor)
    }
    maps = {m.name: map_spec(schedule, m) for m in schedule.of_kind(TensorMap)}
    rendered = compiled.rendered
    delay_file = ""
    if tables is not None:
        delay_file = str(folder / "delays.bin")
        tables.tofile(delay_file)
    shown = stamps or Stamps()
    return RunSpec(
        cubin=str(compiled.path),
        kernel=rendered.kernel_name,
        arch=rendered.arch,
        grid=schedule.grid,
        threads=schedule.threads,
        smem_bytes=schedule.smem_bytes,
        parameters=tuple(
            (p.kind.value, p.name, int_value(schedule, p, shown), p.bytes)
            for p in rendered.parameters
        ),
        tensors=tensors,
        maps=maps,
        launches=launches,
        warmups=warmups,
        l2=l2,
        delays=delay_file,
        delay_bytes=0 if tables is None else tables[0].nbytes,
        stamps=str(folder / "stamps.bin") if stamps else "",
        stamp_ctas=shown.ctas if stamps else 0,
        stamp_capacity=shown.capacity if stamps else 0,
    )


def start_byte(schedule: Schedule, tensor: str) -> int:
    """What an output starts as: poison, or zero if the kernel reduces into it, or counts in it."""
    sums = {o.dst.tensor for o in schedule.ops() if isinstance(o, StoreOp) and o.reduce}
    sums |= {o.counter.tensor for o in schedule.ops() if isinstance(o, AtomAdd)}
    return 0 if tensor in sums else 0xFF


def elements_of(t: GlobalTensor) -> int:
    """Elements from the first to the last, with the gaps that strides of its own leave."""
    return 1 + sum((n - 1) * s for n, s in zip(t.shape, t.strides, strict=True))


def _tensor(
    t: GlobalTensor,
    data: Array | None,
    folder: Path,
    read: bool,
    image: Image | None,
    fill: int,
) -> TensorSpec:
    elements = elements_of(t)
    path = ""
    if data is not None:
        path = str(folder / f"{t.name}.in.bin")
        laid_out(t, data, elements).tofile(path)
    wanted = ""
    if image is not None:
        wanted = str(folder / f"{t.name}.expected.bin")
        _write_image(t, image, elements, Path(wanted))
    return TensorSpec(
        elements=elements,
        element_bytes=t.dtype.bytes,
        data=path,
        fill=0xFF if data is not None else fill,
        output=str(folder / f"{t.name}.out.bin") if t.output and read else "",
        expected=wanted,
        near=t.tolerance,
        dtype=t.dtype.value,
    )


def _write_image(t: GlobalTensor, image: Image, elements: int, path: Path) -> None:
    """The values, then a byte of the mask for each of their bytes, both in memory order."""
    import numpy as np

    values = np.ascontiguousarray(image.values)
    chosen = np.ascontiguousarray(image.compared).astype(np.dtype(f"i{t.dtype.bytes}"))
    with path.open("wb") as file:
        laid_out(t, values, elements).tofile(file)
        laid_out(t, -chosen, elements).tofile(file)


def laid_out(t: GlobalTensor, data: Array, elements: int) -> Array:
    """The elements in memory order (strides of its own may leave gaps, filled with zeros)."""
    import numpy as np

    strides = tuple(s * data.itemsize for s in t.strides)
    if data.strides == strides:
        return data
    bits = np.dtype(f"u{data.itemsize}")  # stride tricks do not know every small float
    flat = np.zeros(elements, bits)
    np.lib.stride_tricks.as_strided(flat, t.shape, strides)[...] = data.view(bits)
    return flat.view(data.dtype)


def read_output(t: GlobalTensor, path: str) -> Array:
    """An output tensor that the child wrote, in its logical shape."""
    import numpy as np

    from asyncsim.evaluate.arrays import numpy_dtype

    dtype = numpy_dtype(t.dtype)
    flat = np.fromfile(path, np.dtype(f"u{dtype.itemsize}"))
    strides = [s * flat.itemsize for s in t.strides]
    return np.lib.stride_tricks.as_strided(flat, t.shape, strides).view(dtype)


def map_spec(schedule: Schedule, m: TensorMap) -> MapSpec:
    """A tensor map as the launcher encodes it."""
    t = schedule.tensor(m.tensor)
    shape, strides, box, steps = t.shape, t.strides, m.box, m.element_strides
    if m.sliced:  # slices lie side by side: to the driver, elements of a dense dimension
        shape, strides, box, steps = shape[:-1], (*strides[:-2], 1), box[:-1], steps[:-1]
    return MapSpec(
        tensor=m.tensor,
        shape=shape,
        strides=strides,
        box=box,
        dtype=t.dtype.value,
        swizzle_bytes=m.swizzle.value,
        nan_fill=m.oob_fill is OobFill.NAN,
        l2_promotion_bytes=m.l2_promotion_bytes,
        element_strides=steps,
        interleave_bytes=m.interleave.value,
        copies=schedule.ctas if m.in_global else 0,
        corners=() if m.im2col is None else (m.im2col.lower, m.im2col.upper),
        wide="" if m.im2col is None else _WIDE[m.im2col.mode],
    )


def int_value(schedule: Schedule, p: Parameter, stamps: Stamps) -> int:
    """The value of an int parameter; 0 for others."""
    match p.kind:
        case ParameterKind.ARG:
            return _int32(p.name, dict(schedule.args)[p.name])
        case ParameterKind.EXTENT:
            return _int32(f"extent of {p.name}", schedule.tensor(p.name).shape[p.dim])
        case ParameterKind.STRIDE:
            return _int32(f"stride of {p.name}", schedule.tensor(p.name).strides[p.dim])
        case ParameterKind.STAMP_CTAS:
            return stamps.ctas
        case ParameterKind.STAMP_CAPACITY:
            return stamps.capacity
        case _:
            return 0


def _int32(name: str, value: int) -> int:
    if not -(1 << 31) <= value < 1 << 31:
        raise ScheduleError(f"{name} = {value} does not fit 32 bits", fix="make it smaller")
    return value
