"""Declarations: what a schedule owns. Sizes in elements unless the name says bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from asyncsim.errors import SourceLoc
from asyncsim.ir.dtype import DType


class Swizzle(Enum):
    """Shared-memory swizzle; the value is its span in bytes (PTX ISA, tensor swizzling modes)."""

    NONE = 0
    B32 = 32
    B64 = 64
    B128 = 128


class Interleave(Enum):
    """Channels in slices (NC/8HWC8, NC/16HWC16); the value is a slice's bytes (PTX ISA 5.5.6).

    A slice is the last dimension of the tensor, which lies as it is declared: (N, C / 8, W, 8). The
    descriptor takes a slice for one element: coordinates, extents and element strides of the
    hardware are those of the dimensions before it. Of C / 8, the second, a copy takes one place.
    """

    NONE = 0
    B16 = 16
    B32 = 32


class OobFill(Enum):
    """What a TMA load writes for elements outside the tensor (cuTensorMapEncodeTiled, oobFill).

    ZERO: zeros. NAN: not a number, floating-point types alone.
    """

    ZERO = "zero"
    NAN = "nan"


class Fill(Enum):
    """How the host fills a tensor before a run.

    RANDOM: values of the tensor's type. SMALL: random, and small integers where data are verified,
    so that sums of products stay exact. IOTA: the linear index. ZERO. Of bytes that are no
    integers: UE8M0 and UE4M3, scale factors around one; E2M1, any two numbers of four bits.
    """

    RANDOM = "random"
    SMALL = "small"
    IOTA = "iota"
    ZERO = "zero"
    UE8M0 = "ue8m0"
    UE4M3 = "ue4m3"
    E2M1 = "e2m1"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalTensor:
    """A tensor in global memory, row-major strides in elements unless given.

    ``apart``: that no two accesses of the kernel meet in it is known, and not asked again.
    ``tolerance``: of an output that is not exact (approximate functions, rounding in another
    order): by how much an element may differ from the evaluation, for values up to 1, and by how
    much of its value beyond.
    """

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    output: bool = False
    fill: Fill = Fill.RANDOM
    apart: bool = False
    tolerance: float = 0.0
    loc: SourceLoc | None = None


class Im2colMode(Enum):
    """How the pixels of a load follow each other: through space, or along W alone
    (cuTensorMapEncodeIm2colWide). A load along W brings a halo after its pixels, or after every
    32 of its 128."""

    SPACE = "im2col"
    W = "im2col::w"
    W128 = "im2col::w::128"


@dataclass(frozen=True, slots=True, kw_only=True)
class Im2col:
    """The box that the pixels of an im2col map stay in, by the corners' distances from those of the
    tensor, for each dimension that they are read along (cuTensorMapEncodeIm2col): those between
    batch and channels, or W alone."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    mode: Im2colMode = Im2colMode.SPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """A TMA descriptor (cuTensorMapEncodeTiled). ``box`` is row-major like the tensor's shape.

    ``element_strides``: of each dimension of the tensor, how far apart the elements are that a
    copy moves. ``im2col``: of pixels instead (cuTensorMapEncodeIm2col); ``box`` is then (pixels,
    channels).
    """

    name: str
    tensor: str
    box: tuple[int, ...]
    swizzle: Swizzle = Swizzle.NONE
    oob_fill: OobFill = OobFill.ZERO
    element_strides: tuple[int, ...] = ()
    l2_promotion_bytes: int = 128
    interleave: Interleave = Interleave.NONE
    im2col: Im2col | None = None
    in_global: bool = False  # a copy for each CTA, which the kernel may change; else a parameter
    loc: SourceLoc | None = None

    @property
    def sliced(self) -> bool:
        """Whether the tensor's last dimension is a slice, which the descriptor does not count."""
        return self.interleave is not Interleave.NONE

    @property
    def strided(self) -> bool:
        """Whether a copy leaves elements out."""
        return any(step != 1 for step in self.element_strides)

    @property
    def tile(self) -> tuple[int, ...]:
        """Extents in shared memory of what a copy moves: every so many-th element of the box."""
        if self.im2col is not None or not self.element_strides:
            return self.box
        return tuple(-(-n // s) for n, s in zip(self.box, self.element_strides, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class SmemTile:
    """``stages`` equal tiles in shared memory, each aligned to ``align`` bytes.

    ``offset`` is the byte address of stage 0 in the CTA's shared memory, set by ``finish()``.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    stages: int = 1
    swizzle: Swizzle = Swizzle.NONE
    align: int = 128
    offset: int = -1
    loc: SourceLoc | None = None

    @property
    def stage_bytes(self) -> int:
        n = self.dtype.bytes
        for extent in self.shape:
            n *= extent
        return n

    @property
    def stage_stride(self) -> int:
        """Bytes from one stage to the next: stage_bytes rounded up to the alignment."""
        return -(-self.stage_bytes // self.align) * self.align


@dataclass(frozen=True, slots=True, kw_only=True)
class Mbarrier:
    """``stages`` mbarrier objects of 8 bytes, each expecting ``count`` arrivals a phase."""

    name: str
    count: int
    stages: int = 1
    offset: int = -1
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBarrier:
    """Hardware barrier ``id`` (1..15; 0 is the block barrier) for ``threads`` threads."""

    name: str
    id: int
    threads: int
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRegister:
    """64 bits of every thread, for the *state* that mbarrier.arrive returns (PTX ISA, mbarrier)."""

    name: str
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRegister:
    """One bit of every thread: whether its last mbarrier.test_wait into it passed."""

    name: str
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TmemTile:
    """``stages`` equal tiles in tensor memory, side by side: ``lanes`` x ``columns`` of 32 bits.

    They begin ``column`` columns after the address that stands in the word ``address``, a shared
    tile of one element that tcgen05.alloc writes. ``dtype``: of the elements, packed to 32 bits.
    """

    name: str
    columns: int
    dtype: DType
    address: str
    column: int = 0
    lanes: int = 128
    stages: int = 1
    loc: SourceLoc | None = None


class FragmentLayout(Enum):
    """PER_THREAD: n private registers. ACCUMULATOR: m64nN wgmma accumulator, N/2 registers.
    OPERAND: the A of wgmma, (64, K): K/2 elements, as many to a register as 32 bits hold.
    MATRICES: of a warp, 8 rows of 16 bytes each: 4 bytes of each, one register (ir.matrix)."""

    PER_THREAD = "per_thread"
    ACCUMULATOR = "accumulator"
    OPERAND = "operand"
    MATRICES = "matrices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """Registers of every thread of the role that uses it; ``registers`` values a thread.

    An ACCUMULATOR of m64nN holds row 16*warp + lane/4 + 8*((r/2)%2), column
    8*(r/4) + 2*(lane%4) + r%2 in register r (PTX ISA, wgmma register fragments). An OPERAND holds
    row 16*warp + lane/4 + 8*(w%2), bytes 16*(w/2) + 4*(lane%4) to +3 of it, in register w; its
    elements are counted through the registers. Of MATRICES too ``registers`` counts elements.
    """

    name: str
    registers: int
    dtype: DType
    layout: FragmentLayout = FragmentLayout.PER_THREAD
    loc: SourceLoc | None = None

    @property
    def packed(self) -> int:
        """Elements that share a register of 32 bits."""
        shared = self.layout in (FragmentLayout.OPERAND, FragmentLayout.MATRICES)
        return 4 // self.dtype.bytes if shared else 1

    @property
    def words(self) -> int:
        """Registers of 32 bits."""
        return self.registers // self.packed

    @property
    def by_warpgroup(self) -> bool:
        """Whether it is a matrix of 64 rows that the four warps of a warpgroup hold together."""
        return self.layout in (FragmentLayout.ACCUMULATOR, FragmentLayout.OPERAND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a compute op costs one warp, in counts: instructions, bytes, and chain cycles.

    ffma, alu, mufu, cvt, shuffle, lds: warp instructions. ffma has two factors that stay the same
    over many instructions; ffma_across and ffma_along are outer products onto a tile of registers,
    where no operand stays. Their factors come from shared memory by loads of 16 bytes a lane: of
    several rows or columns for one step (across), or of several steps of one row (along), which
    leaves the factors of a step in one register bank. These loads lie among the FFMA; those of any
    other computation come first. lds_bytes, sts_bytes: bytes the warp moves, 128 a wavefront.
    chain_ffma, chain_alu: dependent instructions in sequence (latency bound); chain_lds: loads
    that the chain waits for.
    """

    ffma: int = 0
    ffma_across: int = 0
    ffma_along: int = 0
    alu: int = 0
    mufu: int = 0
    cvt: int = 0
    shuffle: int = 0
    lds: int = 0
    lds_bytes: int = 0
    sts_bytes: int = 0
    chain_ffma: int = 0
    chain_alu: int = 0
    chain_lds: int = 0


class AccessMode(Enum):
    """What a compute definition does with an operand: READ, WRITE (all of it), READ_WRITE."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeOperand:
    """An operand of a compute definition.

    ``kind``: "fragment" (registers of each lane), "smem" (a view of a shared tile) or "int".
    ``mode`` says what is done with the first two.
    """

    name: str
    kind: str  # "fragment" | "smem" | "int"
    mode: AccessMode = AccessMode.READ


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeDef:
    """Computation of one warp on its operands: cost, CUDA text and NumPy meaning of one thing.

    ``cuda`` is a C++ statement block run by every thread. It sees each fragment as an array
    ``T name[n]``, each smem operand as ``name(row, col)`` (a readable or writable element), each
    int operand as an int, and ``lane``, ``thread_in_role``. ``numpy`` gets the operands by keyword:
    fragments as arrays (32, registers), smem operands as arrays of the view's shape, ints as
    ints, and ``lane``, ``thread_in_role`` as arrays of 32; it writes in place.
    ``work`` may depend on the int operands: then it is a function of them.
    """

    name: str
    operands: tuple[ComputeOperand, ...]
    work: Callable[..., Work | tuple[Work, ...]]
    cuda: str
    numpy: Callable[..., Any]


Decl = (
    GlobalTensor
    | TensorMap
    | SmemTile
    | TmemTile
    | Mbarrier
    | NamedBarrier
    | StateRegister
    | TokenRegister
    | Fragment
)
