"""One GPU with its buffers: launches cases and reads their words back.  Needs cuda.core.

See docs/machine.md.
"""

__all__ = ["Lab", "TimedOutError", "cubin_name"]

import hashlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .case import Box, Case, Context, Samples
from .sources import Variant, compile_variant, source_of

MB = 1 << 20
DATA_BYTES = 640 * MB
FLUSH_BYTES = 256 * MB
OUT_WORDS = 32768
PORTABLE_CLUSTER = 8
IMAGE = 16  # pixels of a side, for im2col


class TimedOutError(RuntimeError):
    """A wait in a kernel reached its bound."""


class Lab:
    """Device 0, one stream, the test data, and compiled kernels by variant.

    `cubins` is an optional folder of cubins that `compile` wrote, keyed by the source's hash.
    """

    def __init__(self, cubins: Path | None = None) -> None:
        from cuda.core import Device, LegacyPinnedMemoryResource

        self.device = Device(0)
        self.device.set_current()
        self.stream = self.device.create_stream()
        self.data = self._allocate(DATA_BYTES)
        self.flush = self._allocate(FLUSH_BYTES)
        self.out = self._allocate(8 * OUT_WORDS)
        self.abort = self._allocate(64)
        self.pinned = LegacyPinnedMemoryResource().allocate(8 * OUT_WORDS + 64)
        self.host = np.from_dlpack(self.pinned).view(np.int64)
        self.abort.fill(0, stream=self.stream)
        self.data.fill(0x3C, stream=self.stream)
        self.flush.fill(0x3C, stream=self.stream)
        self.cubins = cubins
        self.codes: dict[Variant, Any] = {}
        self.logs: dict[Variant, str] = {}
        self.maps: dict[tuple[int, ...], Any] = {}
        self.box_maps: dict[Box, Any] = {}
        self.context = Context()

    def _allocate(self, size: int) -> Any:
        return self.device.allocate(size, stream=self.stream)

    def code(self, variant: Variant) -> Any:
        if variant not in self.codes:
            stored = self.cubins / cubin_name(variant) if self.cubins else None
            if stored is not None and stored.exists():
                from cuda.core import ObjectCode

                self.codes[variant] = ObjectCode.from_cubin(stored.read_bytes())
            else:
                self.codes[variant], self.logs[variant] = compile_variant(variant)
        return self.codes[variant]

    def tensor_map(
        self, rows: int, row_bytes: int, pitch: int, element: int, promotion: int
    ) -> Any:
        key = rows, row_bytes, pitch, element, promotion
        if key not in self.maps:
            from cuda.core import TensorMapDescriptorOptions
            from cuda.core.utils import StridedMemoryView

            options = TensorMapDescriptorOptions(box_dim=(1,))
            view = StridedMemoryView.from_buffer(
                self.data,
                shape=(DATA_BYTES // pitch, pitch // element),
                dtype=np.dtype(np.uint16 if element == 2 else np.float32),
            )
            swizzles, promotions = type(options.swizzle), type(options.l2_promotion)
            self.maps[key] = view.as_tensor_map(
                box_dim=(rows, row_bytes // element),
                swizzle=swizzles.SWIZZLE_128B if row_bytes == 128 else swizzles.SWIZZLE_64B,
                l2_promotion=promotions[f"L2_{promotion}B" if promotion else "NONE"],
            )
        return self.maps[key]

    def box_map(self, box: Box) -> Any:
        """A map over the data whose outermost dimension has all that is left."""
        if box not in self.box_maps:
            from cuda.core import TensorMapDescriptor, TensorMapDescriptorOptions
            from cuda.core.utils import StridedMemoryView

            inner = (IMAGE, IMAGE, box.shape[-1]) if box.im2col else box.shape[1:]
            outer = DATA_BYTES // 2 // prod(inner) if inner else DATA_BYTES // 2
            view = StridedMemoryView.from_buffer(
                self.data, shape=(min(outer, 1 << 20), *inner), dtype=np.dtype(np.uint16)
            )
            swizzles = type(TensorMapDescriptorOptions(box_dim=(1,)).swizzle)
            swizzle = swizzles[f"SWIZZLE_{box.swizzle}B" if box.swizzle else "NONE"]
            if box.im2col:
                pixels, channels = box.shape
                self.box_maps[box] = TensorMapDescriptor._from_im2col(
                    view, (0, 0), (0, 0), channels, pixels, swizzle=swizzle
                )
            else:
                self.box_maps[box] = view.as_tensor_map(box_dim=box.shape, swizzle=swizzle)
        return self.box_maps[box]

    def run(self, case: Case) -> Samples:
        """Launch a case `warmups` + `repeat` times; concatenate the samples of the repeats."""
        from cuda.core import LaunchConfig, launch

        if case.seconds:
            from .long_run import long_run

            return long_run(self, case)
        kernel = self.kernel(case)
        shape: dict[str, Any] = {"grid": case.grid, "block": case.block, "shmem_size": case.smem}
        if case.cluster:
            shape["cluster"] = case.cluster
        config = LaunchConfig(**shape)
        args: list[Any] = [self.out, self.abort, self.data, *(np.int32(p) for p in case.args)]
        if case.rows:
            shape_of = case.rows, case.row_bytes, case.pitch, case.element, case.promotion
            args.append(self.tensor_map(*shape_of))
        if case.box:
            args.append(self.box_map(case.box))
        if case.mask is not None:
            self._write_mask(case.mask(self.context))
        runs: list[Samples] = []
        for turn in range(case.warmups + case.repeat):
            self.out.fill(0, stream=self.stream)
            if case.cold:
                self._evict()
            launch(self.stream, config, kernel, *args)
            if case.dependent:
                early = LaunchConfig(**shape, programmatic_stream_serialization=True)
                launch(self.stream, early, kernel, *args[:6], np.int32(1), *args[7:])
            samples = case.reduce(self.read(case.words), self.context)
            if turn >= case.warmups:
                runs.append(samples)
        return {name: np.concatenate([run[name] for run in runs]) for name in runs[-1]}

    def kernel(self, case: Case) -> Any:
        """The compiled kernel of a case, allowed its shared memory."""
        from cuda.bindings import driver

        kernel = self.code(case.variant).get_kernel(case.kernel)
        names = driver.CUfunction_attribute
        allowed = {names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: case.smem}
        if case.cluster > PORTABLE_CLUSTER:
            allowed[names.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] = 1
        for attribute, value in allowed.items():
            (status,) = driver.cuKernelSetAttribute(
                attribute, value, kernel.handle, driver.CUdevice(0)
            )
            if int(status):
                raise RuntimeError(f"cuKernelSetAttribute: {status}")
        return kernel

    def _evict(self) -> None:
        """Fill L2 with clean lines of other data; dirty ones would be written back in the run."""
        from cuda.core import LaunchConfig, launch

        kernel = self.code(Variant("memory.cu")).get_kernel("sweep")
        megabytes = np.int32(FLUSH_BYTES // MB)
        zero = np.int32(0)
        arguments = (self.out, self.abort, self.flush, megabytes, zero, zero, zero)
        launch(self.stream, LaunchConfig(grid=528, block=512), kernel, *arguments)

    def _write_mask(self, sms: list[int]) -> None:
        mask = np.zeros(1024, np.uint8)
        mask[sms] = 1
        from cuda.bindings import driver

        self.stream.sync()
        (status,) = driver.cuMemcpyHtoD(int(self.data.handle), mask.ctypes.data, mask.nbytes)
        if int(status):
            raise RuntimeError(f"cuMemcpyHtoD: {status}")

    def read(self, words: int) -> Any:
        if words > OUT_WORDS:
            raise ValueError(f"{words} words do not fit into {OUT_WORDS}")
        from cuda.bindings import driver

        self.stream.sync()
        for target, source, size in (
            (int(self.pinned.handle), int(self.out.handle), 8 * words),
            (int(self.pinned.handle) + 8 * OUT_WORDS, int(self.abort.handle), 4),
        ):
            (status,) = driver.cuMemcpyDtoH(target, source, size)
            if int(status):
                raise RuntimeError(f"cuMemcpyDtoH: {status}")
        if self.host[OUT_WORDS] & 0xFFFFFFFF:
            self.abort.fill(0, stream=self.stream)
            raise TimedOutError("a wait in the kernel reached its bound")
        return self.host[:words].copy()


def cubin_name(variant: Variant) -> str:
    digest = hashlib.sha256(source_of(variant).encode()).hexdigest()[:24]
    return f"{digest}.cubin"
