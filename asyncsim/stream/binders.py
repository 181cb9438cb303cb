"""What makes, of the ops of a stream, what the stream yields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from asyncsim.ir.expr import Expr
from asyncsim.ir.op import OpBase
from asyncsim.stream.segments import Key, Segment

T = TypeVar("T")
Out = TypeVar("Out", covariant=True)

Reads = Callable[[OpBase], tuple[Expr, ...]]
"""The operands of an op that a stream evaluates."""


class Binder(Protocol[Out]):
    """Makes, of an op, a function from the values of ``shared_operands(op)`` to what the stream
    yields. ``warp_in_role``: the warp's index in the part that the op stands in (role or block)."""

    def bind(self, op: OpBase, warp_in_role: int) -> Callable[[tuple[int, ...]], Out]: ...


class Joining(Protocol[T]):
    """A binder that does not want the values of all operands, and joins what they are made into."""

    def bind(self, op: OpBase, warp_in_role: int) -> Callable[[Key], T]: ...

    def reads(self, op: OpBase) -> tuple[Expr, ...]:
        """Those that it wants, of ``shared_operands(op)``."""

    def joined(
        self, segment: Segment, ops: Sequence[OpBase], makers: Sequence[Callable[[Key], T]]
    ) -> Mapping[Key, tuple[T, ...]]:
        """What a stretch of ops without a loop yields, by the values it depends on."""
