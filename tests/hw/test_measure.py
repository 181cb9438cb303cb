"""Measuring, with a child that answers as a GPU would: rows, failures, limits, intervals."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncsim.catalog import find_scenario
from asyncsim.hw import measure as measuring
from asyncsim.hw.compare import grouped
from asyncsim.hw.configuration import Configuration
from asyncsim.hw.configurations import SETS
from asyncsim.hw.coverage import COVERAGE
from asyncsim.hw.interval_set import INTERVALS
from asyncsim.hw.launch.prepare import Stamps
from asyncsim.hw.launch.protocol import RunReply, RunSpec
from asyncsim.hw.measure import measure, measured_once
from asyncsim.hw.render.hooks import END_WORD
from asyncsim.hw.store import load_all
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stamped import leaves_stamp
from asyncsim.stream import Program

STAMPS = Stamps(ctas=4, capacity=64)
RING = Configuration(scenario="tma_ring", params={"ctas": 1, "tiles": 8}, l2="warm")
GPU = {"gpu": "g", "board": "b"}


@dataclasses.dataclass
class StandIn:
    """Stamps every 50 cycles; writes what is wanted, or zeros."""

    schedule: Schedule
    wanted: dict[str, Any] | None = None
    runs: int = 0

    def run(self, spec: RunSpec, *, timeout_s: float = 60.0) -> RunReply:
        self.runs += 1
        for name, t in spec.tensors.items():
            if t.output:
                values = np.zeros(t.elements, np.uint32)
                if self.wanted is not None:
                    values = np.ascontiguousarray(self.wanted[name]).reshape(-1)
                values.tofile(t.output)
        if spec.stamps:
            self._stamp(spec)
        n = spec.launches
        times = {"span_ns": (1000,) * n, "cta_cycles": (1900,) * n, "clock_ghz": (1.9,) * n}
        return RunReply(**times, starts=((50, 1000),) * 64, gpu=GPU)  # type: ignore[arg-type]

    def _stamp(self, spec: RunSpec) -> None:
        out = np.zeros((spec.stamp_ctas, self.schedule.warps, spec.stamp_capacity, 2), np.uint32)
        for cta in range(spec.stamp_ctas):
            for warp in range(self.schedule.warps):
                stream = Program(self.schedule).stream((cta, 0, 0), warp)
                words = [d.op.id + 1 for d, _ in stream if leaves_stamp(d.op)] + [END_WORD]
                for i, word in enumerate(words):
                    out[cta, warp, i] = word, 1000 + 50 * i
        out.tofile(spec.stamps)


def child_for(c: Configuration) -> StandIn:
    from asyncsim.evaluate import make_inputs
    from asyncsim.hw.launch.verify import chosen_ctas, expected_outputs

    schedule = find_scenario(c.scenario).build(c.params)
    inputs = make_inputs(schedule, purpose="verify")
    expected = expected_outputs(schedule, inputs, chosen_ctas(schedule, 4))
    return StandIn(schedule, dict(expected))


def test_a_row_is_verified_and_timed() -> None:
    child = child_for(RING)
    ((row, gpu),) = measure([RING], child)  # type: ignore[arg-type]
    assert gpu == GPU and child.runs == 2
    assert (row["verified"], row["cycles"], row["n"]) == (True, 1900.0, 21)
    assert "intervals" not in row
    ((wrong, _),) = measure([RING], StandIn(child.schedule))  # type: ignore[arg-type]
    assert not wrong["verified"] and " differ: " in wrong["verification"]


def test_intervals_of_a_stamped_launch() -> None:
    child = child_for(RING)
    ((row, _),) = measure([RING], child, stamps=STAMPS)  # type: ignore[arg-type]
    assert child.runs == 3 and row["complete"] and row["stamped_cycles"] == 1900.0
    roles = {i["role"]: i for i in row["intervals"] if i["step"]}
    assert roles["producer"]["median"] == 150.0, "wait, arrive, load"
    assert roles["consumer"]["median"] == 150.0, "wait, compute, arrive"
    between = [i["median"] for i in row["intervals"] if not i["step"]]
    assert set(between) == {50.0, 100.0}, "a compute begins and ends no interval"


def test_one_bad_row_does_not_cost_the_others() -> None:
    bad = dataclasses.replace(RING, params={"stages": 0})
    (failed, _), (row, _) = measure([bad, RING], child_for(RING))  # type: ignore[arg-type]
    assert failed["error"].startswith("ScheduleError: stages = 0")
    assert row["verified"]


def test_none_begins_after_the_limit() -> None:
    assert list(measure([RING] * 3, child_for(RING), limit_s=-1)) == []  # type: ignore[arg-type]


def test_what_was_measured_once() -> None:
    once = measured_once()
    boards = {
        key: {m.provenance["board"] for m in rows} for key, rows in grouped(load_all()).items()
    }
    assert len(once) == sum(len(b) == 1 for b in boards.values())


@pytest.mark.parametrize("chosen", [COVERAGE, INTERVALS], ids=["coverage", "intervals"])
def test_every_configuration_can_be_built(chosen: tuple[Configuration, ...]) -> None:
    for c in chosen:
        scenario = find_scenario(c.scenario)
        assert set(c.params) <= set(scenario.params)
        scenario.build(c.params)


def test_what_is_covered() -> None:
    """All stages from 1 to 8, both lags, and several distances, by more than one scenario."""
    every = {c for configurations in SETS.values() for c in map(_key, configurations)}
    stages = {(s, dict(p).get("stages")) for s, p, _ in every}
    for n in range(1, 9):
        assert len({s for s, m in stages if m == n}) >= 2, n
    assert len({s for s, p, _ in every if dict(p).get("lag") == 0}) >= 5
    assert len({s for s, p, _ in every if dict(p).get("distance")}) >= 5
    assert {s for s, _, _ in every} == {m.scenario for m in load_all()}


def test_intervals_reach_far_enough() -> None:
    assert len(INTERVALS) >= 10 and len({c.scenario for c in INTERVALS}) >= 6


def _key(c: Configuration) -> tuple[str, tuple[tuple[str, int], ...], str]:
    return c.scenario, tuple(sorted(c.params.items())), c.l2


def test_the_command_writes_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Here(StandIn):
        def __init__(self) -> None:
            known = child_for(RING)
            super().__init__(known.schedule, known.wanted)

        def __enter__(self) -> Here:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(measuring, "Child", Here)
    monkeypatch.setitem(measuring.SETS, "smoke", (RING,))
    out = tmp_path / "rows.json"
    assert measuring.main(["--out", str(out), "--set", "smoke", "--commit", "c"]) == 0
    document = json.loads(out.read_text())
    assert document["provenance"]["commit"] == "c" and len(document["rows"]) == 1
