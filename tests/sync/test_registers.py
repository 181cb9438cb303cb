"""The register pool of a CTA (PTX ISA: setmaxnreg)."""

from __future__ import annotations

import pytest

from asyncsim.rules import Rule
from asyncsim.sync import RegisterPool, SyncFault


def test_the_launch_gives_all_registers_away():
    pool = RegisterPool(warps=12, maxnreg=168)
    assert (pool.size, pool.free, pool.held) == (64512, 0, [168] * 12)


def test_a_request_is_served_by_what_a_dec_has_freed():
    pool = RegisterPool(warps=8, maxnreg=128)
    assert pool.needs(0, 152) == 32 * 24
    assert not pool.inc(0, 152)
    pool.dec(4, 112)
    assert (pool.free, pool.inc(0, 152)) == (512, False)
    pool.dec(5, 112)
    assert pool.inc(0, 152)
    assert (pool.free, pool.held[0], pool.held[4:6]) == (256, 152, [112, 112])
    assert pool.inc(0, 152)  # what it holds already
    pool.dec(0, 152)
    assert pool.free == 256


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda p: p.dec(2, 72), "setmaxnreg.dec 72 by warp 2, which holds 64"),
        (lambda p: p.inc(2, 56), "setmaxnreg.inc 56 by warp 2, which holds 64"),
    ],
)
def test_the_wrong_direction_is_a_fault(act, text):
    with pytest.raises(SyncFault) as caught:
        act(RegisterPool(warps=4, maxnreg=64))
    assert (caught.value.rule, caught.value.message) == (Rule.REGISTER_POOL, text)


def test_the_warps_of_a_warpgroup_execute_the_same_ones():
    pool = RegisterPool(warps=8, maxnreg=64)
    for warp, op in ((0, 7), (1, 7), (1, 9), (4, 8), (0, 9), (2, 7)):
        pool.execute(warp, op)
    assert [pool.executed(w) for w in range(8)] == [2, 2, 1, 0, 1, 0, 0, 0]
    with pytest.raises(
        SyncFault, match=r"^warp 3 executes another setmaxnreg than warp 0 of its warpgroup$"
    ) as caught:
        pool.execute(3, 9)
    assert caught.value.rule is Rule.REGISTER_POOL
    assert list(pool.warpgroup(6)) == [4, 5, 6, 7]
