"""Blocks of the builder: context managers that are missed when nobody enters them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError

T = TypeVar("T")
P = ParamSpec("P")


class Block(Generic[T]):
    """What ``k.loop(...)`` gives: it stands in ``missed`` until a ``with`` enters it."""

    def __init__(
        self, name: str, made: AbstractContextManager[T], missed: list[Block[Any]]
    ) -> None:
        self.name, self.loc = name, caller()
        self._made, self._missed = made, missed
        missed.append(self)

    def __enter__(self) -> T:
        if self in self._missed:
            self._missed.remove(self)
        return self._made.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._made.__exit__(kind, error, trace)


class HasBlocks(Protocol):
    """A builder: ``_missed`` are the blocks that nobody has entered yet."""

    _missed: list[Block[Any]]


Self_ = TypeVar("Self_", bound=HasBlocks)


def entered(
    method: Callable[Concatenate[Self_, P], Iterator[T]],
) -> Callable[Concatenate[Self_, P], Block[T]]:
    """``contextmanager`` for methods of a builder."""
    made = contextmanager(method)

    @wraps(method)
    def opened(self: Self_, /, *args: P.args, **kwargs: P.kwargs) -> Block[T]:
        return Block(method.__name__, made(self, *args, **kwargs), self._missed)

    return opened


def refuse_missed(missed: list[Block[Any]]) -> None:
    """Raise ScheduleError for a block without ``with``, whose body stands outside of it."""
    if missed:
        name = missed[0].name
        raise ScheduleError(
            f"k.{name}(...) is not entered: it does nothing by itself",
            fix=f"write `with k.{name}(...):` and indent its body",
            loc=missed[0].loc,
        )
