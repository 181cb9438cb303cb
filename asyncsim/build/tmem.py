"""Handles of tiles in tensor memory."""

from __future__ import annotations

from asyncsim.build.value import Index, as_expr, whole
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import TmemTile
from asyncsim.ir.expr import ZERO, Const, binary
from asyncsim.ir.op import TmemView


class TmemHandle:
    """A staged tile in tensor memory; ``acc[stage]`` names a stage."""

    def __init__(self, decl: TmemTile) -> None:
        self.decl = decl

    def __getitem__(self, stage: Index) -> TmemTileView:
        decl = self.decl
        full = TmemView(decl.name, as_expr(stage), (ZERO, ZERO), (decl.lanes, decl.columns))
        return TmemTileView(decl, full)


class TmemTileView:
    """A view of one stage; ``box`` narrows it."""

    def __init__(self, decl: TmemTile, view: TmemView) -> None:
        self.decl, self.view = decl, view

    def box(self, start: tuple[Index, Index], shape: tuple[int, int]) -> TmemTileView:
        """The part at ``start`` (lane, column) of extent ``shape``, relative to this view."""
        offsets = (as_expr(start[0]), as_expr(start[1]))
        for s, n, have, what in zip(
            offsets, shape, self.view.shape, ("lanes", "columns"), strict=True
        ):
            if isinstance(s, Const) and not (s.value >= 0 and s.value + n <= have):
                raise ScheduleError(
                    f"box at {s.value} of extent {n} leaves the {have} {what} of tile "
                    f"{self.decl.name!r}",
                    fix="stay inside the tile",
                    loc=caller(),
                )
        lane, column = self.view.start
        first = (binary("+", lane, offsets[0]), binary("+", column, offsets[1]))
        view = TmemView(self.view.tile, self.view.stage, first, (whole(shape[0]), whole(shape[1])))
        return TmemTileView(self.decl, view)
