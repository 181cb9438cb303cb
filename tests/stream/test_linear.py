"""Numbers that move: what they say of an expression holds at every step, or they say nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsim.stream.linear import FOR_EVER, Linear, NotLinear, Windows, slope, value

BINARY = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=")


def expressions() -> st.SearchStrategy[str]:
    leaf = st.sampled_from(["i", "j", "s", "0", "1", "2", "3", "4", "7", "8", "12"])

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        two = st.tuples(inner, st.sampled_from(BINARY), inner).map(
            lambda t: "({} {} {})".format(*t)
        )
        call = st.tuples(st.sampled_from(["min", "max"]), inner, inner)
        return two | call.map(lambda t: "{}({}, {})".format(*t)) | inner.map("(-{})".format)

    return st.recursive(leaf, larger, max_leaves=8)


SLOPES = st.sampled_from([-8, -3, 0, 1, 2, 4, 8, 12])


@settings(max_examples=1500, derandomize=True, deadline=None)
@given(expressions(), st.integers(0, 40), SLOPES, st.integers(0, 40), SLOPES, st.integers(0, 7))
def test_what_is_said_holds(text: str, i: int, di: int, j: int, dj: int, s: int) -> None:
    windows = Windows()
    moving = {
        "i": Linear(i, di, windows) if di else i,
        "j": Linear(j, dj, windows) if dj else j,
        "s": s,
    }
    try:
        found = eval(text, {"min": min, "max": max}, moving)
    except (NotLinear, ZeroDivisionError, ValueError, OverflowError):
        return
    v = value(found)
    assert v is not None
    for t in range(min(windows.limit, 30) + 1):
        now = {"i": i + t * di, "j": j + t * dj, "s": s}
        assert int(eval(text, {}, now)) == v + t * slope(found), t


@settings(max_examples=1000, derandomize=True, deadline=None)
@given(expressions(), st.integers(0, 40), SLOPES, st.integers(-5, 5), SLOPES)
def test_a_number_that_is_not_known_moves_alike(
    text: str, i: int, di: int, j: int, dj: int
) -> None:
    """``j`` differs from lane to lane; its step does not."""
    windows = Windows()
    moving = {"i": Linear(i, di, windows) if di else i, "j": Linear(None, dj, windows), "s": 3}
    try:
        found = eval(text, {"min": min, "max": max}, moving)
    except (NotLinear, ZeroDivisionError, ValueError, OverflowError):
        return
    for t in range(min(windows.limit, 20)):
        try:
            a = eval(text, {}, {"i": i + t * di, "j": j + t * dj, "s": 3})
            b = eval(text, {}, {"i": i + (t + 1) * di, "j": j + (t + 1) * dj, "s": 3})
        except (ZeroDivisionError, ValueError, OverflowError):
            return
        assert int(b) - int(a) == slope(found)


@pytest.mark.parametrize(
    ("text", "limit"),
    [("i < 20", 2), ("i <= 20", 3), ("i == 16", 1), ("i == 17", 2), ("i != 8", 0),
     ("i >= 8", FOR_EVER), ("i - 4 > 30", 6), ("i % 4 == 0", FOR_EVER)],
)  # fmt: skip
def test_a_comparison_bounds_the_windows(text: str, limit: int) -> None:
    windows = Windows()
    eval(text, {}, {"i": Linear(8, 4, windows)})
    assert windows.limit == limit


@pytest.mark.parametrize(
    "text", ["i * i", "i % 3", "i // 3", "i & 4", "i ^ 1", "1 << i", "12 // i"]
)
def test_what_is_not_linear_is_refused(text: str) -> None:
    with pytest.raises(NotLinear):
        eval(text, {}, {"i": Linear(8, 4, Windows())})
