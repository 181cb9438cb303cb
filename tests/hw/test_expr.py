"""C text of expressions: equal to Python's value for every operand, also negative ones."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsim.hw.render.expr import c_text, known_multiple
from asyncsim.ir.expr import Binary, Builtin, BuiltinRef, Const, Expr, Unary, Var, python_source

X, Y = Var("x"), Var("y")


def python_of(c: str) -> str:
    """Our C subset as Python: shifts, masks and helpers mean the same there."""
    c = re.sub(r"floor_div<(\d+)>\(", r"div(\1, ", c)
    return re.sub(r"floor_mod<(\d+)>\(", r"mod(\1, ", c)


def value(c: str, x: int, y: int) -> int:
    scope = {"div": lambda d, a: a // d, "mod": lambda d, a: a % d, "min": min, "max": max}
    return int(eval(python_of(c), {"v_x": x, "v_y": y, "lane": 7, **scope}))


leaves = st.sampled_from([X, Y]) | st.integers(-40, 40).map(Const)
divisors = st.sampled_from([1, 2, 3, 4, 7, 8, 16, 32]).map(Const)


def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    plain = ["+", "-", "*", "min", "max", "&", "|", "^", "<", "==", ">="]
    return (
        st.builds(Binary, st.sampled_from(plain), inner, inner)
        | st.builds(Binary, st.sampled_from(["//", "%"]), inner, divisors)
        | st.builds(Unary, st.sampled_from(["-", "~"]), inner)
    )


@given(st.recursive(leaves, grow, max_leaves=8), st.integers(-99, 99), st.integers(-99, 99))
def test_same_value_as_python(expr: Expr, x: int, y: int) -> None:
    names = {X: "x", Y: "y"}
    wanted = int(eval(python_source(expr, names.__getitem__), {"x": x, "y": y}))
    assert value(c_text(expr), x, y) == wanted


@given(st.recursive(leaves, grow, max_leaves=6), st.integers(-99, 99), st.integers(-99, 99))
def test_known_multiple_divides(expr: Expr, x: int, y: int) -> None:
    names = {X: "x", Y: "y"}
    got = int(eval(python_source(expr, names.__getitem__), {"x": x, "y": y}))
    divisor = known_multiple(expr)
    assert got == 0 if divisor == 0 else got % divisor == 0


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Binary("*", X, Const(8)), "v_x * 8"),
        (Binary("//", Binary("+", X, Const(128)), Const(8)), "(v_x >> 3) + 16"),
        (Binary("%", Binary("+", X, Const(128)), Const(8)), "(v_x & 7)"),
        (Binary("-", Const(4), X), "-v_x + 4"),
        (Binary("//", X, Const(3)), "floor_div<3>(v_x)"),
        (Binary("%", Binary("*", BuiltinRef(Builtin.LANE), Const(2)), Const(3)),
         "floor_mod<3>(lane * 2)"),
    ],
)  # fmt: skip
def test_text(expr: Expr, text: str) -> None:
    assert c_text(expr) == text
