"""What ops are made of: who executes them, and references to what they work on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from asyncsim.errors import SourceLoc
from asyncsim.ir.expr import Expr


class Scope(Enum):
    """Who executes an op.

    ALL_LANES: each of the 32 lanes on its own. ELECTED: one lane of the warp. OTHERS: the 31 lanes
    that were not elected. WARP: the warp as one (bar.sync, bar.warp.sync). WARPGROUP: four warps as
    one (wgmma, setmaxnreg).
    """

    ALL_LANES = "all"
    ELECTED = "elected"
    OTHERS = "others"
    WARP = "warp"
    WARPGROUP = "warpgroup"


class GroupKind(Enum):
    """Which FIFO of groups: cp.async and bulk groups belong to a thread, wgmma's to a warpgroup."""

    CP_ASYNC = "cp_async"
    BULK = "bulk"
    WGMMA = "wgmma"


class MaxNRegDirection(Enum):
    INC = "inc"
    DEC = "dec"


class FenceSpace(Enum):
    """What fence.proxy.async covers: SHARED the CTA's own shared memory, CLUSTER that of every CTA
    of the cluster, GLOBAL, or ALL of them."""

    SHARED = "shared"
    CLUSTER = "shared::cluster"
    GLOBAL = "global"
    ALL = "all"


class MemScope(Enum):
    """Whom a release or acquire speaks to (PTX ISA, memory consistency model: scope)."""

    CTA = "cta"
    CLUSTER = "cluster"


class ReduceOp(Enum):
    """What cp.reduce.async.bulk does with the element that is there."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"


@dataclass(frozen=True, slots=True)
class MbarrierRef:
    """One mbarrier of an array; ``rank``: of that CTA of the cluster (mapa), None: of its own."""

    name: str
    stage: Expr
    rank: Expr | None = None


@dataclass(frozen=True, slots=True)
class GlobalView:
    """A box of a tensor: first element and extent per dimension (in elements)."""

    tensor: str
    start: tuple[Expr, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SmemView:
    """A box of one stage of a tile. ``expects`` is the global box whose data the reader means;
    ``rank``: in the shared memory of that CTA of the cluster (mapa), None: in its own."""

    tile: str
    stage: Expr
    start: tuple[Expr, ...]
    shape: tuple[int, ...]
    expects: GlobalView | None = None
    rank: Expr | None = None


@dataclass(frozen=True, slots=True)
class TmemView:
    """A box of one stage of a tile in tensor memory: ``start`` and ``shape`` are (lane, column), in
    lanes and in columns of 32 bits."""

    tile: str
    stage: Expr
    start: tuple[Expr, Expr]
    shape: tuple[int, int]


@dataclass(frozen=True, slots=True)
class FragmentRef:
    """Registers ``first .. first+count-1`` of a fragment."""

    name: str
    first: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpBase:
    id: int
    scope: Scope
    loc: SourceLoc | None

    def parts(self) -> list[object]:
        """What the op has besides these three: operands and modifiers, tuples taken apart."""
        found: list[object] = []
        for name in type(self).__dataclass_fields__:
            if name not in _COMMON:
                value = getattr(self, name)
                found += value if isinstance(value, tuple) else (value,)
        return found


_COMMON = frozenset(OpBase.__dataclass_fields__)
