"""The GPU side, inside the child: loads a cubin, allocates, launches, reads back.

Imports cuda.core when a Gpu is made, numpy, and nothing of the schedule language.
"""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from asyncsim.errors import EnvironmentError_
from asyncsim.hw.launch.protocol import MapSpec, RunReply, RunSpec, TensorSpec
from asyncsim.hw.launch.raw_map import MAP_TYPES, raw_maps
from asyncsim.hw.render.model import CLOCKS_BYTES, REPORT_WORDS, STAMP_BYTES

FLUSH_BYTES = 256 << 20
_NUMPY_OF_BYTES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel on the GPU. ``arguments``: of a launch, by its number; ``maps``: buffers of tensor
    maps that it changes, and what they hold before each launch."""

    spec: RunSpec
    code: Any
    arguments: Callable[[int], list[Any]]
    report: Any
    clocks: Any
    stamps: Any
    delays: Any
    maps: tuple[tuple[Any, Any], ...]

    @property
    def buffers(self) -> tuple[Any, ...]:
        return self.report, self.clocks, self.stamps, self.delays, *(b for b, _ in self.maps)


class Gpu:
    """Device 0 with one stream; buffers live as long as one run.

    ``done``, ``launched``: how far the run came that is in progress, or that failed.
    """

    def __init__(self) -> None:
        from cuda.core import Device

        try:
            self.device = Device(0)
            self.device.set_current()
        except Exception as error:  # no driver, no device
            raise EnvironmentError_(
                f"no usable NVIDIA GPU ({' '.join(str(error).split())[:120]}); "
                "fix: run on a machine with a GPU and driver 580 or newer"
            ) from None
        self.stream = self.device.create_stream()
        self._eviction: Any = None
        self._comparisons: dict[str, Any] = {}
        self.done, self.launched = 0, False
        self.facts = self._facts()

    def _facts(self) -> dict[str, Any]:
        from cuda.bindings import driver

        major, minor = self.device.compute_capability
        _, cuda = driver.cuDriverGetVersion()
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        try:
            smi = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
            version = smi.stdout.strip().splitlines()[0]
        except (OSError, IndexError, subprocess.TimeoutExpired):
            version = ""
        return {
            "gpu": str(self.device.name),
            "board": hashlib.sha256(str(self.device.uuid).encode()).hexdigest()[:8],
            "compute_capability": f"{major}.{minor}",
            "sms": int(self.device.properties.multiprocessor_count),
            "driver": version,
            "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}",
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        }

    def run(self, spec: RunSpec) -> RunReply:
        """All launches of a spec. Raises EnvironmentError_ on the wrong GPU; CUDA errors pass."""
        begin = time.monotonic()
        self.done, self.launched = 0, False
        self._require(spec.arch)
        specs = [spec, *([spec.dependent] if spec.dependent else [])]
        of_tensors = {name: t for s in reversed(specs) for name, t in s.tensors.items()}
        tensors = {name: self._tensor(t) for name, t in of_tensors.items()}
        kernels = [self._loaded(s, tensors) for s in specs]
        checked = {name: t for name, t in of_tensors.items() if t.expected}
        started = checked | {name: t for name, t in of_tensors.items() if not t.fill}
        images = {name: self._upload(Path(t.expected).read_bytes()) for name, t in checked.items()}
        times: list[tuple[int, int, float]] = []
        marks: list[Any] = []
        words: list[Any] = [np.zeros(REPORT_WORDS + 1, np.uint32)]
        for turn in range(spec.warmups + spec.launches):
            if spec.l2 == "cold":
                self._evict()
            for name, t in started.items():
                tensors[name].fill(t.fill, stream=self.stream)
            self.launched = True
            for number, kernel in enumerate(kernels):
                self._launch(kernel, turn, overlaps=number > 0)
            self.stream.sync()
            for name, t in checked.items():
                self._compare(t, tensors[name], images[name], kernels[0].report)
            words = [self._download(kernel.report, np.uint32) for kernel in kernels]
            if any(w[0] or w[REPORT_WORDS] for w in words):
                break
            self.done += 1
            if not checked:
                marks = [self._marks(kernel) for kernel in kernels]
                if turn >= spec.warmups:
                    times.append(_times(marks))
        for name, t in of_tensors.items():
            if t.output:
                self._download(tensors[name], np.uint8).tofile(t.output)
        if spec.stamps:
            self._download(kernels[0].stamps, np.uint32).tofile(spec.stamps)
        starts = [(int(a), int(b)) for a, b in marks[0][:64, 0]] if marks else []
        for buffer in (
            *tensors.values(),
            *images.values(),
            *(b for k in kernels for b in k.buffers),
        ):
            if buffer is not None:
                buffer.close(self.stream)
        stopped = next((n for n, w in enumerate(words) if w[0]), None)
        return RunReply(
            report=() if stopped is None else tuple(int(w) for w in words[stopped][:REPORT_WORDS]),
            kernel=stopped or 0,
            span_ns=tuple(t[0] for t in times),
            cta_cycles=tuple(t[1] for t in times),
            clock_ghz=tuple(t[2] for t in times),
            starts=tuple(starts),
            gpu=self.facts,
            seconds=time.monotonic() - begin,
            done=self.done,
            differs=bool(words[0][REPORT_WORDS]),
        )

    # -- pieces --------------------------------------------------------------------------------

    def _loaded(self, spec: RunSpec, tensors: dict[str, Any]) -> _Kernel:
        """A kernel with its buffers and arguments."""
        ctas = spec.grid[0] * spec.grid[1] * spec.grid[2]
        warps = spec.threads // 32
        report = self._zeros(4 * (REPORT_WORDS + 1))  # the last word: a tensor differs
        clocks = self._zeros(CLOCKS_BYTES * ctas * (warps + 1))
        stamps = self._zeros(max(1, spec.stamp_ctas * warps * spec.stamp_capacity) * STAMP_BYTES)
        delays = self._upload(Path(spec.delays).read_bytes()) if spec.delays else None
        maps: dict[str, Any] = {}
        changing: list[tuple[Any, Any]] = []
        for name, m in spec.maps.items():
            if m.copies:
                data = raw_maps(m, int(tensors[m.tensor].handle))
                maps[name] = self._copy_in(data)
                changing.append((maps[name], data))
            else:
                maps[name] = self._map(m, tensors[m.tensor])
        pointers = {"report": report, "clocks": clocks, "delays": delays, "stamps": stamps}
        args = [self._argument(p, tensors, maps, pointers) for p in spec.parameters]
        code = self._kernel(spec)
        self._check_arguments(code, spec)
        tables = _table_arguments(spec, args, delays)
        return _Kernel(spec, code, tables, report, clocks, stamps, delays, tuple(changing))

    def _marks(self, kernel: _Kernel) -> Any:
        """(CTA, slot (start, warp ends), (globaltimer ns, SM cycles)) of the last launch."""
        found = self._download(kernel.clocks, np.uint64)
        return found.reshape(-1, kernel.spec.threads // 32 + 1, 2)

    def _require(self, arch: str) -> None:
        digits = arch.removeprefix("sm_").rstrip("af")
        wanted = f"{digits[:-1]}.{digits[-1]}"
        have = self.facts["compute_capability"]
        if wanted != have:
            raise EnvironmentError_(
                f"the kernel is for {arch}, this GPU ({self.facts['gpu']}) has compute capability "
                f"{have}; fix: run on a GPU of capability {wanted}"
            )

    def _kernel(self, spec: RunSpec) -> Any:
        from cuda.bindings import driver
        from cuda.core import ObjectCode

        kernel = ObjectCode.from_cubin(Path(spec.cubin).read_bytes()).get_kernel(spec.kernel)
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (status,) = driver.cuKernelSetAttribute(
            attribute, spec.smem_bytes, kernel.handle, driver.CUdevice(0)
        )
        if int(status):
            raise RuntimeError(f"{spec.smem_bytes} bytes of shared memory refused: {status}")
        large = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        (status,) = driver.cuKernelSetAttribute(large, 1, kernel.handle, driver.CUdevice(0))
        if int(status):
            raise RuntimeError(f"clusters of more than 8 CTAs refused: {status}")
        return kernel

    def _check_arguments(self, kernel: Any, spec: RunSpec) -> None:
        """The driver ignores surplus arguments and wrong sizes in silence."""
        have = [int(info.size) for info in kernel.arguments_info]
        want = [p[3] for p in spec.parameters]
        if have != want:
            raise RuntimeError(f"kernel parameters of {have} bytes, {want} are passed")

    def _allocate(self, size: int) -> Any:
        return self.device.allocate(max(size, 16), stream=self.stream)

    def _zeros(self, size: int) -> Any:
        buffer = self._allocate(size)
        buffer.fill(0, stream=self.stream)
        return buffer

    def _upload(self, data: bytes) -> Any:
        return self._copy_in(np.frombuffer(data, np.uint8))

    def _copy_in(self, data: Any) -> Any:
        buffer = self._allocate(data.nbytes)
        self._write(buffer, data)
        return buffer

    def _write(self, buffer: Any, data: Any) -> None:
        from cuda.bindings import driver

        self.stream.sync()
        (status,) = driver.cuMemcpyHtoD(int(buffer.handle), data.ctypes.data, data.nbytes)
        if int(status):
            raise RuntimeError(f"copy to the GPU failed: {status}")

    def _tensor(self, t: TensorSpec) -> Any:
        if t.data:
            return self._copy_in(np.fromfile(t.data, np.uint8))
        buffer = self._allocate(t.elements * t.element_bytes)
        buffer.fill(t.fill, stream=self.stream)
        return buffer

    def _download(self, buffer: Any, dtype: Any) -> Any:
        from cuda.bindings import driver

        out = np.empty(int(buffer.size) // np.dtype(dtype).itemsize, dtype)
        self.stream.sync()
        (status,) = driver.cuMemcpyDtoH(out.ctypes.data, int(buffer.handle), out.nbytes)
        if int(status):
            raise RuntimeError(f"copy from the GPU failed: {status}")
        return out

    def _map(self, m: MapSpec, buffer: Any) -> Any:
        from cuda.core import TensorMapDescriptorOptions
        from cuda.core._tensor_map import (
            TensorMapDataType,
            TensorMapDescriptor,
            TensorMapIm2ColWideMode,
        )
        from cuda.core.utils import StridedMemoryView

        enums = TensorMapDescriptorOptions(box_dim=(1,))
        size = {"bf16": 2, "f16": 2, "u8": 1, "i8": 1, "e4m3": 1, "e5m2": 1}.get(m.dtype, 4)
        view = StridedMemoryView.from_buffer(
            buffer, m.shape, m.strides, dtype=np.dtype(_NUMPY_OF_BYTES[size])
        )
        swizzle = f"SWIZZLE_{m.swizzle_bytes}B" if m.swizzle_bytes else "NONE"
        promotion = f"L2_{m.l2_promotion_bytes}B" if m.l2_promotion_bytes else "NONE"
        fill = "NAN_REQUEST_ZERO_FMA" if m.nan_fill else "NONE"
        interleave = f"INTERLEAVE_{m.interleave_bytes}B" if m.interleave_bytes else "NONE"
        options = {
            "data_type": TensorMapDataType[MAP_TYPES.get(m.dtype, "UINT8")],
            "element_strides": m.element_strides or None,
            "interleave": type(enums.interleave)[interleave],
            "swizzle": type(enums.swizzle)[swizzle],
            "l2_promotion": type(enums.l2_promotion)[promotion],
            "oob_fill": type(enums.oob_fill)[fill],
        }
        if m.corners:  # cuda.core has no public name for it
            pixels, channels = m.box
            if m.wide:
                (low,), (high,) = m.corners
                options["mode"] = TensorMapIm2ColWideMode[m.wide]
                return TensorMapDescriptor._from_im2col_wide(
                    view, low, high, channels, pixels, **options
                )
            return TensorMapDescriptor._from_im2col(view, *m.corners, channels, pixels, **options)
        return view.as_tensor_map(box_dim=tuple(m.box), **options)

    def _argument(
        self, p: tuple[str, str, int, int], tensors: Any, maps: Any, pointers: Any
    ) -> Any:
        kind, name, value, size = p
        if kind == "tensor":
            return np.uint64(int(tensors[name].handle))
        if kind == "tensor_map":
            return maps[name]
        if kind == "tensor_maps":
            return np.uint64(int(maps[name].handle))
        if kind in pointers:
            return np.uint64(int(pointers[kind].handle))
        if size != 4:
            raise RuntimeError(f"parameter {kind} {name} of {size} bytes")
        return np.int32(value)

    def _launch(self, kernel: _Kernel, turn: int, *, overlaps: bool) -> None:
        """``overlaps``: it may start before the kernel ahead of it has ended."""
        from cuda.core import LaunchConfig, launch

        spec = kernel.spec
        for buffer, data in kernel.maps:
            self._write(buffer, data)
        config = LaunchConfig(
            grid=spec.grid,
            block=spec.threads,
            shmem_size=spec.smem_bytes,
            programmatic_stream_serialization=overlaps,
        )
        launch(self.stream, config, kernel.code, *kernel.arguments(turn))

    def _evict(self) -> None:
        """Leave L2 full of clean lines that the kernel does not use."""
        from cuda.core import LaunchConfig, launch

        if self._eviction is None:
            data = self._zeros(FLUSH_BYTES)
            args = (data, np.uint64(FLUSH_BYTES // 16), self._zeros(16))
            config = LaunchConfig(grid=528, block=512)
            self._eviction = (config, self._own_kernel("evict"), *args)
        launch(self.stream, *self._eviction)

    def _compare(self, t: TensorSpec, tensor: Any, image: Any, report: Any) -> None:
        """Set the last word of the report if a tensor is not as its image, bytes and mask, says."""
        from cuda.core import LaunchConfig, launch

        name = "compare_near" if t.near else "compare"
        if name not in self._comparisons:
            self._comparisons[name] = self._own_kernel(name)
        size = t.elements * t.element_bytes
        have, want = int(tensor.handle), int(image.handle)
        flag = np.uint64(int(report.handle) + 4 * REPORT_WORDS)
        args: list[Any] = [np.uint64(v) for v in (have, want, want + size)]
        if t.near:
            kind = ("f32", "f16", "bf16").index(t.dtype)
            args += [np.uint64(t.elements), np.uint32(kind), np.float32(t.near), flag]
        else:
            args += [np.uint64(size), flag]
        grid = min(528, -(-size // 512))
        launch(self.stream, LaunchConfig(grid=grid, block=512), self._comparisons[name], *args)

    def _own_kernel(self, name: str) -> Any:
        """The kernel NAME of NAME.cu beside this file."""
        from cuda.core import Program, ProgramOptions

        source = (Path(__file__).parent / f"{name}.cu").read_text(encoding="utf-8")
        arch = "sm_" + self.facts["compute_capability"].replace(".", "")
        program = Program(source, "c++", ProgramOptions(arch=arch))
        return program.compile("cubin").get_kernel(name)


def _table_arguments(spec: RunSpec, args: list[Any], delays: Any) -> Callable[[int], list[Any]]:
    """The arguments of a launch: each has its own delay table if there are several."""
    kinds = [p[0] for p in spec.parameters]
    if delays is None or "delays" not in kinds:
        return lambda turn: args
    at = kinds.index("delays")
    first, size = int(delays.handle), spec.delay_bytes
    several = Path(spec.delays).stat().st_size > size

    def of_launch(turn: int) -> list[Any]:
        args[at] = np.uint64(first + turn * size * several)
        return args

    return of_launch


def _times(kernels: list[Any]) -> tuple[int, int, float]:
    """Span in ns from the first CTA of the first kernel to the last of the last one, cycles of CTA
    0, SM clock in GHz, of the first. Of each kernel its marks: CTA, slot (start, warp ends),
    (globaltimer ns, SM cycles)."""
    begins = [marks[:, 0].astype(np.int64) for marks in kernels]
    ends = [marks[:, 1:].max(axis=1).astype(np.int64) for marks in kernels]
    span = int(ends[-1][:, 0].max() - begins[0][:, 0].min())
    took = ends[0] - begins[0]
    clock = float(took[:, 1].sum() / max(1, took[:, 0].sum()))
    return span, int(took[0, 1]), clock
