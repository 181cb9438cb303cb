"""The period jump: the same result as without it, whatever it passes over."""

from __future__ import annotations

import inspect
import tracemalloc
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim import state
from asyncsim.sim.barriers import TimedMbarrier, TimedNamedBarrier
from asyncsim.sim.beside import Late
from asyncsim.sim.clusters import ClusterState, TimedClusterBarrier
from asyncsim.sim.contents import Contents
from asyncsim.sim.do_matrix import Scoreboard
from asyncsim.sim.do_registers import TimedPool
from asyncsim.sim.flights import Flights
from asyncsim.sim.machine_state import Cta, Model
from asyncsim.sim.pace import Pace
from asyncsim.sim.period import Periods
from asyncsim.sim.report import prediction
from asyncsim.sim.role import Agent
from asyncsim.sim.scatter import Scatter
from asyncsim.sim.servers import Fifo, Pipe
from asyncsim.sim.simulate import Options, run, simulate
from asyncsim.sim.state import State
from asyncsim.sim.steps import Step
from asyncsim.sim.warpgroup import Warpgroup
from asyncsim.sync import GroupQueue, MbarrierState, NamedBarrierState, RegisterPool
from asyncsim.sync.cluster_barrier import ClusterBarrierState
from asyncsim.sync.tmem import TmemAllocator
from tests.sim.schedules import H200

JUMP = Options(certified=True)
FULL = replace(JUMP, jump=False)

CASES = [
    (tma_ring, {"tiles": 100, "ctas": 1}),
    (tma_ring, {"tiles": 90, "ctas": 1, "stages": 1, "consumers": 2}),
    (tma_ring, {"tiles": 150, "stages": 3, "ctas": 20, "ffma": 300}),
    (tma_ring, {"tiles": 60, "stages": 2, "ctas": 40, "tile_bytes": 4096, "ffma": 300}),
    (cp_async_multistage, {"tiles": 120, "ctas": 1, "stages": 4}),
    (cp_async_multistage, {"tiles": 200, "ctas": 20}),
    (ws_gemm, {"m": 128, "n": 128, "k": 8192, "stages": 3}),
    (cooperative_gemm, {"m": 512, "n": 1024, "k": 4096, "ctas": 7}),
    (flash_attention, {"seq": 4096, "heads": 1}),
]
"""Schedules that repeat."""


def outcome(model: Model) -> object:
    """All that the report says but the path, and what it says it from."""
    return (
        replace(prediction(model), path={}, bound_by=""),
        model.end,
        sorted(model.finished),
        model.stalls,
        model.clock.posted,  # type: ignore[attr-defined]
    )


def both(schedule: Schedule, l2: str = "cold") -> tuple[Model, Model]:
    with_jumps, full = (
        run(schedule, H200, replace(options, warm=l2 == "warm")) for options in (JUMP, FULL)
    )
    return with_jumps, full


def same(schedule: Schedule, l2: str) -> Model:
    """The run with jumps, which ends as the one without. On the path the last period before a jump
    stands for all of them: its causes may be others in the period before."""
    with_jumps, full = both(schedule, l2)
    assert outcome(with_jumps) == outcome(full)
    assert not full.jumps
    mine, theirs = prediction(with_jumps).path, prediction(full).path
    assert sum(mine.values()) == pytest.approx(1)
    for name in mine.keys() | theirs.keys():
        assert mine.get(name, 0) == pytest.approx(theirs.get(name, 0), abs=0.05)
    return with_jumps


@pytest.mark.parametrize("l2", ["cold", "warm"])
@pytest.mark.parametrize("case", CASES)
def test_a_jump_changes_nothing(case: tuple, l2: str) -> None:  # type: ignore[type-arg]
    scenario, params = case
    with_jumps = same(scenario.build(params), l2)
    assert with_jumps.jumps
    assert 0 < with_jumps.passed < with_jumps.end


def long_ones() -> st.SearchStrategy[Schedule]:
    rings = st.builds(
        lambda **p: tma_ring.build(p),
        stages=st.integers(1, 5),
        tiles=st.integers(30, 120),
        tile_bytes=st.sampled_from([1024, 4096, 16384]),
        consumers=st.integers(1, 4),
        ffma=st.sampled_from([0, 10, 64, 300]),
        ctas=st.sampled_from([1, 3, 20, 140, 300]),
    )
    gemms = st.builds(
        lambda stages, lag, **p: ws_gemm.build(
            {**p, "stages": stages, "lag": min(lag, stages - 1)}
        ),
        m=st.sampled_from([128, 512, 1000]),
        n=st.sampled_from([256, 1024]),
        k=st.sampled_from([1024, 2000, 4096]),
        block_m=st.sampled_from([64, 128]),
        block_n=st.sampled_from([64, 128]),
        stages=st.integers(1, 4),
        lag=st.integers(0, 1),
    )
    persistent = st.builds(
        lambda stages, **p: cooperative_gemm.build({**p, "stages": stages, "block_n": 128}),
        m=st.sampled_from([256, 1024]),
        n=st.sampled_from([512, 1024]),
        k=st.sampled_from([1024, 2048]),
        stages=st.integers(2, 5),
        ctas=st.sampled_from([1, 5, 16]),
    )
    copies = st.builds(
        lambda **p: cp_async_multistage.build(p),
        stages=st.integers(2, 5),
        tiles=st.integers(30, 90),
        tile_bytes=st.sampled_from([2048, 8192]),
        ffma=st.sampled_from([0, 64]),
        ctas=st.sampled_from([1, 132, 500]),
    )
    tiles = st.builds(
        lambda **p: tma_copy.build(p),
        m=st.sampled_from([256, 500]),
        n=st.sampled_from([512, 1000]),
    )
    return st.one_of(rings, gemms, persistent, copies, tiles)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(long_ones(), st.sampled_from(["cold", "warm"]))
