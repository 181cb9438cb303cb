"""Ops of the fifth generation tensor core: tensor memory, and what works on it (PTX ISA, tcgen05).

Tensor memory has 128 lanes of 512 columns of 32 bits per CTA. With ``cta_group`` 2 an op works on
both CTAs of a pair, ranks 2i and 2i + 1 of the cluster: on the same place of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from asyncsim.ir.expr import Expr
from asyncsim.ir.operand import FragmentRef, MbarrierRef, OpBase, SmemView, TmemView

LANES = 128
COLUMNS = 512
WARP_LANES = 32  # lanes of a warp: 32 * (warp % 4) and those after it


class MmaKind(Enum):
    """tcgen05.mma .kind: the types of its operands."""

    F16 = "f16"
    TF32 = "tf32"
    F8F6F4 = "f8f6f4"
    I8 = "i8"
    MXF8F6F4 = "mxf8f6f4"
    MXF4 = "mxf4"
    MXF4NVF4 = "mxf4nvf4"

    @property
    def block_scaled(self) -> bool:
        """Whether it takes scale factors, from tensor memory."""
        return self.value.startswith("mx")

    @property
    def k(self) -> int:
        """The depth of one dense instruction, in elements."""
        return _DEPTH[self]


_DEPTH = {
    MmaKind.F16: 16,
    MmaKind.TF32: 8,
    MmaKind.F8F6F4: 32,
    MmaKind.I8: 32,
    MmaKind.MXF8F6F4: 32,
    MmaKind.MXF4: 64,
    MmaKind.MXF4NVF4: 64,
}


class CpShape(Enum):
    """tcgen05.cp: rows times bits a row; ``warpx`` repeats the rows for other warps' lanes."""

    S128X256B = "128x256b"
    S4X256B = "4x256b"
    S128X128B = "128x128b"
    S64X128B_02_13 = "64x128b.warpx2::02_13"
    S64X128B_01_23 = "64x128b.warpx2::01_23"
    S32X128B = "32x128b.warpx4"

    @property
    def rows(self) -> int:
        """Rows of the source."""
        return int(self.value.split("x")[0])

    @property
    def columns(self) -> int:
        """Columns of 32 bits that it writes."""
        return 8 if "256b" in self.value else 4

    @property
    def lanes(self) -> int:
        """Lanes that it writes, repetitions included."""
        return self.rows if self.rows == 4 else LANES

    @property
    def bytes(self) -> int:
        """Bytes that it reads."""
        return self.rows * self.columns * 4


class Tcgen05Side(Enum):
    """tcgen05.fence: BEFORE what tells another thread, AFTER what was told by one."""

    BEFORE = "before_thread_sync"
    AFTER = "after_thread_sync"


class Tcgen05Access(Enum):
    """What tcgen05.wait waits for: loads or stores of the executing threads."""

    LD = "ld"
    ST = "st"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Alloc(OpBase):
    """Allocate ``columns``; their address is written to the word ``address`` in shared memory.

    Blocks while they are not free. Tiles name the word that their allocation is found by.
    """

    address: SmemView
    columns: int
    cta_group: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Dealloc(OpBase):
    """Free the allocation whose address stands in the word, all of its ``columns``.

    ``offset``: columns that are added to the address; only 0 is an address of an allocation.
    """

    address: SmemView
    columns: int
    cta_group: int = 1
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05RelinquishAllocPermit(OpBase):
    """The CTA allocates no more."""

    cta_group: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Mma(OpBase):
    """d += a * b^T, m x n x k over the CTAs of the group; ``accumulate`` 0 overwrites d.

    ``a`` is (m / cta_group, k) and ``b`` (n / cta_group, k), K-major, each CTA's own part; ``a``
    may be in tensor memory. ``scale_a`` and ``scale_b``: scale factors of a block-scaled kind,
    ``scale_vec`` of them a row (1, 2 or 4), a byte each, from byte ``scale_a_id`` or ``scale_b_id``
    of their columns on.
    """

    d: TmemView
    a: SmemView | TmemView
    b: SmemView
    kind: MmaKind
    m: int
    n: int
    k: int
    accumulate: Expr
    cta_group: int = 1
    scale_a: TmemView | None = None
    scale_b: TmemView | None = None
    scale_vec: int = 0
    scale_a_id: int = 0
    scale_b_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Commit(OpBase):
    """One arrival on an mbarrier when all mma, cp and shift of this thread so far are complete.

    ``multicast``: a mask of CTA ranks; the barrier at the same place of each gets an arrival.
    """

    mbarrier: MbarrierRef
    cta_group: int = 1
    multicast: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Cp(OpBase):
    """Copy shared memory to tensor memory."""

    dst: TmemView
    src: SmemView
    shape: CpShape
    cta_group: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Shift(OpBase):
    """Shift the rows of 32 lanes down by one, over 8 columns."""

    tile: TmemView
    cta_group: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Ld(OpBase):
    """tcgen05.ld.32x32b.xN: one lane of tensor memory, N columns, to N registers of each thread."""

    dst: FragmentRef
    src: TmemView


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05St(OpBase):
    """tcgen05.st.32x32b.xN: N registers of each thread to N columns of its lane."""

    dst: TmemView
    src: FragmentRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Wait(OpBase):
    """Until all tcgen05.ld (or st) of the executing threads are complete."""

    what: Tcgen05Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05Fence(OpBase):
    """Orders tcgen05 ops of this thread against those of threads that it synchronises with."""

    side: Tcgen05Side


Tcgen05Op = (
    Tcgen05Alloc
    | Tcgen05Dealloc
    | Tcgen05RelinquishAllocPermit
    | Tcgen05Mma
    | Tcgen05Commit
    | Tcgen05Cp
    | Tcgen05Shift
    | Tcgen05Ld
    | Tcgen05St
    | Tcgen05Wait
    | Tcgen05Fence
)
