"""The state of a cluster and its CTAs while it is evaluated: memory, barriers, groups, flights."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from asyncsim.evaluate.arrays import Array, numpy_dtype
from asyncsim.evaluate.maps import ChangedMaps
from asyncsim.evaluate.order import Landing, Order
from asyncsim.evaluate.tensor_memory import TensorMemory
from asyncsim.evaluate.tiles import HandedOut
from asyncsim.ir.decl import Fragment, FragmentLayout, Mbarrier, SmemTile
from asyncsim.ir.op import FragmentRef, GroupKind, OpBase
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.tcgen05 import Tcgen05Access
from asyncsim.stream.assignment import Assignment
from asyncsim.sync import (
    BLOCK,
    ArriveState,
    ClusterBarrierState,
    GroupQueue,
    MbarrierState,
    NamedBarrierState,
    WarpgroupCollective,
)

NAMED_BARRIERS = 16


@dataclass(slots=True)
class Flight:
    """An asynchronous op between issue and landing. ``effect`` is what landing does."""

    op: OpBase
    effect: Callable[[], None]
    launched: bool = False
    landed: bool = False

    def land(self) -> None:
        if not self.landed:
            self.landed = True
            self.effect()


@dataclass(frozen=True, slots=True)
class Blocked:
    """A warp stands at ``op`` until ``ready()``; ``why`` says what is missing."""

    op: OpBase
    ready: Callable[[], bool]
    why: Callable[[], str]


@dataclass(slots=True)
class Warpgroup:
    """Four warps and the matrix ops that they have issued, whole or in part."""

    collective: WarpgroupCollective
    flights: list[Flight] = field(default_factory=list)
    landed: int = 0

    def land_through(self, index: int) -> None:
        """Land the matrix ops up to ``index``, in order: they share accumulators."""
        while self.landed <= index:
            self.flights[self.landed].land()
            self.landed += 1


@dataclass(slots=True)
class TensorPipe:
    """What a thread has issued to its tensor core: it completes in order."""

    flights: deque[Flight] = field(default_factory=deque)

    def land_through(self, flight: Flight) -> None:
        while not flight.landed:
            self.flights.popleft().land()


class Cta:
    """One CTA, reset for the next one in place, so that bound ops can keep the arrays.

    Tiles are logical: the swizzle permutes bytes inside a stage and cancels between writer and
    reader. Shared memory and registers start as zero.
    """

    def __init__(
        self, schedule: Schedule, tensors: dict[str, Array], order: Order, cluster: Cluster
    ) -> None:
        self.schedule, self.tensors, self.order = schedule, tensors, order
        self.cluster = cluster
        self.tiles = {
            t.name: np.zeros((t.stages, *t.shape), numpy_dtype(t.dtype))
            for t in schedule.of_kind(SmemTile)
        }
        self.mbarriers: dict[str, list[MbarrierState]] = {
            b.name: [] for b in schedule.of_kind(Mbarrier)
        }
        self.named: list[NamedBarrierState] = []
        self.states: dict[tuple[int, bool, str], ArriveState] = {}  # warp, elected, register
        self.maps = ChangedMaps(tensors)
        self._queues: dict[tuple[int, bool, GroupKind], GroupQueue] = {}
        self._warpgroups: dict[int, Warpgroup] = {}
        self._registers: dict[tuple[str, int], Array] = {}
        self.tensor_memory = TensorMemory()
        self._pipes: dict[int, TensorPipe] = {}
        self._accesses: dict[tuple[int, Tcgen05Access], list[Flight]] = {}
        self.reset()

    def reset(self) -> None:
        for array in (*self.tiles.values(), *self._registers.values()):
            array.fill(0)
        for name, states in self.mbarriers.items():
            stages = self.schedule.mbarrier(name).stages
            states[:] = [MbarrierState() for _ in range(stages)]
        self.named[:] = [NamedBarrierState(whole=i == BLOCK) for i in range(NAMED_BARRIERS)]
        self.states.clear()
        self.maps.reset()
        self._queues.clear()
        self._warpgroups.clear()
        self.tensor_memory.reset()
        self._pipes.clear()
        self._accesses.clear()

    def launch(self, flight: Flight) -> None:
        """Start an asynchronous op; under LATE it stays in flight."""
        flight.launched = True
        if self.order.landing is Landing.ISSUE:
            flight.land()
        else:
            self.cluster.in_flight.append(flight)

    def issue(self, warp: int, flight: Flight) -> None:
        """Start an op of the tensor pipe of a warp's elected lane, behind those before it."""
        pipe = self._pipes.setdefault(warp, TensorPipe())
        pipe.flights.append(flight)
        self.launch(Flight(flight.op, lambda: pipe.land_through(flight)))

    def accesses(self, warp: int, what: Tcgen05Access) -> list[Flight]:
        """The loads or stores of tensor memory that a warp has not waited for."""
        return self._accesses.setdefault((warp, what), [])

    def queues(
        self, warp: int, kind: GroupKind, observers: tuple[bool, ...]
    ) -> tuple[GroupQueue, ...]:
        """The group queues of the observers that execute an op: elected lane, other lanes."""
        if kind is GroupKind.WGMMA:
            observers = (True,)
        return tuple(
            self._queues.setdefault((warp, observer, kind), GroupQueue()) for observer in observers
        )

    def warpgroup(self, warp: int) -> Warpgroup:
        index = warp // 4
        found = self._warpgroups.get(index)
        if found is None:
            warps = tuple(range(4 * index, 4 * index + 4))
            found = self._warpgroups[index] = Warpgroup(WarpgroupCollective(warps))
        return found

    def accumulator(self, fragment: Fragment, warp: int) -> Array:
        """The (64, N) matrix that a warpgroup's accumulator (or operand) fragment holds."""
        key = (fragment.name, warp // 4)
        if key not in self._registers:
            shape = (64, 2 * fragment.registers)
            self._registers[key] = np.zeros(shape, numpy_dtype(fragment.dtype))
        return self._registers[key]

    def registers(self, ref: FragmentRef, warp: int) -> Array:
        """Registers of a warp as (32, count): a view for private ones, a copy for an accumulator
        (write it back with ``write_registers``)."""
        fragment = self.schedule.fragment(ref.name)
        part = slice(ref.first, ref.first + ref.count)
        if fragment.by_warpgroup:
            view = accumulator_view(self.accumulator(fragment, warp), warp, run_of(fragment))
            return view.reshape(32, fragment.registers)[:, part]
        key = (ref.name, warp)
        if key not in self._registers:
            shape = (32, fragment.registers)
            self._registers[key] = np.zeros(shape, numpy_dtype(fragment.dtype))
        return self._registers[key][:, part]

    def write_registers(self, ref: FragmentRef, warp: int, lanes: slice, values: Array) -> None:
        """Store values (lanes or 1, count) to some lanes of a fragment."""
        fragment = self.schedule.fragment(ref.name)
        if not fragment.by_warpgroup:
            self.registers(ref, warp)[lanes] = values
            return
        view = accumulator_view(self.accumulator(fragment, warp), warp, run_of(fragment))
        held = view.reshape(32, fragment.registers)  # a copy
        held[lanes, ref.first : ref.first + ref.count] = values
        view[...] = held.reshape(view.shape)


class Cluster:
    """The CTAs that run together, by rank (one, without clusters), and what they share."""

    def __init__(
        self,
        schedule: Schedule,
        tensors: dict[str, Array],
        order: Order,
        assignment: Assignment = (),
    ) -> None:
        self.handed_out = HandedOut(schedule, assignment)
        self.in_flight: list[Flight] = []
        self.ctas = [Cta(schedule, tensors, order, self) for _ in range(schedule.cluster_ctas)]
        self._warps = schedule.warps * len(self.ctas)
        self.barrier = ClusterBarrierState(self._warps)
        self._turns: dict[tuple[int, int], int] = {}

    def come(self, rank: int, op_id: int) -> int:
        """A CTA comes to an op that it executes together with its peer; how often it has before."""
        turn = self.turns(rank, op_id)
        self._turns[rank, op_id] = turn + 1
        return turn

    def turns(self, rank: int, op_id: int) -> int:
        """How often a CTA has come to such an op."""
        return self._turns.get((rank, op_id), 0)

    def ended(self, warp: int) -> None:
        """A warp, numbered through the CTAs, has ended: no barrier for all threads waits for it."""
        self.barrier.exit(warp)
        for barrier in self.ctas[warp * len(self.ctas) // self._warps].named:
            barrier.exit()

    def reset(self) -> None:
        self.in_flight.clear()
        self._turns.clear()
        self.barrier = ClusterBarrierState(self._warps)
        for cta in self.ctas:
            cta.reset()


def run_of(fragment: Fragment) -> int:
    """Neighbours in a row that one lane holds: a register of an operand, two of an accumulator."""
    return 2 if fragment.layout is FragmentLayout.ACCUMULATOR else fragment.packed


def accumulator_view(matrix: Array, warp: int, run: int = 2) -> Array:
    """A (64, N) matrix as warp ``warp`` holds it: (lane/4, lane%4, N/(4 run), half, run).

    Flattened to (32, N/2) it is lane by element: row 16*warp + lane/4 + 8*half, the columns of a
    run side by side, those of four lanes after each other (PTX ISA, wgmma register fragments).
    """
    rows = matrix[16 * (warp % 4) : 16 * (warp % 4) + 16]
    return rows.reshape(2, 8, -1, 4, run).transpose(1, 3, 2, 0, 4)
