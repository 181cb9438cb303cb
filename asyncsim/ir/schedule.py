"""A finished schedule: frozen declarations and statements, plus look-ups that readers share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from asyncsim.ir.decl import (
    Decl,
    Fragment,
    GlobalTensor,
    Mbarrier,
    SmemTile,
    TensorMap,
    TmemTile,
)
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import FragmentRef, Op, OpBase, SmemView
from asyncsim.ir.stmt import Elect, For, Role, Specialize, Stmt, When

D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One kernel. ``grid`` counts CTAs; ``args`` bind the kernel arguments to values.

    ``cluster``: CTAs of a cluster per dimension; they divide the grid.
    smem_bytes: dynamic shared memory of a CTA, barriers included. ctas_per_sm: launch bound.
    maxnreg: registers of a thread at launch; 0 leaves them to the compiler.
    """

    name: str
    archs: tuple[str, ...]
    args: tuple[tuple[str, int], ...]
    decls: tuple[Decl, ...]
    grid: tuple[int, int, int]
    warps: int
    body: tuple[Stmt, ...]
    smem_bytes: int = 0
    ctas_per_sm: int = 1
    cluster: tuple[int, int, int] = (1, 1, 1)
    maxnreg: int = 0
    _by_name: dict[str, Decl] = field(default_factory=dict, compare=False, repr=False)
    _ops: tuple[Op, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._by_name.update({d.name: d for d in self.decls})
        ops = tuple(s for s in statements(self.body) if isinstance(s, OpBase))
        object.__setattr__(self, "_ops", ops)

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return 32 * self.warps

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        x, y, z = self.grid
        return x * y * z

    @property
    def cluster_ctas(self) -> int:
        """CTAs of a cluster."""
        x, y, z = self.cluster
        return x * y * z

    @property
    def assigned(self) -> tuple[For, ...]:
        """The loops over tiles that are handed out while the kernel runs."""
        return tuple(s for s in statements(self.body) if isinstance(s, For) and s.assigned)

    @property
    def clusters(self) -> tuple[int, int, int]:
        """Clusters of the grid per dimension."""
        (x, y, z), (cx, cy, cz) = self.grid, self.cluster
        return x // cx, y // cy, z // cz

    def rank(self, block: tuple[int, int, int]) -> int:
        """%cluster_ctarank of a CTA: its place in its cluster, x fastest."""
        (x, y, z), (cx, cy, cz) = block, self.cluster
        return x % cx + cx * (y % cy + cy * (z % cz))

    def cluster_number(self, block: tuple[int, int, int]) -> int:
        """The number of the cluster that a CTA is in, x fastest."""
        cx, cy, cz = (b // c for b, c in zip(block, self.cluster, strict=True))
        x, y, _ = self.clusters
        return cx + x * (cy + y * cz)

    def cluster_of(self, block: tuple[int, int, int]) -> tuple[tuple[int, int, int], ...]:
        """The CTAs of the cluster that a CTA is in, by rank."""
        x0, y0, z0 = (b - b % c for b, c in zip(block, self.cluster, strict=True))
        cx, cy, cz = self.cluster
        return tuple(
            (x0 + x, y0 + y, z0 + z) for z in range(cz) for y in range(cy) for x in range(cx)
        )

    def _get(self, name: str, kind: type[D]) -> D:
        decl = self._by_name[name]
        assert isinstance(decl, kind), (name, kind)
        return decl

    def tensor(self, name: str) -> GlobalTensor:
        """A tensor in global memory, by name."""
        return self._get(name, GlobalTensor)

    def tensor_map(self, name: str) -> TensorMap:
        """A TMA descriptor, by name."""
        return self._get(name, TensorMap)

    def tile(self, name: str) -> SmemTile:
        """A shared tile, by name."""
        return self._get(name, SmemTile)

    def tmem_tile(self, name: str) -> TmemTile:
        """A tile in tensor memory, by name."""
        return self._get(name, TmemTile)

    def mbarrier(self, name: str) -> Mbarrier:
        """An array of mbarriers, by name."""
        return self._get(name, Mbarrier)

    def fragment(self, name: str) -> Fragment:
        """Registers, by name."""
        return self._get(name, Fragment)

    def element_type(self, operand: SmemView | FragmentRef) -> DType:
        """The type of the elements of a view or of registers."""
        if isinstance(operand, FragmentRef):
            return self.fragment(operand.name).dtype
        return self.tile(operand.tile).dtype

    def of_kind(self, kind: type[D]) -> tuple[D, ...]:
        """The declarations of one kind, in order."""
        return tuple(d for d in self.decls if isinstance(d, kind))

    def roles(self) -> tuple[Role, ...]:
        """The roles in warp order; a schedule without Specialize has one role, "block"."""
        found = [r for s in statements(self.body) if isinstance(s, Specialize) for r in s.roles]
        if not found:
            return (Role(name="block", first_warp=0, warps=self.warps, body=self.body),)
        return tuple(sorted(found, key=lambda r: r.first_warp))

    def role_of(self, warp: int) -> Role | None:
        """The role that owns a warp; None for a warp that only runs the common part."""
        return next(
            (r for r in self.roles() if r.first_warp <= warp < r.first_warp + r.warps), None
        )

    def ops(self) -> Iterator[Op]:
        """Every op once, in program order."""
        return iter(self._ops)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, parents first, in program order."""
    for s in body:
        yield s
        if isinstance(s, OpBase):
            continue
        match s:
            case For(body=inner):
                yield from statements(inner)
            case Elect(body=inner, others=others):
                yield from statements(inner)
                yield from statements(others)
            case When(body=inner, orelse=other):
                yield from statements(inner)
                yield from statements(other)
            case Specialize(roles=roles):
                for role in roles:
                    yield from statements(role.body)
            case _:
                pass


def refuse_unfinished(reader: str, schedule: object) -> None:
    """Raise TypeError for what is no Schedule: mostly a builder, or a function that returns one."""
    if not isinstance(schedule, Schedule):
        raise TypeError(
            f"{reader} takes a Schedule, not {type(schedule).__name__}; call the function that "
            "builds it, and end that with `return k.finish()`"
        )
