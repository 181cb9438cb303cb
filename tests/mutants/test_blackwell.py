"""Mutants of bw_gemm. The explorer does not know tcgen05: those that check lets pass are listed
here with the reason, and each computes the product in every order that is tried."""

from __future__ import annotations

from collections import Counter

import numpy as np

from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.ir import op as ops
from asyncsim.scenarios.bw_gemm import bw_gemm
from tests.mutants.mutants import mutants, streams
from tests.mutants.score import RIGHT, judge

SIZES = {"m": 16, "n": 320, "k": 40, "block_n": 64, "block_k": 16, "f32": 1, "ctas": 1}
"""Five tiles, so that two slots of the accumulator go round twice."""

LET_PASS = {
    # inits change places, the last one with the fence: its barrier no other proxy touches
    ("MbarrierInit", "up"): 7,
    ("MbarrierInit", "down"): 8,
    ("Tcgen05RelinquishAllocPermit", "drop"): 1,  # nobody else allocates
    ("BarSync", "barrier+1"): 2,  # another barrier for the same threads
    ("BarSync", "up"): 1,  # the warps meet before they drain their stores: loads are complete
    ("Tcgen05Wait", "down"): 1,  # past the wait for a strip, not past the registers' use
    ("MbarrierArrive", "down"): 1,  # a slot is released later
    ("MbarrierArriveExpectTx", "down"): 1,  # past one of the copies: the phase is still open
    # Two waits and two fences stand before the first mma of a tile: each fence is after the wait
    # that the other one follows, or for bytes by TMA, which need none.
    ("MbarrierWait", "down"): 2,
    ("Tcgen05Fence", "drop"): 2,
    ("Tcgen05Fence", "up"): 2,
    ("Tcgen05Fence", "down"): 2,
    ("Tcgen05Fence", "lanes"): 3,  # by the lane that signals, or by more lanes than need it
}
LOOKED_AT = (
    ops.MbarrierInit
    | ops.MbarrierArrive
    | ops.MbarrierArriveExpectTx
    | ops.MbarrierWait
    | ops.BarSync
    | ops.Tcgen05Op
)
ORDERS = [Order(), *(Order(landing=Landing.LATE, seed=seed) for seed in (None, 0, 1))]


def test_what_check_lets_pass_is_no_defect() -> None:
    schedule = bw_gemm.build({**SIZES, "stages": 2})
    base, inputs = streams(schedule), make_inputs(schedule)
    want = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T
    passed: Counter[tuple[str, str]] = Counter()
    for mutant in mutants(schedule):
        if not isinstance(mutant.op, LOOKED_AT) or judge(mutant, base, False)[0] in RIGHT:
            continue
        passed[type(mutant.op).__name__, mutant.change] += 1
        for order in ORDERS:
            found = evaluate(mutant.schedule, inputs, order=order)["c"]
            assert np.array_equal(found, want), (mutant.op, mutant.change)
    assert passed == LET_PASS
