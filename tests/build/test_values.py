"""Traced values: expressions, and what they refuse to be."""

from __future__ import annotations

import pytest

from asyncsim.ir.expr import text
from tests.build.refused import expect, new


@pytest.mark.parametrize(
    ("use", "what", "form"),
    [
        (lambda i: bool(i), "as a Python condition", "write `with k.when(condition):`"),
        (lambda i: i and 1, "as a Python condition", "write `with k.when(condition):`"),
        (lambda i: i < 3 < 4 and i < 3, "as a Python condition", "write `with k.when(condition):`"),
        (lambda i: list(i), "as a Python sequence", "write `with k.loop(n) as i:`"),
        (
            lambda i: range(i),
            "as a Python integer",
            "write `with k.loop(n) as i:` or pass a compile-time integer",
        ),
        (
            lambda i: [0, 1][i],
            "as a Python integer",
            "write `with k.loop(n) as i:` or pass a compile-time integer",
        ),
        (
            lambda i: int(i),
            "as a Python integer",
            "write `with k.loop(n) as i:` or pass a compile-time integer",
        ),
    ],
)
def test_a_traced_value_refuses_to_be_a_python_value(use, what, form):
    def build(k):
        with k.loop(4) as i:
            use(i)

    expect(build, f"a value of the kernel cannot be used {what}", form)


def test_values_build_expressions_and_fold_constants():
    k = new()
    n = k.arg("n", 5)
    assert text((n * 2 + 1).expr) == "n * 2 + 1"
    assert text((1 + n - 0).expr) == "1 + n"
    assert text((n * 1).expr) == "n"
    assert text((7 % n).expr) == "7 % n"
    assert text((12 // n).expr) == "12 // n"
    assert text((3 & n).expr) == "3 & n"
    assert text((3 | n).expr) == "3 | n"
    assert text((3 ^ n).expr) == "3 ^ n"
    assert text((1 << n).expr) == "1 << n"
    assert text((64 >> n).expr) == "64 >> n"
    assert text((10 - n).expr) == "10 - n"
    assert text((-n).expr) == "-n"
    assert text((~n).expr) == "~n"
    assert text((n != 3).expr) == "n != 3"
    assert repr(n + 1) == "Value(n + 1)"


@pytest.mark.parametrize("value", ["1", 1.5, None])
def test_only_integers_and_values_are_operands(value):
    expect(
        lambda k: k.var("v", value),
        f"{value!r} is not an integer of the schedule",
        "pass an int, a loop variable, k.var or k.arg",
    )


def test_values_are_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        {new().block_idx}
