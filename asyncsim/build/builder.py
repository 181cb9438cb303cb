"""ScheduleBuilder: trace a schedule with ordinary Python calls.

Loops, conditions and roles are context managers; ops are grouped by PTX family (``k.mbarrier``,
``k.tma``, ``k.cp_async``, ``k.wgmma``, ``k.bar``, ``k.fence``, ``k.mem``). See docs/language.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from asyncsim.build import families
from asyncsim.build.block import Block, entered, refuse_missed
from asyncsim.build.bulk import BulkFamily
from asyncsim.build.clc import ClcFamily
from asyncsim.build.cluster import ClusterBarrierFamily
from asyncsim.build.declare import Declarations, check_name, ctas_of
from asyncsim.build.griddep import GriddepcontrolFamily
from asyncsim.build.handles import MbarrierArray
from asyncsim.build.matrix import MatrixFamily
from asyncsim.build.mbarrier import MbarrierFamily
from asyncsim.build.pipeline import Pipeline, PipelineState
from asyncsim.build.places import Places
from asyncsim.build.tcgen05 import Tcgen05Family
from asyncsim.build.tma import TmaFamily
from asyncsim.build.value import Index, Value, as_expr, whole, word
from asyncsim.build.var import Var_ as Var_
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError, SourceLoc
from asyncsim.ir.expr import Arg, Expr, Var, is_lane_varying
from asyncsim.ir.op import FragmentRef, OpBase, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Role, Set, Specialize, Stmt, When
from asyncsim.ir.validate import validate
from asyncsim.memory.layout import place

MAX_STATEMENTS = 100_000

_PARTS = {Scope.ELECTED: ("one lane", "elect"), Scope.OTHERS: ("some lanes", "others")}

OpT = TypeVar("OpT", bound=OpBase)


class ScheduleBuilder(Declarations, Places):
    """Trace one kernel.

    ``archs`` are the architectures that the schedule is written for, e.g. ``("sm_90a",)``.
    Raises ScheduleError, with the user's line, from the call that is wrong or from ``finish()``.
    """

    def __init__(self, name: str, *, archs: Sequence[str] = ("sm_90a",)) -> None:
        super().__init__()
        check_name(name)
        self.name = name
        self._archs = tuple(archs)
        self._grid = (1, 1, 1)
        self._cluster = (1, 1, 1)
        self._ctas_per_sm = 1
        self._maxnreg = 0
        self._warps = 0
        self._body: list[Stmt] = []
        self._open: list[list[Stmt]] = [self._body]
        self._lanes = Scope.ALL_LANES  # who runs the open block: all lanes, the elected, the others
        self._role_warps = 0  # warps of the open role; 0 in the common part
        self._var_depth: dict[str, int] = {}
        self._elect_depth = 0
        self._roles: list[Role] | None = None
        self._specializing = False
        self._statements = 0
        self._next_op = 0
        self._finished = False
        self._missed: list[Block[Any]] = []
        self.mbarrier = MbarrierFamily(self)
        self.tma = TmaFamily(self)
        self.cp_async = families.CpAsyncFamily(self)
        self.bulk = BulkFamily(self)
        self.clc = ClcFamily(self)
        self.griddepcontrol = GriddepcontrolFamily(self)
        self.wgmma = families.WgmmaFamily(self)
        self.mma = MatrixFamily(self)
        self.ldmatrix, self.stmatrix = self.mma.ldmatrix, self.mma.stmatrix
        self.tcgen05 = Tcgen05Family(self)
        self.bar = families.BarFamily(self)
        self.cluster_barrier = ClusterBarrierFamily(self)
        self.setmaxnreg = families.SetMaxNRegFamily(self)
        self.fence = families.FenceFamily(self)
        self.mem = families.MemFamily(self)

    # -- values --------------------------------------------------------------------------------

    def arg(self, name: str, value: int) -> Value:
        """A kernel argument: a parameter of the CUDA code, bound to ``value`` for this schedule."""
        self._new_name(name)
        self._args.append((name, word(f"argument {name!r}", value)))
        return Value(Arg(name))

    def var(self, name: str, value: Index = 0) -> Var_:
        """A role-local integer that ``set`` can change; starts as ``value``."""
        unique = self._new_var(name)
        self._add(Set(var=unique, value=self._uniform(value), declare=True, loc=caller()))
        return Var_(self, unique)

    def pipeline_state(
        self, stages: int, *, producer: bool = False, start: int = 0, name: str = ""
    ) -> PipelineState:
        """A stage index, from ``start`` on, and a phase bit over two vars; a producer's phase
        starts at 1. Raises ScheduleError for a start that is no stage."""
        if not 0 <= start < max(stages, 1):
            raise ScheduleError(
                f"a pipeline state of {stages} stages starts at {start}",
                fix=f"start at 0 to {max(stages, 1) - 1}",
                loc=caller(),
            )
        phase = int(producer)
        return PipelineState(self, whole(stages), start_stage=start, start_phase=phase, name=name)

    def pipeline(self, full: MbarrierArray, empty: MbarrierArray) -> Pipeline:
        """CUTLASS's verbs over a full and an empty barrier array; adds no ops of its own."""
        return Pipeline(self, full, empty)

    # -- launch --------------------------------------------------------------------------------

    def grid(self, x: int, y: int = 1, z: int = 1) -> None:
        """The number of CTAs per dimension."""
        self._grid = ctas_of("grid", x, y, z)

    def cluster(self, x: int, y: int = 1, z: int = 1) -> None:
        """The CTAs of a cluster per dimension; they divide the grid."""
        self._cluster = ctas_of("cluster", x, y, z)

    def block(self, warps: int, *, ctas_per_sm: int = 1) -> None:
        """Warps of a CTA (the roles' warps if not given) and the declared launch bound."""
        self._warps, self._ctas_per_sm = whole(warps), whole(ctas_per_sm)

    def launch_bounds(self, ctas_per_sm: int = 1, *, maxnreg: int = 0) -> None:
        """CTAs per SM that registers are limited for (``__launch_bounds__``'s second number).

        ``maxnreg``: registers of a thread at launch (``__maxnreg__``), a multiple of 8; all warps
        together are the pool that ``k.setmaxnreg`` moves registers in.
        """
        self._ctas_per_sm, self._maxnreg = whole(ctas_per_sm), whole(maxnreg)

    # -- structure -----------------------------------------------------------------------------

    @entered
    def loop(
        self,
        trip_count: Index,
        *,
        name: str = "i",
        unroll: int = 1,
        assigned: bool = False,
        ticket: FragmentRef | None = None,
    ) -> Iterator[Value]:
        """``for i in range(trip_count)``; ``assigned``: over the tiles that the cluster is given
        while the kernel runs; ``ticket``: the register with the next one when a round ends."""
        loc = caller()
        if unroll < 1:
            raise ScheduleError(f"unroll = {unroll}", fix="give at least 1", loc=loc)
        var = self._new_var(name)
        count = self._uniform(trip_count)
        with self._inner() as body:
            yield Value(Var(var))
        given = assigned or ticket is not None
        loop = For(var=var, trip_count=count, body=tuple(body), unroll=unroll, loc=loc)
        self._add(replace(loop, assigned=given, ticket=ticket))

    @entered
    def when(self, condition: Index) -> Iterator[None]:
        """``if condition``; the condition must be the same in all lanes of a warp."""
        loc = caller()
        test = self._uniform(condition)
        with self._inner() as body:
            yield
        self._add(When(condition=test, body=tuple(body), loc=loc))

    @entered
    def elect(self) -> Iterator[None]:
        """One lane of each warp runs the body (``elect.sync``)."""
        with self._elect(of_role=False):
            yield

    @entered
    def elect_thread(self) -> Iterator[None]:
        """One thread of the role (of the block, outside roles) runs the body."""
        with self._elect(of_role=True):
            yield

    @entered
    def others(self) -> Iterator[None]:
        """The lanes, or threads, that the election just above did not pick run the body."""
        before = self._open[-1][-1] if self._open[-1] else None
        if not isinstance(before, Elect) or before.others:
            raise ScheduleError(
                "others() does not follow an election",
                fix="write it right after `with k.elect():` or `with k.elect_thread():`",
                loc=caller(),
            )
        with self._by(Scope.OTHERS) as body:
            yield
        self._open[-1][-1] = replace(before, others=tuple(body))

    @contextmanager
    def _elect(self, *, of_role: bool) -> Iterator[None]:
        loc = caller()
        if self._lanes is not Scope.ALL_LANES:
            raise ScheduleError(
                "elect inside elect: one lane is running already", fix="drop the inner one", loc=loc
            )
        with self._by(Scope.ELECTED) as body:
            yield
        self._add(Elect(body=tuple(body), of_role=of_role, loc=loc))

    @contextmanager
    def _by(self, lanes: Scope) -> Iterator[list[Stmt]]:
        """A block that ``lanes`` run."""
        self._lanes = lanes
        self._elect_depth += 1
        with self._inner() as body:
            yield body
        self._elect_depth -= 1
        self._lanes = Scope.ALL_LANES

    @contextmanager
    def _inner(self) -> Iterator[list[Stmt]]:
        """What is added in the meantime, as a block of its own."""
        body: list[Stmt] = []
        self._open.append(body)
        yield body
        self._open.pop()

    @entered
    def specialize(self) -> Iterator[None]:
        """Warp specialisation: the ``role`` blocks inside own the warps, in order."""
        loc = caller()
        if self._roles is not None or len(self._open) > 1:
            raise ScheduleError(
                "specialize stands once, at the top level of a schedule",
                loc=loc,
                fix="merge the roles into one specialize block",
            )
        self._roles = []
        self._specializing = True
        yield
        self._specializing = False
        self._open[-1].append(Specialize(roles=tuple(self._roles), loc=loc))

    @entered
    def role(self, name: str, *, warps: int) -> Iterator[None]:
        """A role of ``warps`` warps, after those of the roles before it."""
        loc = caller()
        if self._roles is None or self._role_warps:
            raise ScheduleError(
                f"role {name!r} outside specialize",
                fix="write `with k.specialize():` around roles",
                loc=loc,
            )
        check_name(name)
        if name == "block" or any(r.name == name for r in self._roles):
            raise ScheduleError(
                f"role name {name!r} is taken", fix="give each role a name of its own", loc=loc
            )
        if warps < 1:
            raise ScheduleError(f"role {name!r} has {warps} warps", fix="give at least 1", loc=loc)
        first = sum(r.warps for r in self._roles)
        self._role_warps = warps
        outside = dict(self._var_depth)
        with self._inner() as body:
            yield
        self._var_depth = outside
        self._role_warps = 0
        self._roles.append(
            Role(name=name, first_warp=first, warps=whole(warps), body=tuple(body), loc=loc)
        )

    def finish(self) -> Schedule:
        """The frozen schedule: laid out and validated. Raises ScheduleError."""
        if self._finished:
            raise ScheduleError("finish() was called twice", fix="build a new ScheduleBuilder")
        if self._specializing or len(self._open) > 1:
            raise ScheduleError("finish() inside a block", fix="call it last", loc=caller())
        refuse_missed(self._missed)
        self._finished = True
        warps = self._warps or sum(r.warps for r in self._roles or ()) or 1
        decls, smem_bytes = place(tuple(self._decls))
        schedule = Schedule(
            name=self.name,
            archs=self._archs,
            args=tuple(self._args),
            decls=decls,
            grid=self._grid,
            warps=warps,
            body=tuple(self._body),
            smem_bytes=smem_bytes,
            ctas_per_sm=self._ctas_per_sm,
            cluster=self._cluster,
            maxnreg=self._maxnreg,
        )
        validate(schedule)
        return schedule

    # -- for the families ----------------------------------------------------------------------

    def emit(self, node: type[OpT], *, scope: Scope | None = None, **fields: object) -> None:
        """Append an op: ``scope`` None means those lanes that run the open block."""
        if scope in (Scope.WARP, Scope.WARPGROUP) and self._lanes is not Scope.ALL_LANES:
            some, block = _PARTS[self._lanes]
            raise ScheduleError(
                f"{node.__name__} is executed by whole warps, not by {some}",
                fix=f"move it out of {block}",
                loc=caller(),
            )
        op = node(id=self._next_op, scope=scope or self._lanes, loc=caller(), **fields)
        self._next_op += 1
        self._add(op)  # type: ignore[arg-type]

    def _new_var(self, name: str) -> str:
        """``name``, or name_2, name_3, ... where it is taken; roles do not see each other's."""
        check_name(name)
        unique, n = name, 1
        while unique in self._names or unique in self._var_depth:
            n += 1
            unique = f"{name}_{n}"
        self._var_depth[unique] = self._elect_depth
        return unique

    def set_var(self, name: str, value: Index) -> None:
        """What ``Var_.set`` does; ScheduleError inside an ``elect`` that the var does not know."""
        if self._elect_depth != self._var_depth[name]:
            raise ScheduleError(
                f"var {name!r} is set inside elect but lives outside: lanes would disagree",
                fix="declare the var inside elect, or set it outside",
                loc=caller(),
            )
        self._add(Set(var=name, value=self._uniform(value), loc=caller()))

    def _uniform(self, value: Index) -> Expr:
        expr = as_expr(value)
        if is_lane_varying(expr):
            raise ScheduleError(
                "this value differs from lane to lane; control and vars must be the same in a warp",
                fix="use warp_in_role, or elect for one lane",
                loc=caller(),
            )
        return expr

    def _add(self, statement: Stmt) -> None:
        self._statements += 1
        if self._statements > MAX_STATEMENTS:
            raise ScheduleError(
                f"more than {MAX_STATEMENTS} statements were traced",
                loc=caller(),
                fix="use k.loop instead of a Python loop",
            )
        if self._finished:
            raise ScheduleError("the schedule is finished", fix="call finish() last", loc=caller())
        if self._specializing and not self._role_warps:
            raise ScheduleError(
                "a statement inside specialize and outside its roles belongs to no warp",
                fix="put it into a role, or before specialize",
                loc=caller(),
            )
        self._open[-1].append(statement)


__all__ = ["ScheduleBuilder", "SourceLoc"]
