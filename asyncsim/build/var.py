"""An integer of a role that the kernel changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncsim.build.value import Index, Value
from asyncsim.ir.expr import Var

if TYPE_CHECKING:
    from asyncsim.build.builder import ScheduleBuilder


class Var_(Value):
    """A role-local integer; reads are values, ``set`` assigns."""

    __slots__ = ("_builder", "name")
    __hash__ = None

    def __init__(self, builder: ScheduleBuilder, name: str) -> None:
        super().__init__(Var(name))
        self._builder, self.name = builder, name

    def set(self, value: Index) -> None:
        """Assign a new value from here on."""
        self._builder.set_var(self.name, value)
