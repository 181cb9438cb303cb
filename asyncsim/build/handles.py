"""What declarations hand out: handles that make operand references by indexing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asyncsim.build.value import Index, as_expr, whole
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import (
    Fragment,
    GlobalTensor,
    Mbarrier,
    NamedBarrier,
    SmemTile,
    StateRegister,
    TensorMap,
    TokenRegister,
)
from asyncsim.ir.expr import ZERO, Const, binary
from asyncsim.ir.matrix import LANE_BYTES
from asyncsim.ir.op import FragmentRef, GlobalView, MbarrierRef, SmemView


class MbarrierArray:
    """An mbarrier array; ``full[stage]`` names one."""

    def __init__(self, decl: Mbarrier) -> None:
        self.decl = decl

    def __getitem__(self, stage: Index) -> MbarrierRef:
        return MbarrierRef(self.decl.name, as_expr(stage))


class NamedBarrierHandle:
    """A hardware barrier, for ``k.bar.sync`` and ``k.bar.arrive``."""

    def __init__(self, decl: NamedBarrier) -> None:
        self.decl = decl


class StateHandle:
    """The register that keeps what an arrive returns."""

    def __init__(self, decl: StateRegister) -> None:
        self.decl = decl


class TokenHandle:
    """The bit that keeps whether a peek passed."""

    def __init__(self, decl: TokenRegister) -> None:
        self.decl = decl


class FragmentHandle:
    """Registers; ``acc.all`` names them all, ``acc.part(first, count)`` some."""

    def __init__(self, decl: Fragment) -> None:
        self.decl = decl

    @property
    def all(self) -> FragmentRef:
        """All registers."""
        return FragmentRef(self.decl.name, 0, self.decl.registers)

    def part(self, first: int, count: int) -> FragmentRef:
        """``count`` registers from ``first`` on."""
        return FragmentRef(self.decl.name, first, count)

    def matrices(self, first: int, count: int) -> FragmentRef:
        """``count`` matrices from ``first`` on, of a fragment of ``k.matrices``."""
        each = LANE_BYTES // self.decl.dtype.bytes
        return FragmentRef(self.decl.name, first * each, count * each)


class GlobalHandle:
    """A tensor; ``box(start, shape)`` names a part of it."""

    def __init__(self, decl: GlobalTensor) -> None:
        self.decl = decl

    def box(self, start: Sequence[Index], shape: Sequence[int]) -> GlobalView:
        """The part at ``start`` of extent ``shape``, in elements. ScheduleError on another rank."""
        _rank(self.decl.name, len(self.decl.shape), len(start), len(shape))
        return GlobalView(
            self.decl.name, tuple(as_expr(s) for s in start), tuple(whole(n) for n in shape)
        )


class TensorMapHandle:
    """A TMA descriptor; ``box(start)`` is the box that a copy moves."""

    def __init__(self, decl: TensorMap, tensor: GlobalTensor) -> None:
        self.decl, self.tensor = decl, tensor

    def box(self, start: Sequence[Index]) -> GlobalView:
        """The box that begins at ``start`` (elements, row-major order)."""
        if self.decl.im2col is not None:
            raise ScheduleError(
                f"{self.decl.name!r} is an im2col map, which has no boxes",
                fix="load by it with k.tma.load_im2col",
                loc=caller(),
            )
        _rank(self.tensor.name, len(self.tensor.shape), len(start), len(self.decl.box))
        return GlobalView(self.tensor.name, tuple(as_expr(s) for s in start), self.decl.box)

    def pixel(self, start: Sequence[Index]) -> GlobalView:
        """The first pixel of a load by an im2col map, with the channels that are loaded."""
        if self.decl.im2col is None:
            raise ScheduleError(
                f"{self.decl.name!r} is a map of boxes",
                fix="declare it with k.im2col_map",
                loc=caller(),
            )
        _rank(self.tensor.name, len(self.tensor.shape), len(start), len(start))
        shape = (*(1 for _ in start[1:]), self.decl.box[-1])
        return GlobalView(self.tensor.name, tuple(as_expr(s) for s in start), shape)


class SmemHandle:
    """A staged tile; ``tile[stage]`` names a stage."""

    def __init__(self, decl: SmemTile) -> None:
        self.decl = decl

    def __getitem__(self, stage: Index) -> TileView:
        full = SmemView(
            self.decl.name,
            as_expr(stage),
            (ZERO,) * len(self.decl.shape),
            self.decl.shape,
        )
        return TileView(self.decl, full)


class TileView:
    """A view of one stage: ``box`` narrows it, ``expecting`` says which global data is meant."""

    def __init__(self, decl: SmemTile, view: SmemView) -> None:
        self.decl, self.view = decl, view

    def box(self, start: Sequence[Index], shape: Sequence[int]) -> TileView:
        """The part at ``start`` (relative to this view) of extent ``shape``."""
        _rank(self.decl.name, len(self.decl.shape), len(start), len(shape))
        offsets = tuple(as_expr(s) for s in start)
        shape = tuple(whole(n) for n in shape)
        for s, n, have in zip(offsets, shape, self.view.shape, strict=True):
            if isinstance(s, Const) and not (s.value >= 0 and s.value + n <= have):
                raise ScheduleError(
                    f"box at {s.value} of extent {n} leaves the {have} elements of tile "
                    f"{self.decl.name!r}",
                    fix="stay inside the tile",
                    loc=caller(),
                )
        first = tuple(binary("+", a, b) for a, b in zip(self.view.start, offsets, strict=True))
        expects = self.view.expects
        if expects is not None:
            moved = tuple(binary("+", a, b) for a, b in zip(expects.start, offsets, strict=True))
            expects = GlobalView(expects.tensor, moved, shape)
        view = replace(self.view, start=first, shape=shape, expects=expects)
        return TileView(self.decl, view)

    def at(self, rank: Index) -> TileView:
        """The same view in the shared memory of another CTA of the cluster (mapa)."""
        return TileView(self.decl, replace(self.view, rank=as_expr(rank)))

    def expecting(self, data: GlobalView) -> TileView:
        """The reader means this global data; another tile found there is WRONG_TILE."""
        _rank(data.tensor, len(self.view.shape), len(data.start), len(data.shape))
        return TileView(self.decl, replace(self.view, expects=data))


def _rank(name: str, rank: int, *got: int) -> None:
    if any(n != rank for n in got):
        raise ScheduleError(
            f"{name!r} has {rank} dimensions, got {' and '.join(map(str, got))}",
            fix="give one start and one extent per dimension",
            loc=caller(),
        )
