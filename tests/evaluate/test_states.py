"""Lanes that were not elected, waits by state, and copies that an mbarrier tracks."""

from __future__ import annotations

import numpy as np
import pytest

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Fill,
    ScheduleBuilder,
    Work,
)
from asyncsim.evaluate import EvaluateError, evaluate, make_inputs
from asyncsim.rules import Rule
from tests.evaluate.test_ops import ORDERS


def parts(elected, others):
    """A warp whose elected lane and other lanes do something, each to a register, then stored."""
    k = ScheduleBuilder("parts")
    out = k.global_tensor("out", (32,), "f32", output=True)
    full, state = k.mbarriers("full", count=32), k.mbarrier_state("state")
    x = k.fragment("x", registers=1)
    with k.elect():
        k.mbarrier.init_all(full)
        elected(k, full[0], state, x.all)
    with k.others():
        others(k, full[0], state, x.all)
    k.mbarrier.wait_state(full[0], state)
    k.mem.st_global(out.box((k.lane,), (1,)), x.all)
    s = k.finish()
    return [evaluate(s, make_inputs(s), order=o)["out"] for o in ORDERS]


SET = ComputeDef(
    name="set",
    operands=(
        ComputeOperand(name="x", kind="fragment", mode=AccessMode.WRITE),
        ComputeOperand(name="value", kind="int"),
    ),
    work=lambda value: Work(alu=1),
    cuda="x[0] = value;",
    numpy=lambda x, value, **_: x.fill(value),
)


def test_others_are_the_lanes_that_were_not_elected():
    def arrives(value):
        def act(k, full, state, x):
            k.mem.compute(SET, x, value)
            k.mbarrier.arrive(full, state=state)

        return act

    for result in parts(arrives(7), arrives(3)):
        assert result.tolist() == [7.0] + [3.0] * 31


def test_a_state_that_the_elected_lane_did_not_keep():
    with pytest.raises(EvaluateError, match="no arrive has written the state that is tested") as e:
        parts(
            lambda k, full, state, x: k.mbarrier.arrive(full),
            lambda k, full, state, x: k.mbarrier.arrive(full, state=state),
        )
    assert e.value.rule is Rule.FOREIGN_STATE


def test_a_wait_by_state_says_what_is_missing():
    with pytest.raises(
        EvaluateError, match=r"block/0 waits in MbarrierWaitState at .*, generation 0"
    ):
        parts(
            lambda k, full, state, x: k.mbarrier.arrive_expect_tx(full, 16, state=state),
            lambda k, full, state, x: k.mbarrier.arrive(full, state=state),
        )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("noinc", [False, True])
def test_copies_that_an_mbarrier_tracks_land_before_it_completes(order, noinc):
    k = ScheduleBuilder("tracked")
    source = k.global_tensor("source", (64, 4), "f32", fill=Fill.IOTA)
    out = k.global_tensor("out", (64, 4), "f32", output=True)
    tile = k.smem_tile("tile", (32, 4), "f32")
    full, empty = (k.mbarriers(name, count=32) for name in ("full", "empty"))
    x = k.fragment("x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
    k.bar.sync()
    with k.specialize():
        with k.role("producer", warps=1), k.loop(2) as i:
            k.mbarrier.wait(empty[0], i % 2 ^ 1)
            k.cp_async.copy(
                tile[0].box((k.lane, 0), (1, 4)), source.box((32 * i + k.lane, 0), (1, 4))
            )
            k.cp_async.mbarrier_arrive(full[0], noinc=noinc)
            if not noinc:
                k.mbarrier.arrive(full[0])
        with k.role("consumer", warps=1), k.loop(2) as i:
            k.mbarrier.wait(full[0], i % 2)
            k.mem.ld_shared(x.all, tile[0].box((31 - k.lane, 0), (1, 4)))
            k.mem.st_global(out.box((32 * i + k.lane, 0), (1, 4)), x.all)
            k.mbarrier.arrive(empty[0])
    s = k.finish()
    inputs = make_inputs(s)
    rows = inputs["source"].reshape(2, 32, 4)
    assert np.array_equal(evaluate(s, inputs, order=order)["out"], rows[:, ::-1].reshape(64, 4))
