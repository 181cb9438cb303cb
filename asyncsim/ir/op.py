"""Ops: one node is one PTX instruction, named after its opcode.

Every op has a stable ``id``, the user's source line, and a ``scope`` that says who executes it.
Operands are references by name with expressions for what varies. The union ``Op`` is closed;
each reader is a ``match`` over it that ends in ``assert_never``.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir.atomic import AtomAdd as AtomAdd
from asyncsim.ir.bulk import BulkLoad as BulkLoad
from asyncsim.ir.bulk import BulkOp as BulkOp
from asyncsim.ir.bulk import BulkPrefetch as BulkPrefetch
from asyncsim.ir.bulk import BulkSend as BulkSend
from asyncsim.ir.bulk import BulkStore as BulkStore
from asyncsim.ir.bulk import PrefetchOp as PrefetchOp
from asyncsim.ir.bulk import PrefetchTensorMap as PrefetchTensorMap
from asyncsim.ir.bulk import RedAsync as RedAsync
from asyncsim.ir.bulk import TmaPrefetch as TmaPrefetch
from asyncsim.ir.clc import NO_TILE as NO_TILE
from asyncsim.ir.clc import ClcOp as ClcOp
from asyncsim.ir.clc import ClcQueryCancel as ClcQueryCancel
from asyncsim.ir.clc import ClcTryCancel as ClcTryCancel
from asyncsim.ir.decl import ComputeDef
from asyncsim.ir.expr import Expr
from asyncsim.ir.griddep import GriddepcontrolLaunchDependents as GriddepcontrolLaunchDependents
from asyncsim.ir.griddep import GriddepcontrolWait as GriddepcontrolWait
from asyncsim.ir.griddep import GridDependencyOp as GridDependencyOp
from asyncsim.ir.matrix import LdMatrix as LdMatrix
from asyncsim.ir.matrix import MatrixMove as MatrixMove
from asyncsim.ir.matrix import MatrixOp as MatrixOp
from asyncsim.ir.matrix import MmaSync as MmaSync
from asyncsim.ir.matrix import StMatrix as StMatrix
from asyncsim.ir.operand import FenceSpace as FenceSpace
from asyncsim.ir.operand import FragmentRef as FragmentRef
from asyncsim.ir.operand import GlobalView as GlobalView
from asyncsim.ir.operand import GroupKind as GroupKind
from asyncsim.ir.operand import MaxNRegDirection as MaxNRegDirection
from asyncsim.ir.operand import MbarrierRef as MbarrierRef
from asyncsim.ir.operand import MemScope as MemScope
from asyncsim.ir.operand import OpBase as OpBase
from asyncsim.ir.operand import ReduceOp as ReduceOp
from asyncsim.ir.operand import Scope as Scope
from asyncsim.ir.operand import SmemView as SmemView
from asyncsim.ir.operand import TmemView as TmemView
from asyncsim.ir.order import Fence as Fence
from asyncsim.ir.order import FenceProxyTensormap as FenceProxyTensormap
from asyncsim.ir.order import FenceScope as FenceScope
from asyncsim.ir.order import OrderOp as OrderOp
from asyncsim.ir.order import TensormapReplace as TensormapReplace
from asyncsim.ir.tcgen05 import Tcgen05Alloc as Tcgen05Alloc
from asyncsim.ir.tcgen05 import Tcgen05Commit as Tcgen05Commit
from asyncsim.ir.tcgen05 import Tcgen05Cp as Tcgen05Cp
from asyncsim.ir.tcgen05 import Tcgen05Dealloc as Tcgen05Dealloc
from asyncsim.ir.tcgen05 import Tcgen05Fence as Tcgen05Fence
from asyncsim.ir.tcgen05 import Tcgen05Ld as Tcgen05Ld
from asyncsim.ir.tcgen05 import Tcgen05Mma as Tcgen05Mma
from asyncsim.ir.tcgen05 import Tcgen05Op as Tcgen05Op
from asyncsim.ir.tcgen05 import Tcgen05RelinquishAllocPermit as Tcgen05RelinquishAllocPermit
from asyncsim.ir.tcgen05 import Tcgen05Shift as Tcgen05Shift
from asyncsim.ir.tcgen05 import Tcgen05St as Tcgen05St
from asyncsim.ir.tcgen05 import Tcgen05Wait as Tcgen05Wait

# -- mbarrier ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierInit(OpBase):
    mbarrier: MbarrierRef
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierInval(OpBase):
    mbarrier: MbarrierRef


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierArrive(OpBase):
    """``state``: the register that keeps what the arrive returns, the phase that it counts in.

    Releases at scope ``memory``; ``relaxed`` releases nothing. ``drop``: later phases need so many
    fewer (mbarrier.arrive_drop). ``no_complete``: it must not complete the phase.
    """

    mbarrier: MbarrierRef
    count: int = 1
    state: str | None = None
    memory: MemScope = MemScope.CTA
    relaxed: bool = False
    drop: bool = False
    no_complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierExpectTx(OpBase):
    mbarrier: MbarrierRef
    bytes: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierCompleteTx(OpBase):
    """mbarrier.complete_tx: bytes count as landed, without a copy; orders phases and no data."""

    mbarrier: MbarrierRef
    bytes: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierArriveExpectTx(OpBase):
    mbarrier: MbarrierRef
    bytes: Expr
    state: str | None = None
    memory: MemScope = MemScope.CTA
    relaxed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierWait(OpBase):
    """Blocking wait (a try_wait loop) until the phase with ``parity`` has completed.

    ``peek``: the token of a test_wait of the same phase; if that passed, this wait does not happen.
    Acquires at scope ``memory``; ``relaxed`` acquires nothing.
    """

    mbarrier: MbarrierRef
    parity: Expr
    memory: MemScope = MemScope.CTA
    relaxed: bool = False
    peek: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierTestWait(OpBase):
    """mbarrier.test_wait, a peek: ``token`` keeps whether the phase with ``parity`` has completed.

    It never blocks. Where it passes it acquires as a wait does; that alone orders nothing in every
    execution, but the wait that its token lets a thread skip does.
    """

    mbarrier: MbarrierRef
    parity: Expr
    token: str
    memory: MemScope = MemScope.CTA
    relaxed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierWaitState(OpBase):
    """Blocking wait until the phase has completed in which the arrive that returned ``state``
    counted. Each lane waits by its own state.

    Acquires at scope ``memory``; ``relaxed`` acquires nothing.
    """

    mbarrier: MbarrierRef
    state: str
    memory: MemScope = MemScope.CTA
    relaxed: bool = False


# -- copies ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CpAsync(OpBase):
    """cp.async of 4, 8 or 16 bytes a lane; ``src_bytes`` fewer zero-fills the rest."""

    dst: SmemView
    src: GlobalView
    bytes: int
    src_bytes: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpAsyncMbarrierArrive(OpBase):
    """cp.async.mbarrier.arrive: each lane arrives once its earlier cp.async are complete.

    Without ``noinc`` it raises the pending count by one first, so that the phase needs no fewer
    arrivals of others; with it, the arrival is one of those that the init counts.
    """

    mbarrier: MbarrierRef
    noinc: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TmaLoad(OpBase):
    """cp.async.bulk.tensor, global to shared, completing by bytes on an mbarrier.

    ``multicast``: a mask of CTA ranks; each of them gets the box at the same place of its own
    shared memory, and the bytes on its own barrier. ``rows``: tile::gather4, the three rows after
    ``src``; each lies one row further on in ``dst``. ``offsets``: by an im2col map; ``src`` is the
    first pixel, and each pixel is read so far from its place (of the filter, in a convolution).
    ``halo``: by a map of im2col::w, how many pixels more come after a run of them.
    """

    dst: SmemView
    tensor_map: str
    src: GlobalView
    mbarrier: MbarrierRef
    multicast: Expr | None = None
    rows: tuple[GlobalView, ...] = ()
    offsets: tuple[Expr, ...] = ()
    halo: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TmaStore(OpBase):
    """cp.async.bulk.tensor, shared to global, completing in a bulk group.

    ``reduce``: cp.reduce.async.bulk.tensor, an atomic operation for each element. ``rows``:
    tile::scatter4, the three rows after ``dst``.
    """

    dst: GlobalView
    tensor_map: str
    src: SmemView
    reduce: ReduceOp | None = None
    rows: tuple[GlobalView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitGroup(OpBase):
    kind: GroupKind


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitGroup(OpBase):
    """Wait until at most ``n`` most recent groups are pending; ``read``: sources read (bulk)."""

    kind: GroupKind
    n: int
    read: bool = False


# -- fences and barriers -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceMbarrierInit(OpBase):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceProxyAsync(OpBase):
    space: FenceSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class BarSync(OpBase):
    """bar.sync ``barrier``, ``threads``; barrier 0 with all threads is __syncthreads."""

    barrier: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BarArrive(OpBase):
    barrier: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BarWarpSync(OpBase):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMaxNReg(OpBase):
    """setmaxnreg: from here on each thread of the warpgroup may use ``count`` registers.

    ``dec`` gives the rest back to the CTA's pool; ``inc`` blocks until the pool has what it takes.
    Registers that are new hold nothing defined; those of fragments in use are kept.
    """

    direction: MaxNRegDirection
    count: int


# -- clusters ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierClusterArrive(OpBase):
    """barrier.cluster.arrive: every thread of the cluster arrives once a phase.

    ``relaxed`` releases nothing.
    """

    relaxed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierClusterWait(OpBase):
    """barrier.cluster.wait: until every thread of the cluster that has not exited has arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StAsync(OpBase):
    """st.async: each lane's registers to the shared memory of another CTA of the cluster; the
    bytes count on an mbarrier of that CTA."""

    dst: SmemView
    src: FragmentRef
    mbarrier: MbarrierRef


