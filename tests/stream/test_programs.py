"""Random programs: the compiled stream of every warp is what a slow interpreter reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsim import ScheduleBuilder, Value, maximum, minimum
from asyncsim.ir.op import MbarrierArriveExpectTx, MbarrierWaitState, Scope
from asyncsim.stream import Program
from tests.stream.interpreter import interpret, value_of

OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">=": lambda a, b: a >= b,
    "min": minimum,
    "max": maximum,
}

# An expression is a leaf number, or (operator, left, right), or (operator, left) by a constant.
EXPRESSIONS = st.recursive(
    st.integers(-3, 9),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(OPERATORS)), inner, inner),
        st.tuples(st.sampled_from(["//3", "%4", "<<2", ">>1", "neg", "inv"]), inner),
    ),
    max_leaves=6,
)

STATEMENTS = st.recursive(
    st.one_of(
        st.tuples(st.just("op"), EXPRESSIONS),
        st.tuples(st.just("var"), EXPRESSIONS),
        st.tuples(st.just("set"), st.integers(0, 5), EXPRESSIONS),
    ),
    lambda inner: st.one_of(
        st.tuples(st.just("loop"), EXPRESSIONS, st.lists(inner, max_size=3)),
        st.tuples(st.just("when"), EXPRESSIONS, st.lists(inner, max_size=3)),
        st.tuples(st.just("elect"), st.booleans(), st.lists(inner, max_size=3)),
    ),
    max_leaves=12,
)


class Writer:
    """Writes a drawn program with the builder. Leaves pick among what is in scope."""

    def __init__(self) -> None:
        self.k = ScheduleBuilder("random")
        self.n = self.k.arg("n", 3)
        self.bar = self.k.mbarriers("bar", count=1, stages=4)
        self.k.grid(2, 3)
        self.values: list[Any] = [self.n, self.k.block_idx, self.k.block_idx_y]
        self.vars: list[tuple[Any, bool]] = []  # (variable, declared inside elect)
        self.elected = False

    def value(self, e: Any) -> Any:
        if isinstance(e, int):
            scope = [*self.values, self.k.warp_in_role, *(v for v, _ in self.vars)]
            return e if e <= 2 else scope[e % len(scope)]
        if len(e) == 3:
            a, b = self.value(e[1]), self.value(e[2])
            if isinstance(a, int) and isinstance(b, int):
                a = Value(self.n.expr) - 3 + a
            return OPERATORS[e[0]](a, b)
        a = self.value(e[1])
        match e[0]:
            case "//3":
                return a // 3
            case "%4":
                return a % 4
            case "<<2":
                return a << 2
            case ">>1":
                return a >> 1
            case "neg":
                return -a
            case _:
                return ~a

    def block(self, statements: list[Any]) -> None:
        values, variables = list(self.values), list(self.vars)
        for s in statements:
            self.statement(s)
        self.values, self.vars = values, variables

    def statement(self, s: Any) -> None:
        k = self.k
        match s:
            case ("op", e):
                k.mbarrier.arrive_expect_tx(
                    self.bar[self.value(e) & 3], (self.value(e) & 1023) * 16
                )
            case ("var", e):
                self.vars.append((k.var("v", self.value(e)), self.elected))
            case ("set", i, e):
                mine = [v for v, elected in self.vars if elected == self.elected]
                if mine:
                    mine[i % len(mine)].set(self.value(e))
            case ("loop", e, body):
                with k.loop(minimum(self.value(e), 3)) as i:
                    self.values.append(i)
                    self.block(body)
                    self.values.pop()
            case ("when", e, body):
                with k.when(self.value(e)):
                    self.block(body)
            case ("elect", of_role, body):
                if self.elected:
                    self.block(body)
                    return
                with k.elect_thread() if of_role else k.elect():
                    self.elected = True
                    self.block(body)
                    self.elected = False


@settings(max_examples=150, deadline=None)
@given(st.lists(STATEMENTS, max_size=5), st.lists(STATEMENTS, max_size=3))
def test_stream_is_what_an_interpreter_reads(common, inside):
    w = Writer()
    with w.k.elect_thread():
        w.k.mbarrier.init_all(w.bar)
    w.block(common)
    with w.k.specialize():
        with w.k.role("one", warps=1):
            w.block(inside)
        with w.k.role("two", warps=2):
            w.block(list(reversed(inside)))
    schedule = w.k.finish()
    program = Program(schedule)
    for block in ((0, 0, 0), (1, 2, 0)):
        for warp in range(schedule.warps):
            got = [
                (dyn.op, dyn.barrier.stage, dyn.value, loops)
                for dyn, loops in program.stream(block, warp)
                if isinstance(dyn.op, MbarrierArriveExpectTx)
            ]
            want = [
                (op, value_of(op.mbarrier.stage, env), value_of(op.bytes, env), loops)
                for op, env, loops in interpret(schedule, block, warp)
                if isinstance(op, MbarrierArriveExpectTx)
            ]
            assert got == want
            assert all(op.scope in (Scope.ELECTED, Scope.ALL_LANES) for op, *_ in got)


def test_set_is_seen_by_what_follows_and_a_loop_body_starts_from_the_last_value():
    k = ScheduleBuilder("phases")
    bar = k.mbarriers("bar", count=1, stages=4)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    state = k.pipeline_state(3)
    with k.loop(7) as i:
        k.mbarrier.arrive_expect_tx(bar[state.stage], (state.phase * 100 + i) * 16)
        state.advance()
    got = [
        (dyn.barrier.stage, dyn.value // 16, loops)
        for dyn, loops in Program(k.finish()).stream((0, 0, 0), 0)
        if isinstance(dyn.op, MbarrierArriveExpectTx)
    ]
    assert got == [
        (0, 0, (0,)),
        (1, 1, (1,)),
        (2, 2, (2,)),
        (0, 103, (3,)),
        (1, 104, (4,)),
        (2, 105, (5,)),
        (0, 6, (6,)),
    ]


def test_elect_thread_runs_on_warp_0_of_the_role_and_elect_on_every_warp():
    k = ScheduleBuilder("elect")
    bar = k.mbarriers("bar", count=1, stages=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    with k.specialize():
        with k.role("a", warps=1):
            pass
        with k.role("b", warps=2):
            with k.elect():
                k.mbarrier.arrive(bar[0])
            with k.elect_thread():
                k.mbarrier.arrive_expect_tx(bar[0], 16)
    program = Program(k.finish())
    names = [
        [type(dyn.op).__name__ for dyn, _ in program.stream((0, 0, 0), warp)] for warp in range(3)
    ]
    assert names == [
        ["MbarrierInit"],
        ["MbarrierArrive", "MbarrierArriveExpectTx"],
        ["MbarrierArrive"],
    ]


@pytest.mark.parametrize("of_role", [False, True])
def test_others_are_all_lanes_of_the_warps_without_an_elected_one(of_role):
    k = ScheduleBuilder("others")
    bar, state = k.mbarriers("bar", count=1), k.mbarrier_state("state")
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    with k.specialize():
        with k.role("a", warps=1):
            pass
        with k.role("b", warps=2):
            with k.elect_thread() if of_role else k.elect():
                k.mbarrier.arrive(bar[0], state=state)
            with k.others(), k.loop(2):
                k.mbarrier.arrive(bar[0], state=state)
            k.mbarrier.wait_state(bar[0], state)
    program = Program(k.finish())
    scopes = [[dyn.op.scope.value for dyn, _ in program.stream((0, 0, 0), warp)] for warp in (1, 2)]
    first = ["elected", "others", "others", "all"]
    assert scopes == [first, ["all", "all", "all"] if of_role else first]
    (wait,) = [d for d, _ in program.stream((0, 0, 0), 2) if isinstance(d.op, MbarrierWaitState)]
    assert (str(wait.barrier), wait.value, wait.op.state) == ("bar[0]", 0, "state")