def test_random_schedules_end_as_without_jumps(schedule: Schedule, l2: str) -> None:
    same(schedule, l2)


def no_ticks(self: State, later: State) -> bool:
    return self.what == later.what and len(self.local) == len(later.local)


def anything(self: State, later: State) -> bool:
    return self.what[0] == later.what[0] and len(self.local) == len(later.local)


@pytest.mark.parametrize("blind", [no_ticks, anything])
def test_a_state_that_lacks_something_gives_wrong_totals(
    monkeypatch: pytest.MonkeyPatch, blind: Callable[[State, State], bool]
) -> None:
    """Positive control: the comparison decides, and the tests above can fail."""
    monkeypatch.setattr(State, "recurs_in", blind)
    jumped = wrong = 0
    for stages in (1, 2, 3, 4):
        monkeypatch.setattr(Periods, "_key", lambda self, n=2 * stages: self._mark % n)
        for ffma in (0, 64):
            schedule = tma_ring.build({"tiles": 60, "ctas": 132, "ffma": ffma, "stages": stages})
            with_jumps, full = both(schedule)
            jumped += bool(with_jumps.jumps)
            wrong += with_jumps.end != full.end
    assert jumped > 5
    assert wrong > 3


def test_other_ops_end_a_jump() -> None:
    """The last rounds of a loop differ: they are simulated."""
    model = run(tma_ring.build({"tiles": 100, "ctas": 1}), H200, JUMP)
    (jump,) = model.jumps
    assert jump.end + jump.times * (jump.end - jump.begin) < model.end


def test_prediction_does_not_depend_on_jumps_and_exact_has_none() -> None:
    schedule = cooperative_gemm.build({"m": 512, "n": 1024, "k": 2048, "ctas": 4})
    assert simulate(schedule, H200, certified=True) == prediction(run(schedule, H200, FULL))
    assert not run(schedule, H200, replace(JUMP, exact=True)).jumps
    assert not run(schedule, H200, replace(JUMP, certified=False)).jumps
    assert not run(schedule, H200, replace(JUMP, keep_trace=True)).jumps


def peak(tiles: int) -> int:
    schedule = tma_ring.build({"tiles": tiles, "ctas": 1, "tile_bytes": 1024})
    tracemalloc.start()
    try:
        run(schedule, H200, replace(JUMP, warm=True))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_trip_count() -> None:
    peak(100)  # what is kept for all runs
    assert peak(4000) - peak(1000) < 500_000  # a step of each op of those tiles takes megabytes


LEFT_OUT = {
    Agent: {
        # the same for the whole run of an agent
        *("model", "cta", "warps", "index", "key", "issue_label", "comp_label"),
        *("warpgroup", "slot", "rec"),
        # causes, and what only they need
        *("seg_t", "seg_cause", "sync", "comp", "copies_cause"),
        *("stalls", "stalled", "stall_total"),  # sums
        *("stream", "block", "read", "indices"),  # what is executed is compared op by op
    },
    TimedMbarrier: {"cta", "name", "extra", "on_complete"},
    TimedNamedBarrier: set(),
    TimedClusterBarrier: set(),
    MbarrierState: set(),
    NamedBarrierState: {"generation", "whole"},
    ClusterBarrierState: {"_warps"},
    RegisterPool: {"size"},
    TimedPool: set(),
    TmemAllocator: set(),
    GroupQueue: {"retired"},  # what is in the trace alone
    Warpgroup: {"cta", "key", "_slots"},
    ClusterState: {"slots", "_ctas"},
    Scatter: {"_width"},
    Pace: {"_late"},
    Flights: set(),
    Scoreboard: set(),
    Fifo: {"busy", "label", "_whole_num", "_whole_den", "_den"},
    Pipe: {"busy", "held", "label"},
    Late: set(),
    Step: {"op", "like"},  # op_id says which; one of those that it is equal to
    Contents: {"_boxes", "_held", "_capacity", "record", "passed"},  # followed box by box
}
"""By class: the fields that the state of a run leaves out, each for one of these reasons."""


