"""The tables of what launches showed."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.hw.proof_table import load, survivors, twins
from asyncsim.hw.small import twin_problems
from asyncsim.hw.store import PROVENANCE


def lines(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The table's lines for tma_ring and ws_gemm, by twin."""
    text = twins([{"twins": rows}])
    found = [line.split(" | ", 1) for line in text.splitlines()]
    return {cells[0].split("`")[3]: cells[1] for cells in found if "`tma_ring`" in cells[0]}


def row(twin: str, form: str, **more: Any) -> dict[str, Any]:
    scenario = find_scenario("tma_ring")
    params = next(p for p, _ in twin_problems(scenario, scenario.twin(twin)))
    head = {"scenario": "tma_ring", "twin": twin, "params": params, "delay": "", "what": ""}
    return {**head, "form": form, "launches": 1234, "advisories": [], **more}


def test_how_a_twin_shows() -> None:
    delay = "compute tile_hash delayed by 20000 cycles in warp 3"
    wide = {**row("no_full_wait", "")["params"], "stages": 1, "ctas": 264}
    found = lines(
        [
            row("early_release", "wrong data", delay=delay),
            row("expect_short", "hang"),
            row("no_full_wait", "exception", params=wide, delay="random delays, seed 4"),
            row("no_init_fence", "hidden"),
            row("no_proxy_fence", "hidden", advisories=["C7517", "C7519"]),
            row("producer_phase", "not launched", what="it blocks"),
            row("wrong_tile", "hidden"),
        ]
    )
    assert found["early_release"] == (
        "`WRITE_BEFORE_RELEASE` | wrong data | "
        "`compute tile_hash` delayed by 20000 cycles in warp 3 |"
    )
    assert found["expect_short"] == "`TX_BYTES_MISMATCH` | hang | at once |"
    assert found["no_full_wait"] == (
        "`READ_BEFORE_ARRIVAL` | exception | random delays, seed 4 with ctas=264, stages=1 |"
    )
    assert found["no_init_fence"].startswith(
        "`MISSING_INIT_FENCE` | nothing in 1,234 launches | the bytes of a copy count 350 cycles "
    )
    assert found["no_proxy_fence"] == (
        "`PROXY_WAR` | nothing in 1,234 launches | ptxas repairs it, and says so (C7517, C7519) |"
    )
    assert found["producer_phase"] == "`DEADLOCK` | not launched | it blocks |"
    assert found["wrong_tile"] == "`WRONG_TILE` | nothing in 1,234 launches | no explanation |"
    assert found["one_warp_arrives"] == "`LAPPED_WAITER` | not run yet |  |"


@pytest.mark.parametrize("turned", [False, True])
def test_a_twin_that_showed_once_is_shown(turned: bool) -> None:
    rows = [row("wrong_tile", "hidden"), row("wrong_tile", "wrong data")]
    found = lines(rows[::-1] if turned else rows)
    assert found["wrong_tile"] == "`WRONG_TILE` | wrong data | at once |"


def test_survivors_are_added_up() -> None:
    first = {"scenario": "sync_copy", "params": {"tiles": 7}, "launches": 1000, "failures": []}
    again = {**first, "launches": 500, "failures": [{"seed": 3}]}
    other = {**first, "params": {"tiles": 8}}
    text = survivors([{"survived": [first, other]}, {"survived": [again]}])
    assert "| `sync_copy` | 2 | 2,500 | 1 |" in text.splitlines()
    assert "| `tma_copy` | 0 | 0 | 0 |" in text.splitlines()


def test_stored_results_name_their_source() -> None:
    stored = load()
    assert stored
    for document in stored:
        assert document["schema"] == 1
        assert all(document["provenance"].get(name) for name in PROVENANCE)
        assert all(r["launches"] >= 1000 and not r["failures"] for r in document["survived"])
