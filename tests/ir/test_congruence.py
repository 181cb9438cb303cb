"""Congruences hold for every value: an address is refused only when it is always misaligned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asyncsim.ir.congruence import ANYTHING, Congruence, congruence
from asyncsim.ir.expr import Binary, Const, Unary, Var
from tests.ir.test_text import EXPRESSIONS
from tests.stream.interpreter import value_of


def holds(c: Congruence, value: int) -> bool:
    return value == c.remainder if c.modulus == 0 else value % c.modulus == c.remainder


@given(EXPRESSIONS, st.integers(-9, 40), st.integers(-9, 40), st.integers(0, 3))
def test_every_value_satisfies_the_congruence(expr, i, n, warp):
    value = value_of(expr, {"i": i, "n": n, "warp_in_role": warp})
    found = congruence(expr)
    assert holds(found, value)
    for multiple in (2, 4, 8, 16, 128, 1024):
        if found.never_multiple_of(multiple):
            assert value % multiple != 0


def test_what_is_known_of_typical_addresses():
    i, j = Var("i"), Var("j")
    assert congruence(Binary("*", i, Const(64))) == Congruence(64, 0)
    assert congruence(Binary("+", Binary("*", i, Const(64)), Const(8))) == Congruence(64, 8)
    assert congruence(Binary("<<", i, Const(4))) == Congruence(16, 0)
    assert congruence(Binary("+", Binary("*", i, Const(12)), Binary("*", j, Const(8)))) == (
        Congruence(4, 0)
    )
    assert congruence(Binary("%", Binary("*", i, Const(6)), Const(4))) == Congruence(2, 0)
    assert congruence(Binary("*", Const(3), Const(5))) == Congruence(0, 15)
    assert congruence(Unary("-", Binary("*", i, Const(8)))) == Congruence(8, 0)
    assert congruence(Unary("~", i)) == ANYTHING


def test_never_a_multiple():
    assert Congruence(16, 8).never_multiple_of(16)
    assert not Congruence(16, 8).never_multiple_of(8)
    assert Congruence(0, 24).never_multiple_of(16)
    assert not Congruence(0, 32).never_multiple_of(16)
    assert not Congruence(4, 0).never_multiple_of(16)  # some are, some are not
    assert not ANYTHING.never_multiple_of(2)
