"""Parts of the model on their own: servers, warp classes, placement, sharing, turns, causes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir import op as ops
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim.flights import Flights
from asyncsim.sim.pace import Pace
from asyncsim.sim.path import after, walk
from asyncsim.sim.placement import place
from asyncsim.sim.scatter import Scatter
from asyncsim.sim.servers import Fifo, Pipe
from asyncsim.sim.sharing import Sharing
from asyncsim.sim.turns import left_alone, turn_costs
from asyncsim.sim.warps import warp_classes
from tests.sim.schedules import H200

START = (0, "launch", 0, None)
FLOOR = Fraction(H200.l2.gpc_bytes_per_cycle, H200.l2.shared_gpc_bytes_per_cycle)


def test_a_server_never_loses_a_fraction_of_a_tick() -> None:
    """16 KB over 64 B/clk, 132 requesters: 256 cycles each, not 257.8."""
    server = Fifo("L2", Fraction(132 * 64, 64))
    end = 0
    for _ in range(1000):
        _, end, _, _ = server.serve(0, 16384, START)
    assert end == -(-1000 * 16384 // 132)


def test_a_server_is_idle_until_it_is_asked() -> None:
    server = Fifo("port", Fraction(2))
    assert server.serve(10, 20, START)[:2] == (10, 20)
    assert server.serve(12, 20, START)[:2] == (20, 30)
    assert server.serve(100, 20, START)[:2] == (100, 110)
    assert server.busy_ticks == 30


def test_a_part_of_a_server_keeps_its_pace_and_its_speed() -> None:
    part = Fifo("DRAM", Fraction(1), Fraction(10))
    assert part.serve(0, 100, START)[:2] == (0, 10)
    assert part.serve(0, 100, START)[:2] == (100, 110)


def test_a_request_for_several_takes_the_server_for_all_of_them() -> None:
    """One of two, and one of three: the next waits for all five, each is through by itself."""
    server = Fifo("DRAM", Fraction(10), Fraction(10))
    assert server.serve(0, 100, START, 2)[:2] == (0, 10)
    assert server.serve(0, 100, START, 3)[:2] == (20, 30)
    assert server.serve(0, 100, START)[:2] == (50, 60)
    assert server.busy_ticks == 60


def test_a_queued_request_continues_the_cause_of_the_one_before() -> None:
    pipe = Pipe("tensor core")
    pipe.serve(0, 50, START)
    pipe.serve(10, 50, (10, "issue", 5, START))
    assert pipe.last == (100, "tensor core", 0, START)
    shares, _ = walk(after(pipe.last, 130, "tail"))
    assert shares == {"tail": 30, "tensor core": 100, "launch": 0}


def test_warps_that_nothing_tells_apart_are_one() -> None:
    ring_classes = warp_classes(tma_ring.build({"tiles": 2}))
    # Warp 0 runs the set-up of the barriers.
    assert [(c.role, c.warps) for c in ring_classes] == [
        ("consumer", (0,)),
        ("consumer", (1, 2, 3)),
        ("producer", (4,)),
    ]
    assert [c.warps for c in warp_classes(cp_async_multistage.build({}))] == [(0, 1, 2, 3)]
    gemm = warp_classes(ws_gemm.build({"m": 128, "n": 128, "k": 64}))
    assert [c.warps for c in gemm] == [(0,), (1, 2, 3), (4,)]


def test_what_the_warp_alone_decides_tells_warps_apart_by_its_value() -> None:
    k = ScheduleBuilder("halves", archs=("sm_90a",))
    k.block(8)
    first_row = k.var("first_row", 16 * k.warp_in_role)  # an address, which takes no time
    turn = k.var("turn", k.warp_in_role // 4)
    with k.loop(10) as i, k.when((i + turn > 1) & (k.warp_in_role // 2 % 2 == 0)):
        k.bar.warp_sync()
    del first_row
    assert [c.warps for c in warp_classes(k.finish())] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    flash = warp_classes(flash_attention.build({"seq": 512, "heads": 1}))
    assert [c.warps for c in flash[:4]] == [(0,), (1, 2, 3), (4,), (5, 6, 7)]


def test_warps_that_control_tells_apart_are_not_merged() -> None:
    k = ScheduleBuilder("apart", archs=("sm_90a",))
    k.block(4)
    with k.when(k.warp_in_role < 2):
        k.bar.warp_sync()
    with k.loop(k.warp_in_role * 0 + 1):
        k.bar.warp_sync()
    kept = warp_classes(k.finish())
    assert [c.warps for c in kept] == [(0, 1), (2, 3)]

    k = ScheduleBuilder("var", archs=("sm_90a",))
    k.block(2)
    mine = k.var("mine", k.warp_in_role)
    twice = k.var("twice", mine * 2)
    with k.loop(twice):
        k.bar.warp_sync()
    assert [c.warps for c in warp_classes(k.finish())] == [(0,), (1,)]


@pytest.mark.parametrize("ctas", [1, 5, 8, 9, 60, 131, 132, 133, 200, 256, 1024])
def test_sampled_sms_stand_for_their_classes(ctas: int) -> None:
    placement = place(tma_ring.build({"tiles": 1, "ctas": ctas}), H200, exact=False)
    active = min(132, ctas)
    assert placement.active_sms == active
    assert min(active, 8) <= len(placement.sms) <= 10
    assert sum(s.stands_for for s in placement.sms) == active
    for s in placement.sms:  # an SM stands for those of GPCs that are loaded alike
        others = [o for o in placement.sms if o.gpcs == s.gpcs]
        assert sum(o.stands_for for o in others) % s.gpc_active == 0
    assert len(placement.gpc_of) == active
    counts = [sum(n % active == s.index for n in placement.queue) for s in placement.sms]
    assert sum(counts) == len(placement.queue)
    assert max(counts) == -(-ctas // active)
    if ctas % active:
        assert min(counts) == ctas // active
    exact = place(tma_ring.build({"tiles": 1, "ctas": ctas}), H200, exact=True)
    assert exact.queue == tuple(range(ctas))


def test_a_full_grid_fills_one_gpc_after_another() -> None:
    full = place(tma_ring.build({"tiles": 1, "ctas": 132}), H200, exact=True).gpc_of
    assert [full.count(g) for g in range(8)] == list(H200.gpu.gpc_sms)
    assert list(full) == sorted(full)
    few = place(tma_ring.build({"tiles": 1, "ctas": 16}), H200, exact=True).gpc_of
    assert few == (0,) * 8 + (1,) * 8


def loads(schedule):  # type: ignore[no-untyped-def]
    return [op.id for op in schedule.ops() if isinstance(op, ops.TmaLoad | ops.CpAsync)]


def test_ctas_of_a_row_share_their_boxes() -> None:
    """C of 16 x 16 tiles: in the first 16 CTAs all A differ, B is one."""
    schedule = ws_gemm.build({"m": 2048, "n": 2048, "k": 256})
    placement = place(schedule, H200, exact=True)
    sharing = Sharing(schedule, placement, 54_000_000, FLOOR, warm=False)
    a, b = loads(schedule)
    assert sharing.of(0, a).gpc == (1, 1)
    assert sharing.of(0, a).apart == (0, 1)
    # In step the GPC fetches B once; apart, a part of the other 15 sixteenths comes again.
    assert sharing.of(0, b).gpc == (1, 16)
    assert sharing.of(0, b).apart == (FLOOR * Fraction(15, 16)).as_integer_ratio()
    # All GPCs read A of column 0, so both partitions of L2 hold it; one GPC reads B of row 0.
    assert (sharing.of(0, a).copies, sharing.of(0, b).copies) == (2, 1)
    # 132 CTAs run at once: A of column 0 is read by rows 0..8, B of row 0 by 16 CTAs.
    assert sharing.of(0, a).dram == (1, 9)
    assert sharing.of(0, b).dram == (1, 16)
    assert sharing.of(0, a).miss
    assert not sharing.of(140, a).miss  # the second wave finds A in L2
    assert sharing.of(255, b).miss


def test_half_lines_are_merged_in_step_only() -> None:
    schedule = ws_gemm.build({"m": 2048, "n": 2048, "k": 256, "block_k": 32})
    sharing = Sharing(schedule, place(schedule, H200, exact=True), 54_000_000, FLOOR, warm=False)
    b = loads(schedule)[1]
    assert (sharing.of(0, b).gpc, sharing.of(0, b).apart) == ((1, 16), (15, 16))


def test_pace_comes_apart_on_margins_that_stay_short() -> None:
    pace = Pace(100)
    for time, margin in enumerate((-50, -20, 10, 5, 5)):
        pace.waited(margin, time)
    for time in (9, 10, 11):
        pace.waited(100, time)
    assert [pace.apart(t) for t in (3, 4, 5, 9, 11)] == [False, False, True, True, True]
    assert not pace.apart(12)


def test_one_early_landing_does_not_bring_an_sm_back_in_step() -> None:
    pace = Pace(100)
    for time, margin in enumerate((-50, -50, -50, 100, 100, 5)):
        pace.waited(margin, time)
    assert [pace.apart(t) for t in (2, 3, 6)] == [False, True, True]


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_rounds_that_wait_for_one_another_are_told_by_what_is_in_flight(stages: int) -> None:
    """Two boxes a round; each round lands 100 after it began, and the next begins at 200."""
    flights = Flights()
    found = []
    for turn in range(5):
        for box in (0, 10):
            found.append(flights.lone(turn % stages, 200 * turn + box))
            flights.add(200 * turn + 100)
    assert found == [False] * 4 + [True] * 6
    assert flights.lone(7, 1000)
    flights.add(1300)
    assert not flights.lone(8, 1100)  # one round is still in flight
    flights.add(1400)
    assert not flights.lone(7, 1500)  # and the next one alone does not settle it


def test_scattered_landings_have_the_spread_that_was_asked_for() -> None:
    scatter = Scatter(800, 3)
    drawn = [scatter.next() for _ in range(2000)]
    first, values = drawn[0], sorted(drawn)
    assert values[0] >= -500 and values[-1] < 500
    assert abs(values[1800] - values[200] - 800) < 40
    assert abs(sum(values) / 2000) < 15
    assert [Scatter(800, 3).next(), Scatter(0, 3).next()] == [first, 0]


def test_lanes_that_have_exited_leave_their_elected_lane_alone() -> None:
    waits = [op.id for op in tma_ring.build({}).ops() if isinstance(op, ops.MbarrierWait)]
    assert [w in left_alone(tma_ring.build({})) for w in waits] == [False, True]


def test_a_box_that_was_pushed_out_misses_again() -> None:
    schedule = ws_gemm.build({"m": 2048, "n": 2048, "k": 256})
    placement = place(schedule, H200, exact=True)
    small = Sharing(schedule, placement, 1_000_000, FLOOR, warm=False)
    assert small.of(140, loads(schedule)[0]).miss


def test_a_warm_start_hits_unless_the_tensors_exceed_l2() -> None:
    schedule = tma_ring.build({"tiles": 2, "ctas": 132})
    placement = place(schedule, H200, exact=True)
    load = loads(schedule)[0]
    assert not Sharing(schedule, placement, 54_000_000, FLOOR, warm=True).of(3, load).miss
    assert Sharing(schedule, placement, 1_000_000, FLOOR, warm=True).of(3, load).miss
    private = Sharing(schedule, placement, 54_000_000, FLOOR, warm=False).of(3, load)
    assert (private.dram, private.gpc) == ((1, 1), (1, 1))


def test_turns_are_told_by_the_ops_in_the_loop() -> None:
    def kinds(schedule) -> set[str]:  # type: ignore[no-untyped-def]
        return {key for keys in turn_costs(schedule).values() for key in keys}

    assert kinds(tma_ring.build({"tiles": 2})) == {
        "code.consumer",
        "code.producer_elected",
        "barrier.elect",
    }
    assert kinds(cp_async_multistage.build({})) == {"code.cp_async"}
    assert kinds(ws_gemm.build({"m": 128, "n": 128, "k": 64})) == {
        "code.wgmma_consumer",
        "code.producer_elected",
        "barrier.elect",
    }
