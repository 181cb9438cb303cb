"""setmaxnreg: exact messages."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.catalog import find_scenario
from tests.ir.wellformed import expect


def trade(k, *, maxnreg=168, give=40, take=232, warps=4, ctas=1):
    k.launch_bounds(ctas, maxnreg=maxnreg)
    with k.specialize():
        with k.role("math", warps=8):
            k.setmaxnreg.inc(take)
        with k.role("load", warps=warps):
            k.setmaxnreg.dec(give)


def test_a_trade_that_fits():
    k = ScheduleBuilder("good")
    trade(k)
    assert k.finish().maxnreg == 168


@pytest.mark.parametrize("count", [16, 25, 44, 264, 0])
def test_the_immediate(count):
    for direction in ("give", "take"):
        opcode = "dec" if direction == "give" else "inc"
        expect(
            lambda k, direction=direction: trade(k, **{direction: count}),
            f"setmaxnreg.{opcode} {count}",
            "the count is a multiple of 8 from 24 to 256",
            Rule.REGISTER_POOL,
        )


@pytest.mark.parametrize("count", [24, 256])
def test_the_ends_of_the_range_are_legal(count):
    k = ScheduleBuilder("ends")
    trade(k, give=count, take=count)
    k.finish()


@pytest.mark.parametrize(("ctas", "most"), [(1, 168), (2, 80)])
def test_a_launch_without_a_register_count(ctas, most):
    expect(
        lambda k: trade(k, maxnreg=0, ctas=ctas),
        "setmaxnreg.inc 232 has no effect: the launch gives no register count",
        f"declare it: k.launch_bounds({ctas}, maxnreg={most}) is the most for 384 threads",
        Rule.REGISTER_POOL,
    )


@pytest.mark.parametrize(("maxnreg", "ctas"), [(170, 1), (176, 1), (16, 1), (88, 2), (-8, 1)])
def test_a_register_count_that_no_launch_has(maxnreg, ctas):
    most = 168 // ctas // 8 * 8
    expect(
        lambda k: trade(k, maxnreg=maxnreg, ctas=ctas),
        f"maxnreg = {maxnreg} for 384 threads and {ctas} CTAs per SM",
        f"use a multiple of 8 from 24 to {most}: an SM has 65,536 registers",
    )


def test_a_small_block_has_at_most_what_a_thread_may_have():
    expect(
        lambda k: (k.block(4), k.launch_bounds(1, maxnreg=256), k.setmaxnreg.dec(64)),
        "maxnreg = 256 for 128 threads and 1 CTAs per SM",
        "use a multiple of 8 from 24 to 248: an SM has 65,536 registers",
    )


def test_a_role_that_is_no_warpgroup():
    expect(
        lambda k: trade(k, warps=1),
        "role 'load' uses setmaxnreg with 1 warps from warp 8",
        "a warpgroup is 4 warps and starts at a multiple of 4: put it first or pad",
    )
    expect(
        lambda k: (k.block(6), k.launch_bounds(1, maxnreg=64), k.setmaxnreg.dec(40)),
        "role 'block' uses setmaxnreg with 6 warps from warp 0",
        "a warpgroup is 4 warps and starts at a multiple of 4: put it first or pad",
    )


def test_one_lane_cannot_execute_it():
    k = ScheduleBuilder("elected")
    with pytest.raises(ScheduleError, match="^SetMaxNReg is executed by whole warps"), k.elect():
        k.setmaxnreg.dec(40)


@pytest.mark.parametrize(
    ("arch", "legal"),
    [("sm_80", False), ("sm_90", False), ("sm_90a", True), ("sm_100", False), ("sm_100a", True)],
)
def test_it_belongs_to_the_targets_of_one_architecture(arch, legal):
    k = ScheduleBuilder("arch", archs=(arch,))
    trade(k)
    if legal:
        k.finish()
        return
    with pytest.raises(ScheduleError, match=f"^SetMaxNReg does not exist on {arch}, which"):
        k.finish()


def test_sums_of_wgmma_fit_in_the_registers_of_the_launch():
    """ptxas refuses 208 columns with 128 registers ("insufficient registers to compile
    instruction"), whatever setmaxnreg.inc adds before it; 200 compile."""
    gemm = find_scenario("ws_gemm")
    given = {"block_m": 64, "setmaxnreg": 1}
    gemm.build({**given, "block_n": 200})
    with pytest.raises(ScheduleError) as error:
        gemm.build({**given, "block_n": 208})
    assert error.value.message == "wgmma m64n208 with maxnreg = 128 does not compile"
    assert error.value.fix == "it takes 130 registers: give the launch more, or n less"
    gemm.build({"block_m": 64, "block_n": 208})  # the compiler counts
