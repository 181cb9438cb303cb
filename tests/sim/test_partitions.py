"""Sub-partitions that do the same are simulated as one: what is predicted is the same."""

from __future__ import annotations

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.machine import load_machine
from asyncsim.sim import machine_state, simulate
from asyncsim.sim.partitions import partition_counts, told_apart


def test_those_of_which_every_agent_asks_the_same_are_one() -> None:
    assert partition_counts((0, 1, 2, 3, 4)) == [2, 1, 1, 1]
    whole, first, others = [1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 1, 1]
    assert told_apart([whole, whole]) == ([[1], [1]], [4])
    assert told_apart([first, others]) == ([[1, 0], [0, 1]], [1, 3])
    assert told_apart([[0, 1, 0, 1], whole]) == ([[0, 1], [1, 1]], [2, 2])
    assert told_apart([first, [0, 1, 0, 0], [0, 0, 1, 0]]) == (
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
        [1, 1, 1, 1],
    )


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("flash_attention", {"seq": 1024, "heads": 2}),
        ("mma_gemm", {"m": 256, "n": 256, "k": 256}),
        ("cp_async_multistage", {}),
        ("sgemm_cp_async", {"m": 256, "n": 256, "k": 64}),
    ],
)
def test_it_predicts_what_four_of_them_do(
    name: str, params: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, machine = find_scenario(name), load_machine("h200")
    schedule = found.build({**found.params, **params})

    def prediction() -> object:
        return simulate(schedule, machine, certified=True, ties=False)

    merged = prediction()
    monkeypatch.setattr(machine_state, "told_apart", lambda counts: (counts, [1] * 4))
    assert prediction() == merged