# -- tensor core -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class WgmmaFence(OpBase):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class WgmmaMmaAsync(OpBase):
    """wgmma.mma_async m64nNkK: d += a * b^T; ``a`` (64, K) and ``b`` (N, K) are K-major views.

    K is 32 bytes of an operand; integers are summed in 32 bits, which wrap.
    ``a`` may be registers of an OPERAND fragment (RS). ``trans_a``, ``trans_b``: an MN-major view,
    (K, 64) and (K, N), or panels of it side by side, (panels, K, elements of a swizzle span).
    ``accumulate`` 0 overwrites d (scale-d).
    """

    d: FragmentRef
    a: SmemView | FragmentRef
    b: SmemView
    n: int
    k: int
    accumulate: Expr
    trans_a: bool = False
    trans_b: bool = False


# -- plain memory and compute ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LdGlobal(OpBase):
    dst: FragmentRef
    src: GlobalView


@dataclass(frozen=True, slots=True, kw_only=True)
class StGlobal(OpBase):
    """``clip``: predicated, elements outside the tensor are not stored."""

    dst: GlobalView
    src: FragmentRef
    clip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LdShared(OpBase):
    dst: FragmentRef
    src: SmemView


@dataclass(frozen=True, slots=True, kw_only=True)
class StShared(OpBase):
    dst: SmemView
    src: FragmentRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute(OpBase):
    defn: ComputeDef
    operands: tuple[FragmentRef | SmemView | Expr, ...]


