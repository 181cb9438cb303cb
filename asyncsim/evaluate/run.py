"""Runs the CTAs of a schedule, one after the other, each warp's stream in turn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array, numpy_dtype
from asyncsim.evaluate.binder import Binder
from asyncsim.evaluate.cta import Blocked, Cta
from asyncsim.evaluate.errors import EvaluateError
from asyncsim.evaluate.order import Order
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.pending import refuse_pending
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule
from asyncsim.stream.program import Program, run_checked
from asyncsim.sync import SyncFault

MAX_WARP_OPS = 100_000_000


def evaluate(
    schedule: Schedule,
    inputs: dict[str, Array],
    *,
    ctas: Sequence[int] | None = None,
    order: Order | None = None,
) -> dict[str, Array]:
    """The output tensors, by name, after the given CTAs (linear indices, x fastest; all if None).

    ``inputs`` come from ``make_inputs``; an output named in it starts as given, else as zero.
    ``order`` chooses among the legal orders. Raises EvaluateError when the schedule hangs or does
    what the hardware leaves undefined, and ScheduleError on an access out of bounds.
    """
    refuse_pending(schedule, "evaluate")
    tensors = {t.name: _tensor(t, inputs) for t in schedule.of_kind(GlobalTensor)}
    order = order or Order()
    cta = Cta(schedule, tensors, order)
    rng = random.Random(order.seed) if order.seed is not None else None
    program = Program(schedule)
    binders = [Binder(cta, warp) for warp in range(schedule.warps)]
    for index in range(schedule.ctas) if ctas is None else ctas:
        if not 0 <= index < schedule.ctas:
            raise ScheduleError(
                f"CTA {index} of {schedule.ctas}", fix=f"give indices 0..{schedule.ctas - 1}"
            )
        cta.reset()
        _CtaRun(program, cta, binders, _coordinates(schedule, index), rng).run()
    return {t.name: tensors[t.name] for t in schedule.of_kind(GlobalTensor) if t.output}


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


def _coordinates(schedule: Schedule, index: int) -> tuple[int, int, int]:
    x, y, _ = schedule.grid
    return index % x, index // x % y, index // (x * y)


class _CtaRun:
    """One CTA: round robin over the warps until all have ended."""

    def __init__(
        self,
        program: Program,
        cta: Cta,
        binders: list[Binder],
        block: tuple[int, int, int],
        rng: random.Random | None,
    ) -> None:
        self._program, self._cta, self._block, self._rng = program, cta, block, rng
        self._streams: dict[int, Iterator[tuple[Blocked | None, tuple[int, ...]]]] = {
            warp: run_checked(program.bound(binder, block, warp), MAX_WARP_OPS)
            for warp, binder in enumerate(binders)
        }
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
            raise EvaluateError(
                f"CTA {self._block}, {self._who(warp)}: {error}", error.rule
            ) from None
        if turn is None or ran < turn:
            del self._streams[warp]
        return True

    def _land_one(self) -> bool:
        flights = self._cta.in_flight
        while flights:
            flight = flights.pop(self._rng.randrange(len(flights)) if self._rng else 0)
            if flight.landed:
                continue
            try:
                flight.land()
            except SyncFault as fault:
                raise EvaluateError(
                    f"CTA {self._block}: landing of {type(flight.op).__name__} at "
                    f"{flight.op.loc}: {fault.message}",
                    fault.rule,
                ) from None
            return True
        return False

    def _who(self, warp: int) -> str:
        place = self._program.place(self._block, warp)
        return f"{place.role}/{place.warp_in_role}"

    def _deadlock(self) -> str:
        """Every blocked role once, with the warps that wait for the same thing."""
        waits: dict[tuple[str, str], list[int]] = {}
        for warp, b in sorted(self._blocked.items()):
            place = self._program.place(self._block, warp)
            reason = f"{type(b.op).__name__} at {b.op.loc}, {b.why()}"
            waits.setdefault((place.role, reason), []).append(place.warp_in_role)
        lines = (
            f"{role}/{','.join(map(str, warps))} waits in {reason}"
            for (role, reason), warps in waits.items()
        )
        return f"deadlock in CTA {self._block}: {'; '.join(lines)}"
