"""Addresses that only a stream's values decide are checked there, and in evaluate."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.catalog import builtin_scenarios
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.stream import Program
from asyncsim.stream.alignment import alignment_check
from asyncsim.stream.operands import Evaluator


def load_at_row(step: int):
    """Three boxes of 8 swizzled rows, ``step`` rows apart."""
    k = ScheduleBuilder("rows")
    g = k.global_tensor("g", (64, 32), "f32")
    m = k.tensor_map("m", g, box=(8, 32), swizzle=128)
    t = k.smem_tile("t", (32, 32), "f32", swizzle=128)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        row = k.var("row", 0)
        with k.loop(3):
            k.tma.load(t[0].box((row, 0), (8, 32)), m, (0, 0), full[0])
            row.set(row + step)
    return k.finish()


def copies(start):
    """One cp.async of 16 bytes a lane at element ``start(k)``."""
    k = ScheduleBuilder("copies", archs=("sm_80",))
    g, t = k.global_tensor("g", (256,), "f32"), k.smem_tile("t", (256,), "f32")
    k.cp_async.copy(t[0].box((start(k),), (4,)), g.box((0,), (4,)))
    return k.finish()


def both_raise(schedule) -> ScheduleError:
    with pytest.raises(ScheduleError) as streamed:
        list(Program(schedule).stream((0, 0, 0), 0))
    with pytest.raises(ScheduleError) as evaluated:
        evaluate(schedule, make_inputs(schedule))
    assert str(streamed.value) == str(evaluated.value)
    assert streamed.value.rule is Rule.ALIGNMENT
    return streamed.value


def test_a_box_inside_the_swizzle_pattern_is_misaligned():
    error = both_raise(load_at_row(4))
    assert error.message == "TmaLoad: the start in 't' is 512 bytes, no multiple of 1024"
    assert len(list(Program(load_at_row(8)).stream((0, 0, 0), 0))) == 4


def test_one_misaligned_lane_is_enough():
    error = both_raise(copies(lambda k: k.lane * k.lane % 8))
    assert error.message == "CpAsync: the start in 't' is 4 bytes, no multiple of 16"
    assert len(list(Program(copies(lambda k: k.lane // 8 * 8)).stream((0, 0, 0), 0))) == 1


@pytest.mark.parametrize("scenario", builtin_scenarios(), ids=lambda s: s.name)
def test_the_text_of_the_scenarios_proves_them_aligned(scenario):
    s = scenario.build()
    assert all(alignment_check(op, s, Evaluator(op), 0) is None for op in s.ops())