MbarrierArriveOp = MbarrierArrive | MbarrierArriveExpectTx
MbarrierWaitOp = MbarrierWait | MbarrierWaitState
MbarrierTxOp = MbarrierExpectTx | MbarrierCompleteTx
MbarrierOp = (
    MbarrierInit
    | MbarrierInval
    | MbarrierArriveOp
    | MbarrierTxOp
    | MbarrierWaitOp
    | MbarrierTestWait
)
CopyOp = CpAsync | CpAsyncMbarrierArrive | TmaLoad | TmaStore | CommitGroup | WaitGroup
SyncOp = FenceMbarrierInit | FenceProxyAsync | BarSync | BarArrive | BarWarpSync | SetMaxNReg
ClusterOp = BarrierClusterArrive | BarrierClusterWait | StAsync
TensorOp = WgmmaFence | WgmmaMmaAsync
MemoryOp = LdGlobal | StGlobal | LdShared | StShared | Compute
LoadOp = TmaLoad | BulkLoad
StoreOp = TmaStore | BulkStore
TileOp = ClcTryCancel | ClcQueryCancel | AtomAdd
OtherOp = BulkOp | OrderOp | GridDependencyOp | TileOp
ComputeOp = TensorOp | Tcgen05Op | MatrixOp | MemoryOp
Op = MbarrierOp | CopyOp | OtherOp | SyncOp | ClusterOp | ComputeOp
