"""Declarations of the builder: tensors, maps, tiles, barriers, fragments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from asyncsim.build.given import (
    dtype_of,
    extents_of,
    im2col_of,
    interleave_of,
    strides_of,
    swizzle_of,
)
from asyncsim.build.handles import (
    FragmentHandle,
    GlobalHandle,
    MbarrierArray,
    NamedBarrierHandle,
    SmemHandle,
    StateHandle,
    TensorMapHandle,
    TokenHandle,
)
from asyncsim.build.tmem import TmemHandle
from asyncsim.build.value import whole
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir.alignment import MMA_K_BYTES
from asyncsim.ir.decl import (
    Decl,
    Fill,
    Fragment,
    FragmentLayout,
    GlobalTensor,
    Im2col,
    Mbarrier,
    NamedBarrier,
    OobFill,
    SmemTile,
    StateRegister,
    TensorMap,
    TmemTile,
    TokenRegister,
)
from asyncsim.ir.dtype import SUMS, DType
from asyncsim.ir.matrix import LANE_BYTES
from asyncsim.memory.swizzle import REPEAT_BYTES

_FILLS_OF_BYTES = frozenset({Fill.UE8M0, Fill.UE4M3, Fill.E2M1})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


class Declarations:
    """The declaring half of ScheduleBuilder. Names are unique C identifiers."""

    def __init__(self) -> None:
        self._decls: list[Decl] = []
        self._args: list[tuple[str, int]] = []
        self._names: set[str] = set()

    def _new_name(self, name: str) -> None:
        check_name(name)
        if name in self._names:
            raise ScheduleError(f"{name!r} is declared twice", fix="rename one", loc=caller())
        self._names.add(name)

    def global_tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str | DType,
        *,
        strides: Sequence[int] | None = None,
        output: bool = False,
        fill: Fill = Fill.RANDOM,
        tolerance: float = 0.0,
    ) -> GlobalHandle:
        """A tensor in global memory: ``shape`` and ``strides`` in elements, row-major default.

        ``fill``: what the host puts there; scale factors and numbers of four bits are named.
        ``tolerance``: how far an inexact output may be from its evaluation, for values up to 1; of
        the value beyond. 0 compares bit for bit.
        """
        self._new_name(name)
        extents = extents_of(shape, f"tensor {name!r}")
        if strides is None:
            strides = [1] * len(extents)
            for d in range(len(extents) - 2, -1, -1):
                strides[d] = strides[d + 1] * extents[d + 1]
        if len(strides) != len(extents) or min(strides) < 0:
            raise ScheduleError(
                f"tensor {name!r} of shape {extents} has strides {tuple(strides)}",
                fix="give one stride of 0 or more elements per dimension",
                loc=caller(),
            )
        kind = dtype_of(dtype)
        if fill in _FILLS_OF_BYTES and kind is not DType.U8:
            raise ScheduleError(
                f"tensor {name!r} of {kind.value} filled with {fill.value}",
                fix="that is a fill of bytes: declare it u8",
                loc=caller(),
            )
        decl = GlobalTensor(
            name=name,
            shape=extents,
            strides=tuple(whole(s) for s in strides),
            dtype=kind,
            output=output,
            fill=Fill.ZERO if output else fill,
            tolerance=tolerance,
            loc=caller(),
        )
        self._decls.append(decl)
        return GlobalHandle(decl)

    def tensor_map(
        self,
        name: str,
        tensor: GlobalHandle,
        *,
        box: Sequence[int],
        swizzle: int = 0,
        oob_fill: OobFill = OobFill.ZERO,
        l2_promotion_bytes: int = 128,
        interleave: int = 0,
        element_strides: Sequence[int] | None = None,
        in_global: bool = False,
    ) -> TensorMapHandle:
        """A TMA descriptor of ``tensor``; ``box`` is row-major, ``swizzle`` 0, 32, 64 or 128.

        ``element_strides``: a load brings every so many-th element of each dimension of the box.
        ``interleave``: slices of 16 or 32 bytes of channels; the last dimension counts them all.
        ``in_global``: not a kernel parameter; each CTA has a copy in global memory to change.
        """
        self._new_name(name)
        decl = TensorMap(
            name=name,
            tensor=tensor.decl.name,
            box=extents_of(box, f"box of tensor map {name!r}"),
            swizzle=swizzle_of(swizzle),
            oob_fill=oob_fill,
            element_strides=strides_of(element_strides, len(box), name),
            l2_promotion_bytes=l2_promotion_bytes,
            interleave=interleave_of(interleave),
            in_global=in_global,
            loc=caller(),
        )
        self._decls.append(decl)
        return TensorMapHandle(decl, tensor.decl)

    def im2col_map(
        self,
        name: str,
        tensor: GlobalHandle,
        *,
        pixels: int,
        channels: int,
        lower: Sequence[int],
        upper: Sequence[int],
        swizzle: int = 0,
        oob_fill: OobFill = OobFill.ZERO,
        mode: str = "im2col",
        element_strides: Sequence[int] | None = None,
        l2_promotion_bytes: int = 128,
    ) -> TensorMapHandle:
        """An im2col TMA descriptor of ``tensor`` (batch, up to three of space, channels).

        A load brings ``pixels`` x ``channels``: pixels follow each other inside the box that
        begins ``lower`` from the first corner of the space and ends ``upper`` from the last one.
        ``element_strides``: of each dimension of the tensor; pixels are so far apart.
        ``mode``: "im2col", or "im2col::w" and "im2col::w::128" along the last dimension of space
        alone, which the corners then name alone.
        """
        self._new_name(name)
        decl = TensorMap(
            name=name,
            tensor=tensor.decl.name,
            box=extents_of((pixels, channels), f"box of im2col map {name!r}"),
            swizzle=swizzle_of(swizzle),
            oob_fill=oob_fill,
            element_strides=strides_of(element_strides, len(tensor.decl.shape), name),
            l2_promotion_bytes=l2_promotion_bytes,
            im2col=Im2col(
                lower=tuple(map(whole, lower)), upper=tuple(map(whole, upper)), mode=im2col_of(mode)
            ),
            loc=caller(),
        )
        self._decls.append(decl)
        return TensorMapHandle(decl, tensor.decl)

    def smem_tile(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str | DType,
        *,
        stages: int = 1,
        swizzle: int = 0,
        align: int | None = None,
    ) -> SmemHandle:
        """``stages`` tiles in shared memory; aligned to the swizzle's repeat, at least 128 B."""
        self._new_name(name)
        if stages < 1:
            raise ScheduleError(
                f"tile {name!r} has {stages} stages", fix="give at least 1", loc=caller()
            )
        if align is not None and align < 1:
            raise ScheduleError(
                f"tile {name!r} has alignment {align}", fix="give a power of two", loc=caller()
            )
        mode = swizzle_of(swizzle)
        decl = SmemTile(
            name=name,
            shape=extents_of(shape, f"tile {name!r}"),
            dtype=dtype_of(dtype),
            stages=whole(stages),
            swizzle=mode,
            align=max(128, REPEAT_BYTES[mode]) if align is None else whole(align),
            loc=caller(),
        )
        self._decls.append(decl)
        return SmemHandle(decl)

    def tmem_tile(
        self,
        name: str,
        *,
        columns: int,
        address: SmemHandle,
        dtype: str | DType = DType.F32,
        column: int = 0,
        lanes: int = 128,
        stages: int = 1,
    ) -> TmemHandle:
        """``stages`` tiles of tensor memory, side by side, each ``lanes`` x ``columns`` of 32 bits.

        They lie ``column`` columns into the allocation whose address is in the word ``address``.
        """
        self._new_name(name)
        if stages < 1:
            raise ScheduleError(
                f"tile {name!r} has {stages} stages", fix="give at least 1", loc=caller()
            )
        decl = TmemTile(
            name=name,
            columns=whole(columns),
            dtype=dtype_of(dtype),
            address=address.decl.name,
            column=whole(column),
            lanes=whole(lanes),
            stages=whole(stages),
            loc=caller(),
        )
        self._decls.append(decl)
        return TmemHandle(decl)

    def mbarriers(self, name: str, *, count: int, stages: int = 1) -> MbarrierArray:
        """``stages`` mbarriers that expect ``count`` arrivals a phase."""
        self._new_name(name)
        if stages < 1:
            raise ScheduleError(
                f"mbarrier array {name!r} has {stages} stages", fix="give at least 1", loc=caller()
            )
        if not 1 <= count < 1 << 20:
            raise ScheduleError(
                f"mbarrier {name!r} expects {count} arrivals",
                fix="a count is 1 to 1048575 (PTX ISA, mbarrier.init)",
                loc=caller(),
            )
        decl = Mbarrier(name=name, count=whole(count), stages=whole(stages), loc=caller())
        self._decls.append(decl)
        return MbarrierArray(decl)

    def named_barrier(self, name: str, *, id: int, threads: int) -> NamedBarrierHandle:
        """Hardware barrier 1..15 for ``threads`` threads (a multiple of 32)."""
        self._new_name(name)
        if not 1 <= id <= 15:
            raise ScheduleError(
                f"named barrier {name!r} has id {id}",
                fix="use 1 to 15; 0 is the block barrier",
                loc=caller(),
            )
        decl = NamedBarrier(name=name, id=whole(id), threads=whole(threads), loc=caller())
        self._decls.append(decl)
        return NamedBarrierHandle(decl)

    def mbarrier_state(self, name: str) -> StateHandle:
        """A register of every thread for the *state* that an arrive returns."""
        self._new_name(name)
        decl = StateRegister(name=name, loc=caller())
        self._decls.append(decl)
        return StateHandle(decl)

    def mbarrier_token(self, name: str) -> TokenHandle:
        """A bit of every thread for what a peek found; at the start it has not passed."""
        self._new_name(name)
        decl = TokenRegister(name=name, loc=caller())
        self._decls.append(decl)
        return TokenHandle(decl)

    def fragment(
        self, name: str, *, registers: int, dtype: str | DType = DType.F32
    ) -> FragmentHandle:
        """``registers`` private values in every thread of the role that uses it."""
        self._new_name(name)
        decl = Fragment(name=name, registers=whole(registers), dtype=dtype_of(dtype), loc=caller())
        self._decls.append(decl)
        return FragmentHandle(decl)

    def operand(self, name: str, *, k: int, dtype: str | DType) -> FragmentHandle:
        """Registers for the A (64, K) of wgmma: K/2 elements a thread. With x = 16 / bytes of one,
        ``part(x * i, x)`` are the i-th k-slice of 2 x. CUDA text sees u32, each full of them."""
        self._new_name(name)
        element = dtype_of(dtype)
        step = MMA_K_BYTES // element.bytes
        if element not in SUMS or whole(k) % step or k < step:
            raise ScheduleError(
                f"operand {name!r} of (64, {k}) {element.value}",
                fix=f"k is a multiple of {step}"
                if element in SUMS
                else f"wgmma takes {', '.join(d.value for d in SUMS)}",
                loc=caller(),
            )
        layout = FragmentLayout.OPERAND
        decl = Fragment(name=name, registers=k // 2, dtype=element, layout=layout, loc=caller())
        self._decls.append(decl)
        return FragmentHandle(decl)

    def matrices(self, name: str, count: int, dtype: str | DType) -> FragmentHandle:
        """Registers for ``count`` matrices of 8 rows of 16 bytes that a warp holds together, for
        ldmatrix, stmatrix and mma.sync. CUDA text sees a u32 of each."""
        self._new_name(name)
        element = dtype_of(dtype)
        if whole(count) < 1 or element is DType.F32:
            raise ScheduleError(
                f"{count} matrices {name!r} of {element.value}",
                fix="give at least 1, of a type of the tensor core (tf32 for f32)",
                loc=caller(),
            )
        layout, each = FragmentLayout.MATRICES, LANE_BYTES // element.bytes
        decl = Fragment(
            name=name, registers=each * count, dtype=element, layout=layout, loc=caller()
        )
        self._decls.append(decl)
        return FragmentHandle(decl)

    def dtype_of(self, name: str) -> DType:
        """The type of a fragment's elements."""
        return next(d.dtype for d in self._decls if isinstance(d, Fragment) and d.name == name)

    def accumulator(self, name: str, *, n: int, dtype: str | DType = DType.F32) -> FragmentHandle:
        """The accumulator of an m64nN wgmma, f32, or i32 of integers: N/2 registers a thread."""
        self._new_name(name)
        element = dtype_of(dtype)
        if element not in SUMS.values():
            raise ScheduleError(
                f"accumulator {name!r} of {element.value}",
                fix="wgmma sums in f32, integers in i32",
                loc=caller(),
            )
        if whole(n) % 8 or not 8 <= n <= 256:
            raise ScheduleError(
                f"accumulator {name!r} has n = {n}",
                fix="n is a multiple of 8 from 8 to 256",
                loc=caller(),
            )
        decl = Fragment(
            name=name,
            registers=n // 2,
            dtype=element,
            layout=FragmentLayout.ACCUMULATOR,
            loc=caller(),
        )
        self._decls.append(decl)
        return FragmentHandle(decl)


def check_name(name: str) -> None:
    """A name is part of generated code and of traces. Raises ScheduleError."""
    if not _NAME.match(name):
        raise ScheduleError(
            f"{name!r} is not a name", fix="use letters, digits and _", loc=caller()
        )


def ctas_of(what: str, x: int, y: int, z: int) -> tuple[int, int, int]:
    """CTAs per dimension, of a grid or a cluster. Raises ScheduleError."""
    if min(x, y, z) < 1:
        raise ScheduleError(
            f"{what} ({x}, {y}, {z}) has no CTAs",
            fix="give at least 1 per dimension",
            loc=caller(),
        )
    return whole(x), whole(y), whole(z)
