"""The text form: every op by its PTX opcode, and expressions that mean what they say."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsim import ScheduleBuilder
from asyncsim.catalog import builtin_scenarios
from asyncsim.ir.expr import Arg, Binary, Builtin, BuiltinRef, Const, Unary, Var, text
from asyncsim.ir.op import Op
from asyncsim.ir.op_text import op_text
from asyncsim.ir.text import schedule_text
from tests.ir.every_op import every_cluster_op, every_matrix_op, every_op, every_tcgen05_op
from tests.stream.interpreter import value_of


def test_every_op_is_in_the_schedules_of_every_op():
    schedules = every_op(), every_cluster_op(), every_tcgen05_op(), every_matrix_op()
    assert {type(op) for s in schedules for op in s.ops()} == set(get_args(Op))


def test_text_of_every_op(golden):
    golden(
        "every_op.txt",
        re.sub(r"every_op\.py:\d+", "every_op.py:LINE", schedule_text(every_op())) + "\n",
    )


def test_text_of_every_op_of_a_cluster(golden):
    text = schedule_text(every_cluster_op())
    golden("every_cluster_op.txt", re.sub(r"every_op\.py:\d+", "every_op.py:LINE", text) + "\n")


def test_text_of_every_matrix_op(golden):
    text = schedule_text(every_matrix_op())
    golden("every_matrix_op.txt", re.sub(r"every_op\.py:\d+", "every_op.py:LINE", text) + "\n")


def test_text_of_every_tcgen05_op(golden):
    text = schedule_text(every_tcgen05_op())
    golden("every_tcgen05_op.txt", re.sub(r"every_op\.py:\d+", "every_op.py:LINE", text) + "\n")


def test_source_lines_are_those_of_the_calls():
    k = ScheduleBuilder("lines")
    with k.loop(2):
        k.bar.sync()
    s = k.finish()
    loop, sync = s.body[0], next(s.ops())
    assert sync.loc.line == loop.loc.line + 1
    assert schedule_text(s).splitlines()[-2:] == [
        f"{'  for i in range(2):':<76}  test_text.py:{loop.loc.line}",
        f"{'    bar.sync 0, 32':<76}  #0 test_text.py:{sync.loc.line}",
    ]


def test_otherwise_and_a_schedule_without_memory():
    k = ScheduleBuilder("small", archs=("sm_80", "sm_100a"))
    k.block(2)
    assert schedule_text(k.finish()).splitlines() == [
        "schedule small for sm_80, sm_100a",
        "  grid 1 x 1 x 1, block of 64 threads, launch bound of 1 CTA per SM",
        "global memory",
        "shared memory, 0 bytes",
        "all warps, 0..1",
    ]


@pytest.mark.parametrize("scenario", builtin_scenarios(), ids=lambda s: s.name)
def test_each_op_of_a_scenario_stands_once_with_its_id(scenario):
    s = scenario.build()
    lines = schedule_text(s).splitlines()
    for op in s.ops():
        (line,) = [one for one in lines if re.search(rf"  #{op.id} \S+$", one)]
        assert line.strip().startswith(op_text(op, s))
        assert line.endswith(f"#{op.id} {op.loc}")


LEAVES = st.one_of(
    st.integers(-4, 9).map(Const),
    st.sampled_from([Var("i"), Arg("n"), BuiltinRef(Builtin.WARP_IN_ROLE)]),
)
OPERATORS = ["+", "-", "*", "&", "|", "^", "min", "max", "<", "<=", ">", ">=", "==", "!="]
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from(OPERATORS), inner, inner),
        st.builds(Binary, st.sampled_from(["//", "%"]), inner, st.integers(1, 7).map(Const)),
        st.builds(Binary, st.sampled_from(["<<", ">>"]), inner, st.integers(0, 5).map(Const)),
        st.builds(Unary, st.sampled_from(["-", "~"]), inner),
    ),
    max_leaves=10,
)


@given(EXPRESSIONS, st.integers(-5, 20), st.integers(-5, 20), st.integers(0, 3))
def test_expression_text_read_as_python_has_the_same_value(expr, i, n, warp):
    env = {"i": i, "n": n, "warp_in_role": warp}
    assert int(eval(text(expr), {"min": min, "max": max}, dict(env))) == value_of(expr, env)


@pytest.mark.parametrize(
    ("expr", "shown"),
    [
        (Binary("*", Binary("+", Var("i"), Const(1)), Const(4)), "(i + 1) * 4"),
        (Binary("+", Var("i"), Binary("*", Const(2), Var("j"))), "i + 2 * j"),
        (Binary("-", Var("i"), Binary("-", Var("j"), Const(1))), "i - (j - 1)"),
        (Binary("-", Binary("-", Var("i"), Var("j")), Const(1)), "i - j - 1"),
        (Binary("<", Binary("<", Var("i"), Var("j")), Const(1)), "(i < j) < 1"),
        (Binary("==", Binary("&", Var("i"), Const(1)), Const(0)), "i & 1 == 0"),
        (Unary("-", Binary("+", Var("i"), Const(1))), "-(i + 1)"),
        (Binary("min", Var("i"), Binary("+", Var("j"), Const(1))), "min(i, j + 1)"),
        (Const(-3), "-3"),
        (Binary("+", Var("i"), Const(-3)), "i + (-3)"),
    ],
)
def test_parentheses_stand_only_where_they_are_needed(expr, shown):
    assert text(expr) == shown
