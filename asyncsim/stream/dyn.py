"""Dynamic ops: one execution of an op by one warp, with explicit barriers, numbers and regions.

``match dyn.op`` says what it is; the other fields hold the resolved operands. Dynamic ops are
interned while their operands repeat, so readers may cache by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from asyncsim.errors import ScheduleError, SourceLoc
from asyncsim.ir.op import ClcTryCancel, LoadOp, Op, Tcgen05Commit
from asyncsim.memory.region import Region

Tag = tuple[str, tuple[int, ...]]
"""Which data bytes hold: a tensor and (its index - tile index) per dimension."""

FILL: Tag = ("zero fill", ())
"""What cp.async writes where it reads nothing: no element of a tensor, so that no read means it."""


ARITHMETIC = (ZeroDivisionError, ValueError, OverflowError)
"""What evaluating an expression may raise."""


def arithmetic_fault(error: Exception, loc: SourceLoc | None = None) -> ScheduleError:
    """What is said of an expression that cannot be evaluated."""
    message, fix = f"an expression of the schedule fails: {error}", "check shifts and sizes"
    if isinstance(error, ZeroDivisionError):
        message = "division by zero in an expression of the schedule"
        fix = "make the divisor at least 1"
    return ScheduleError(message, fix=fix, loc=loc)


class Proxy(Enum):
    """Through which proxy an access is made (PTX ISA, memory consistency model: proxies)."""

    GENERIC = "generic"
    ASYNC = "async"


class BarrierKey(NamedTuple):
    """An mbarrier object: the CTA (rank in the cluster) that owns it, its name, its stage."""

    cta: int
    name: str
    stage: int

    def __str__(self) -> str:
        of = f" of CTA {self.cta}" if self.cta else ""
        return f"{self.name}[{self.stage}]{of}"


@dataclass(frozen=True, slots=True)
class Access:
    """Bytes touched by an op.

    ``lanes``: for an op of all lanes whose lanes touch different bytes, the region of each lane
    (``region`` is their union); empty when every lane touches all of ``region``.
    ``tag``: for a write, the data it brings; for a read, the data that is meant (None: any).
    ``parts``: where these differ from lane to lane or byte to byte, each region and its tag; then
    ``tag`` is None.
    """

    region: Region
    write: bool
    proxy: Proxy
    lanes: Sequence[Region] = ()
    tag: Tag | None = None
    parts: tuple[tuple[Region, Tag], ...] = ()

    @property
    def tags(self) -> tuple[tuple[Region, Tag | None], ...]:
        """All regions with their tags."""
        return self.parts or ((self.region, self.tag),)


class Dyn:
    """A dynamic op. ``value``: parity of a wait, count of an init or arrive, bytes of an expect or
    copy, N of a group wait, threads of a named barrier, accumulate flag of a wgmma; otherwise 0.

    ``ints``: the integer operands of a compute op, the lanes' src_bytes of a cp.async, the CTA
    ranks that a multicast reaches.
    ``accesses`` are resolved when first asked for: timing does not need them.
    ``also``: the op as other warps execute it at the same time (together.py).
    """

    __slots__ = ("_accesses", "_make", "also", "barrier", "ints", "op", "value")

    def __init__(
        self,
        op: Op,
        barrier: BarrierKey | None = None,
        value: int = 0,
        accesses: Callable[[], tuple[Access, ...]] | None = None,
        ints: tuple[int, ...] = (),
    ) -> None:
        self.op, self.barrier, self.value, self.ints = op, barrier, value, ints
        self._make = accesses
        self._accesses: tuple[Access, ...] | None = None if accesses else ()
        self.also: tuple[Dyn, ...] = ()

    @property
    def accesses(self) -> tuple[Access, ...]:
        """The bytes this op touches. Raises ScheduleError: OUT_OF_BOUNDS outside a tile, or for an
        expression that fails in some lane."""
        if self._accesses is None:
            assert self._make is not None
            try:
                self._accesses, self._make = self._make(), None
            except ARITHMETIC as error:
                raise arithmetic_fault(error, self.op.loc) from None
        return self._accesses

    @property
    def barriers(self) -> tuple[BarrierKey, ...]:
        """The barriers that its bytes count on: one of each CTA that a multicast reaches."""
        if self.barrier is None:
            return ()
        if not isinstance(self.op, LoadOp | Tcgen05Commit | ClcTryCancel) or not self.ints:
            return (self.barrier,)
        return tuple(BarrierKey(r, self.barrier.name, self.barrier.stage) for r in self.ints)

    def __repr__(self) -> str:
        return f"Dyn({type(self.op).__name__} #{self.op.id}, {self.barrier}, {self.value})"
