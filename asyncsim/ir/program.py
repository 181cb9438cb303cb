"""Two kernels that overlap by programmatic dependent launch."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel and one that is launched to depend on it; tensors of one name are the same memory.

    Raises ScheduleError if the two disagree on a tensor.
    """

    primary: Schedule
    dependent: Schedule

    def __post_init__(self) -> None:
        for tensor in self.dependent.of_kind(GlobalTensor):
            other = self.shared.get(tensor.name)
            form = (tensor.shape, tensor.strides, tensor.dtype)
            if other is not None and form != (other.shape, other.strides, other.dtype):
                raise ScheduleError(
                    f"tensor {tensor.name!r} differs between {self.primary.name} and "
                    f"{self.dependent.name}",
                    fix="give both the same shape, strides and type, or another name",
                    loc=tensor.loc,
                )

    @property
    def kernels(self) -> tuple[Schedule, Schedule]:
        """Both, in order."""
        return self.primary, self.dependent

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.primary.name} and {self.dependent.name}"

    @property
    def archs(self) -> tuple[str, ...]:
        """The architectures that both are written for."""
        return tuple(a for a in self.primary.archs if a in self.dependent.archs)

    @property
    def shared(self) -> dict[str, GlobalTensor]:
        """The tensors of both kernels, by name."""
        mine = {t.name: t for t in self.primary.of_kind(GlobalTensor)}
        names = {t.name for t in self.dependent.of_kind(GlobalTensor)}
        return {name: tensor for name, tensor in mine.items() if name in names}
