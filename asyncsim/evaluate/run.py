"""Runs the clusters of a schedule, one after the other, each warp's stream in turn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array, numpy_dtype
from asyncsim.evaluate.binder import Binder
from asyncsim.evaluate.cta import Blocked, Cluster
from asyncsim.evaluate.errors import EvaluateError
from asyncsim.evaluate.order import Order
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.program import Program as Dependence
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.unheard import refuse_unheard
from asyncsim.rules import Rule
from asyncsim.stream.assignment import Assignment, cancels, checked
from asyncsim.stream.program import Program, WarpPlace, run_checked
from asyncsim.sync import SyncFault

MAX_WARP_OPS = 100_000_000

Block = tuple[int, int, int]


def evaluate(
    schedule: Schedule | Dependence,
    inputs: dict[str, Array],
    *,
    ctas: Sequence[int] | None = None,
    order: Order | None = None,
    assignment: Assignment | None = None,
) -> dict[str, Array]:
    """The output tensors, by name, after the given CTAs (linear indices, x fastest; all if None),
    each with the CTAs of its cluster.

    ``inputs`` come from ``make_inputs``; an output named in it starts as given, else as zero.
    ``order`` chooses among the legal orders, ``assignment`` among the ways to hand out tiles: those
    of each cluster; by default they are dealt in turn. Of a program: its kernels one after the
    other, all CTAs of both. Raises EvaluateError when the schedule hangs or does what the hardware
    leaves undefined, and ScheduleError on an access out of bounds.
    """
    if isinstance(schedule, Dependence):
        return _evaluate_both(schedule, inputs, order)
    refuse_unheard(schedule, "evaluate")
    tensors = {t.name: _tensor(t, inputs) for t in schedule.of_kind(GlobalTensor)}
    order = order or Order()
    rng = random.Random(order.seed) if order.seed is not None else None
    program = Program(schedule)
    given = program.assignment if assignment is None else checked(schedule, assignment)
    cluster = Cluster(schedule, tensors, order, given)
    taken_over = cancels(schedule)
    binders = [Binder(cta, warp) for cta in cluster.ctas for warp in range(schedule.warps)]
    for blocks in _clusters(schedule, range(schedule.ctas) if ctas is None else ctas):
        number = schedule.cluster_number(blocks[0])
        if taken_over and not given[number]:
            continue  # another one does its work
        cluster.reset()
        cluster.handed_out.begin(number)
        _ClusterRun(program, cluster, binders, blocks, rng).run()
    return {t.name: tensors[t.name] for t in schedule.of_kind(GlobalTensor) if t.output}


def _evaluate_both(
    program: Dependence, inputs: dict[str, Array], order: Order | None
) -> dict[str, Array]:
    """What the first kernel has written the second one finds."""
    written = evaluate(program.primary, inputs, order=order)
    return written | evaluate(program.dependent, inputs | written, order=order)


def _tensor(tensor: GlobalTensor, inputs: dict[str, Array]) -> Array:
    dtype = numpy_dtype(tensor.dtype)
    given = inputs.get(tensor.name)
    if given is None:
        if not tensor.output:
            raise ScheduleError(f"no input for tensor {tensor.name!r}", fix="use make_inputs")
        return np.zeros(tensor.shape, dtype)
    if given.shape != tensor.shape or given.dtype != dtype:
        raise ScheduleError(
            f"input {tensor.name!r} is {given.shape} {given.dtype}, the tensor {tensor.shape} "
            f"{dtype}",
            fix="use make_inputs",
        )
    return given.copy() if tensor.output else given


def _clusters(schedule: Schedule, ctas: Sequence[int]) -> Iterator[tuple[Block, ...]]:
    """The CTAs of each cluster that has one of ``ctas``, by rank; each cluster once."""
    x, y, _ = schedule.grid
    seen: set[Block] = set()
    for index in ctas:
        if not 0 <= index < schedule.ctas:
            raise ScheduleError(
                f"CTA {index} of {schedule.ctas}", fix=f"give indices 0..{schedule.ctas - 1}"
            )
        blocks = schedule.cluster_of((index % x, index // x % y, index // (x * y)))
        if len(blocks) == 1 or blocks[0] not in seen:
            seen.add(blocks[0])
            yield blocks


class _ClusterRun:
    """One cluster: round robin over the warps of its CTAs until all have ended."""

    def __init__(
        self,
        program: Program,
        cluster: Cluster,
        binders: list[Binder],
        blocks: tuple[Block, ...],
        rng: random.Random | None,
    ) -> None:
        self._program, self._cluster, self._blocks, self._rng = program, cluster, blocks, rng
        warps = program.schedule.warps
        self._streams: dict[int, Iterator[tuple[Blocked | None, tuple[int, ...]]]] = {}
        for i, binder in enumerate(binders):
            rank, warp = divmod(i, warps)
            given = cluster.handed_out.given(cluster.ctas[rank], warp)
            stream = program.bound(binder, blocks[rank], warp, given)
            self._streams[i] = run_checked(stream, MAX_WARP_OPS)
        self._blocked: dict[int, Blocked] = {}

    def run(self) -> None:
        while self._streams:
            warps = list(self._streams)
            if self._rng is not None:
                self._rng.shuffle(warps)
            moved = [self._advance(warp) for warp in warps]
            if not any(moved) and not self._land_one():
                raise EvaluateError(self._deadlock(), Rule.DEADLOCK)
        while self._land_one():
            pass
        for cta in self._cluster.ctas:
            left = cta.tensor_memory.allocator.used
            if left:
                raise EvaluateError(
                    f"CTA {self._blocks[0]}: ends with {left} columns of tensor memory allocated",
                    Rule.TMEM_LEAK,
                )

    def _advance(self, warp: int) -> bool:
        """Run a warp until it blocks, ends, or has had its turn; whether it moved."""
        blocked = self._blocked.get(warp)
        if blocked is not None:
            if not blocked.ready():
                return False
            del self._blocked[warp]
        turn = None if self._rng is None else self._rng.randint(1, 8)
        stream, ran = self._streams[warp], 0
        try:
            for blocked, _ in stream if turn is None else islice(stream, turn):
                ran += 1
                if blocked is not None:
                    self._blocked[warp] = blocked
                    return True
        except EvaluateError as error:
            place = self._place(warp)
            who = f"{place.role}/{place.warp_in_role}"
            raise EvaluateError(f"CTA {place.block}, {who}: {error}", error.rule) from None
        if turn is None or ran < turn:
            del self._streams[warp]
            self._cluster.ended(warp)
        return True

    def _land_one(self) -> bool:
        flights = self._cluster.in_flight
        while flights:
            flight = flights.pop(self._rng.randrange(len(flights)) if self._rng else 0)
            if flight.landed:
                continue
            try:
                flight.land()
            except SyncFault as fault:
                raise EvaluateError(
                    f"CTA {self._blocks[0]}: landing of {type(flight.op).__name__} at "
                    f"{flight.op.loc}: {fault.message}",
                    fault.rule,
                ) from None
            return True
        return False

    def _place(self, warp: int) -> WarpPlace:
        rank, own = divmod(warp, self._program.schedule.warps)
        return self._program.place(self._blocks[rank], own)

    def _deadlock(self) -> str:
        """Every blocked role once, with the warps that wait for the same thing."""
        waits: dict[tuple[int, str, str], list[int]] = {}
        for warp, b in sorted(self._blocked.items()):
            place = self._place(warp)
            reason = f"{type(b.op).__name__} at {b.op.loc}, {b.why()}"
            waits.setdefault((place.rank, place.role, reason), []).append(place.warp_in_role)
        ranks = len(self._blocks) > 1
        lines = (
            f"{f'CTA {rank} ' if ranks else ''}{role}/{','.join(map(str, warps))} waits in {reason}"
            for (rank, role, reason), warps in waits.items()
        )
        where = f"the cluster of CTA {self._blocks[0]}" if ranks else f"CTA {self._blocks[0]}"
        return f"deadlock in {where}: {'; '.join(lines)}"