FIELDS = {
    Agent: {
        *("aside", "at", "blocked", "bulk", "copies", "copies_landing", "cp", "deferred", "done"),
        *("held", "peeks", "states", "t", "tensor_done", "tmem_done", "tmem_free"),
        *("scoreboard", "loads_free", "left"),
    },
    TimedMbarrier: {"cause", "done", "done_cause", "landed", "stamp", "waiters"},
    TimedNamedBarrier: {"cause", "left", "stamp", "waiters"},
    TimedClusterBarrier: {"cause", "done", "done_cause", "stamp", "waiters"},
    MbarrierState: {
        *("count", "generation", "initialised", "life", "next_count", "pending"),
        *("skipped", "tx"),
    },
    NamedBarrierState: {"arrived", "exited", "threads", "warps"},
    ClusterBarrierState: {"_exited", "_owed", "arrived", "generation"},
    RegisterPool: {"_executed", "free", "held"},
    TimedPool: {"waiting"},
    TmemAllocator: {"live", "relinquished"},
    GroupQueue: {"committed", "open"},
    Warpgroup: {
        *("_commits", "_ends", "_first", "_groups", "_in_queue", "_last", "_pending"),
        *("_position", "_retired", "_work", "closed", "commits", "ended", "issued"),
        *("parked", "queue_depth", "waited"),
    },
    ClusterState: {"_alone", "barrier", "left"},
    Scatter: {"drawn"},
    Pace: {"_ample", "_apart", "_best", "_changes", "_known", "_since"},
    Flights: {"_alone", "_barrier", "_landing", "_others"},
    Scoreboard: {"_written"},
    Fifo: {"_free", "_num", "last"},
    Pipe: {"free", "last"},
    Late: {"_free", "_until"},
    Contents: set(),
    Step: {
        *("amount", "aside", "barrier", "beside", "box", "cost", "count", "far", "in_registers"),
        "instructions",
        *("light", "name", "op_id", "peers", "polls", "rank", "reads", "run", "shared"),
        *("states", "turn", "value", "work", "writes"),
    },
}
"""By class: the fields that the state of a run holds."""


@pytest.mark.parametrize("cls", LEFT_OUT)
def test_every_field_is_in_the_state_or_left_out_for_a_reason(cls: type) -> None:
    """A new field has to be thought about: the state must hold it if it decides anything."""
    tellers = (
        Warpgroup.state,
        Pace.state,
        Flights.state,
        Scoreboard.state,
        Step._told,
        Fifo.clock.fget,
        Late.until,
    )
    sources = "".join(map(inspect.getsource, (state, *tellers, ClusterBarrierState.so_far)))
    left_out = LEFT_OUT[cls]
    slots = set(cls.__slots__)  # type: ignore[attr-defined]
    assert left_out <= slots
    told = FIELDS[cls]
    assert told | left_out == slots, "a new field: does it decide what follows?"
    assert not told & left_out
    for name in told:
        assert name in sources, name


def test_every_attribute_of_ctas_sms_and_memory_is_thought_about() -> None:
    model = run(tma_ring.build({"tiles": 2, "ctas": 1}), H200, FULL)
    sm = model.sms[0]
    cta = Cta(sm, 0, 0, 0, (0, "", 0, None), ClusterState(1, 1))
    assert set(vars(sm)) == {
        *("late", "tma", "reader", "port", "tensor", "smem", "lsu", "store", "pipes"),  # servers
        *("products", "issued"),
        *("starts", "landing", "operand_bytes", "operand_ticks", "tmem", "tmem_waiters", "maps"),
        "operands_in_registers",
        *("model", "index", "key", "queue_depth", "warpgroups", "rec"),  # fixed
    }
    assert set(vars(cta)) == {
        *("cluster", "mbarriers", "named", "exits", "registers", "flights", "tmem", "scatter"),
        *("paces", "agents", "live", "end", "number"),
        *(
            "sm",
            "slot",
            "rank",
            "launched",
            "start",
            "began",
            "cause",
            "end_cause",
            "_shares",
            "weight",
        ),
    }
    assert set(vars(model.memory)) == {
        *("dram", "_l2_write", "_store", "_ports", "_deliveries", "_ways"),  # servers
        *("_flight", "_in_flight", "_own"),  # of DRAM reads; the last two are their sums
        *("contents", "asked"),  # followed box by box; a sum
        *("_parts", "_places", "_weights", "_all_sms", "_others", "_keeps", "_worth"),  # fixed
        *("_beside", "_round_trip"),  # fixed
    }
    assert {n for n, v in vars(model).items() if isinstance(v, int | list | dict | deque)} == {
        *("open", "unplaced", "sms", "ready", "clusters"),
        *("finished", "stalls", "end", "passed", "jumps", "triggers"),  # results
        *("strict", "handover", "remote_handover", "poll", "spread", "descriptor", "barriers"),
        *(
            "partitions",
            "alike",
            "queue_depth",
            "wgmma_queue",
            "prologue",
            "ending",
            "descriptors",
            "extras",
        ),
        "tensor_issuers",  # fixed
    }
