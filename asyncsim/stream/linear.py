"""Numbers that move by a fixed step a window: ``value + t * slope`` for t = 0, 1, 2, ...

The expressions of a stream are evaluated with them in place of plain numbers. What comes out says
how an operand moves from one window of a loop to the next, and for how many windows that holds:
each comparison bounds them. What cannot be said so raises NotLinear.
"""

from __future__ import annotations

FOR_EVER = 1 << 60


class NotLinear(Exception):
    """A value of the stream does not move by a fixed step."""


class Windows:
    """For how many further windows everything that was compared keeps its outcome."""

    __slots__ = ("limit",)

    def __init__(self) -> None:
        self.limit = FOR_EVER

    def at_most(self, windows: int) -> None:
        self.limit = min(self.limit, windows)


class Linear:
    """``value`` None: not known, because it differs from lane to lane; it moves all the same.

    A number that stays is a plain int, or has slope 0 and no known value.
    """

    __slots__ = ("slope", "value", "windows")

    def __init__(self, value: int | None, slope: int, windows: Windows) -> None:
        self.value, self.slope, self.windows = value, slope, windows

    def _new(self, value: int | None, slope: int) -> Number:
        return value if value is not None and not slope else Linear(value, slope, self.windows)

    # -- sums and products ---------------------------------------------------------------------

    def __add__(self, other: Number) -> Number:
        v, s = _parts(other)
        return self._new(
            None if self.value is None or v is None else self.value + v, self.slope + s
        )

    __radd__ = __add__

    def __neg__(self) -> Number:
        return self._new(None if self.value is None else -self.value, -self.slope)

    def __sub__(self, other: Number) -> Number:
        return self + (-other)

    def __rsub__(self, other: Number) -> Number:
        return -self + other

    def __invert__(self) -> Number:
        return -self - 1

    def __mul__(self, other: Number) -> Number:
        v, s = _parts(other)
        if (self.slope and (s or v is None)) or (s and self.value is None):
            raise NotLinear
        slope = self.slope * (v or 0) + s * (self.value or 0)
        return self._new(None if self.value is None or v is None else self.value * v, slope)

    __rmul__ = __mul__

    # -- what keeps a step only if the step divides -------------------------------------------

    def __floordiv__(self, other: Number) -> Number:
        if self._stay(other):
            return self._new(None, 0)
        if not isinstance(other, int) or other <= 0 or self.slope % other:
            raise NotLinear
        return self._new(None if self.value is None else self.value // other, self.slope // other)

    def __mod__(self, other: Number) -> Number:
        if self._stay(other):
            return self._new(None, 0)
        if not isinstance(other, int) or other <= 0 or self.slope % other:
            raise NotLinear
        return self._new(None if self.value is None else self.value % other, 0)

    def __and__(self, other: Number) -> Number:
        if self._stay(other):
            return self._new(None, 0)
        if not isinstance(other, int) or other < 0 or self.slope % (1 << other.bit_length()):
            raise NotLinear
        return self._new(None if self.value is None else self.value & other, 0)

    __rand__ = __and__

    def _bits(self, other: Number) -> Number:
        if not self._stay(other):
            raise NotLinear
        return self._new(None, 0)

    __or__ = __ror__ = __xor__ = __rxor__ = _bits
    __rlshift__ = __rrshift__ = __rfloordiv__ = __rmod__ = _bits

    def __lshift__(self, other: Number) -> Number:
        return self * (1 << other) if isinstance(other, int) and other >= 0 else self._bits(other)

    def __rshift__(self, other: Number) -> Number:
        return self // (1 << other) if isinstance(other, int) and other >= 0 else self._bits(other)

    def _stay(self, other: Number) -> bool:
        """Whether both stay where they are: then so does any function of them."""
        return not self.slope and not _parts(other)[1]

    # -- comparisons ---------------------------------------------------------------------------

    def _less(self, other: Number, offset: int) -> Number:
        """Whether ``self < other + offset``."""
        v, s = _parts(other)
        step = self.slope - s
        if self.value is None or v is None:
            if step:
                raise NotLinear
            return self._new(None, 0)
        ahead = self.value - v - offset
        if ahead < 0 < step:
            self.windows.at_most((-ahead - 1) // step)
        elif step < 0 <= ahead:
            self.windows.at_most(ahead // -step)
        return int(ahead < 0)

    def __lt__(self, other: Number) -> Number:
        return self._less(other, 0)

    def __le__(self, other: Number) -> Number:
        return self._less(other, 1)

    def __gt__(self, other: Number) -> Number:
        return _not(self._less(other, 1))

    def __ge__(self, other: Number) -> Number:
        return _not(self._less(other, 0))

    def __eq__(self, other: object) -> Number:  # type: ignore[override]
        assert isinstance(other, int | Linear)
        v, s = _parts(other)
        step = self.slope - s
        if self.value is None or v is None:
            if step:
                raise NotLinear
            return self._new(None, 0)
        ahead = self.value - v
        if step and not ahead:
            self.windows.at_most(0)
        elif step and (ahead < 0) != (step < 0):  # not even past it without meeting it
            self.windows.at_most((abs(ahead) - 1) // abs(step))
        return int(not ahead)

    def __ne__(self, other: object) -> Number:  # type: ignore[override]
        return _not(self == other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        differs = self != 0
        if isinstance(differs, Linear):
            raise NotLinear
        return bool(differs)


Number = int | Linear


def _parts(x: Number) -> tuple[int | None, int]:
    return (x.value, x.slope) if isinstance(x, Linear) else (x, 0)


def _not(x: Number) -> Number:
    """Of a comparison."""
    return x if isinstance(x, Linear) else 1 - x


def slope(x: Number) -> int:
    """How far a number moves from one window to the next."""
    return x.slope if isinstance(x, Linear) else 0


def value(x: Number) -> int | None:
    return x.value if isinstance(x, Linear) else int(x)
