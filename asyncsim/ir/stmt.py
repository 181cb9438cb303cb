"""Statements: loops, conditions, role-local integers, warp specialisation."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.errors import SourceLoc
from asyncsim.ir.expr import Expr
from asyncsim.ir.op import FragmentRef, Op


@dataclass(frozen=True, slots=True, kw_only=True)
class For:
    """``for var in range(trip_count)``; ``unroll`` is a hint to the renderer.

    ``assigned``: over those of ``range(trip_count)`` that the cluster is given while the kernel
    runs, in ascending order; all clusters together are given each once. A cluster begins with the
    tile of its own index, if there is one. ``ticket``: the register with the next one when a round
    ends, or with a number that is no tile; None: the schedule does not say.
    """

    var: str
    trip_count: Expr
    body: tuple[Stmt, ...]
    unroll: int = 1
    assigned: bool = False
    ticket: FragmentRef | None = None
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """``if condition``: uniform over the warp (no lane-varying values)."""

    condition: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """``var = value``; ``declare`` marks the first assignment."""

    var: str
    value: Expr
    declare: bool = False
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Elect:
    """The body is run by one lane: of each warp, or of warp 0 of the role only (``of_role``).

    ``others`` is run by all the lanes that were not elected: those of warps without an elected one
    too. The two parts are the branches of one election; neither waits for the other.
    """

    body: tuple[Stmt, ...]
    of_role: bool = False
    others: tuple[Stmt, ...] = ()
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A range of warps with a program of its own."""

    name: str
    first_warp: int
    warps: int
    body: tuple[Stmt, ...]
    loc: SourceLoc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Specialize:
    """Each warp runs the role that owns it. There is no implicit join afterwards."""

    roles: tuple[Role, ...]
    loc: SourceLoc | None = None


Stmt = Op | For | When | Set | Elect | Specialize
