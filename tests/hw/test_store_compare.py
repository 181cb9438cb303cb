"""Stored measurements, and predictions laid against them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.errors import UsageError
from asyncsim.hw.compare import ComparedRow as Row
from asyncsim.hw.compare import (
    compare,
    comparison_json,
    configuration,
    summarise,
)
from asyncsim.hw.configurations import SETS
from asyncsim.hw.measure import document_text
from asyncsim.hw.statistics import tau_b, top1_regrets
from asyncsim.hw.store import FOLDER, Measurement, find, load_all, load_file

GOOD: dict[str, Any] = {
    "scenario": "tma_ring",
    "params": {"stages": 2, "tiles": 8},
    "l2": "cold",
    "verified": True,
    "verification": "8 elements of 1 of 1 CTAs equal",
    "cycles": 200.0,
    "cycles_p10": 190.0,
    "cycles_p90": 220.0,
    "time_us": 10.0,
    "clock_mhz": 20.0,
    "n": 21,
    "registers": 24,
    "cubin": "abc",
}
FACTS = {"gpu": "g", "board": "b", "driver": "1", "cuda": "13.0", "nvrtc": "13.0"}
FACTS |= {"date": "2026-11-30", "commit": "c"}


def stored(tmp_path: Path, *rows: dict[str, Any], **changed: Any) -> Path:
    document = {"schema": 1, "provenance": FACTS, "rows": list(rows), **changed}
    path = tmp_path / "board.json"
    path.write_text(document_text(document), encoding="utf-8")
    return path


def test_rows_round_trip(tmp_path: Path) -> None:
    path = stored(tmp_path, GOOD, {**GOOD, "error": "timed out"})
    (m,) = load_file(path)
    assert (m.cycles, m.spread, m.provenance["board"], m.verified) == (200.0, 30.0, "b", True)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 8  # one row a line


@pytest.mark.parametrize(
    ("row", "changed", "message"),
    [
        ({**GOOD, "n": 19}, {}, "row 0: l2 'cold', 19 launches; need 20 or more"),
        ({**GOOD, "l2": "hot"}, {}, "row 0: l2 'hot', 21 launches; need 20 or more"),
        ({**GOOD, "cycles": 300.0}, {}, "row 0: cycles are not ordered: 300.0"),
        ({**GOOD, "params": 3}, {}, "row 0: AttributeError(\"'int' object has no attribute"),
        (GOOD, {"schema": 2}, "not a measurement file of schema 1; measure again"),
        (GOOD, {"provenance": {"gpu": "g"}}, "provenance lacks board, driver, cuda, nvrtc, date,"),
    ],
)
def test_bad_files_are_named(
    tmp_path: Path, row: dict[str, Any], changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        load_file(stored(tmp_path, row, **changed))
    assert str(error.value).startswith(f"board.json: {message}")


def test_find_by_parameters(tmp_path: Path) -> None:
    warm = {**GOOD, "l2": "warm"}
    rows = load_file(stored(tmp_path, GOOD, warm))
    asked = {"stages": 2, "tiles": 8, "newer": 1}
    assert len(find(rows, "tma_ring", asked)) == 2
    assert [m.l2 for m in find(rows, "tma_ring", asked, "warm")] == ["warm"]
    assert find(rows, "tma_ring", {"stages": 3, "tiles": 8}) == ()
    assert find(rows, "ws_gemm", asked) == ()
    assert len(find(rows, "tma_ring", asked, defaults={"newer": 1, "stages": 7})) == 2
    assert find(rows, "tma_ring", asked, defaults={"newer": 0}) == ()


def test_what_is_stored() -> None:
    """At least 24 verified configurations, at least 10 of ws_gemm, from at least two boards."""
    rows = load_all()
    assert all(m.verified for m in rows)
    count = Counter(m.scenario for m in {configuration(m): m for m in rows}.values())
    assert count["ws_gemm"] >= 14 and count["cp_async_multistage"] >= 12 and count["tma_ring"] >= 12
    for m in rows:  # every stored row can be built again
        scenario = find_scenario(m.scenario)
        assert set(m.params) <= set(scenario.params)
    assert len({m.provenance["board"] for m in rows}) >= 2
    assert len(list(FOLDER.glob("*.json"))) >= 2


def test_sets_have_no_doubles() -> None:
    for name, configurations in SETS.items():
        keys = [(c.scenario, tuple(sorted(c.params.items())), c.l2) for c in configurations]
        assert len(keys) == len(set(keys)), name


def row(measured: float, predicted: float | None, **changed: Any) -> Row:
    fields: dict[str, Any] = {
        "scenario": "s",
        "params": {"stages": int(measured)},
        "l2": "cold",
        "boards": 1,
        "measured": measured,
        "time_us": 50.0,
        "spread_pct": 1.0,
        "predicted": predicted,
    }
    return Row(**{**fields, **changed})


def test_statistics_of_errors() -> None:
    c = summarise(
        [
            row(100, 110),
            row(200, 180),
            row(400, 400),
            row(800, None),
            row(50, 100, time_us=4.9),
        ]
    )
    assert (c.overall.n, c.overall.median, c.overall.max) == (3, 10.0, 10.0)
    assert c.overall.mean == pytest.approx(20 / 3)
    assert (c.short.n, c.short.max, c.unpredicted) == (1, 100.0, 1)
    assert comparison_json(c)["error_pct"]["p90"] == 10.0
    assert comparison_json(c)["rows"][1]["error_pct"] == -10.0


def test_tau_b_counts_only_pairs_that_differ() -> None:
    assert tau_b([row(100, 1), row(200, 2), row(300, 3)]) == 1.0
    assert tau_b([row(100, 3), row(200, 2), row(300, 1)]) == -1.0
    assert tau_b([row(100, 2), row(101.9, 1)]) == 0.0  # within twice the spread
    assert tau_b([row(100, 1), row(200, 1)]) == 0.0  # all tied
    one_tie = tau_b([row(100, 1), row(200, 1), row(300, 2)])
    assert one_tie == pytest.approx(2 / (3 * 2) ** 0.5)
    assert tau_b([row(100, 2), row(200, 1, scenario="t")]) == 0.0


def test_regret_of_the_choice() -> None:
    """Among alternatives of one problem the prediction picks 120; the best is 100."""
    rows = [row(100, 90), row(120, 80), row(130, 95), row(70, 1, l2="warm")]
    assert list(top1_regrets(rows).values()) == [pytest.approx(20.0)]
    fixed = [row(100, 2, params={"tiles": 1}), row(50, 1, params={"tiles": 2})]
    assert top1_regrets(fixed) == {}


def test_boards_are_joined_by_configuration() -> None:
    def measured(board: str, cycles: float) -> Measurement:
        return Measurement(
            scenario="tma_ring",
            params={"stages": 2, "tiles": 2, "ctas": 1, "tile_bytes": 1024},
            l2="warm",
            cycles=cycles,
            cycles_p10=cycles - 1,
            cycles_p90=cycles + 1,
            time_us=9.0,
            clock_mhz=1980.0,
            n=21,
            verified=True,
            verification="",
            cubin="",
            provenance={**FACTS, "board": board},
        )

    seen: list[str] = []

    def predict_cycles(schedule: Any, l2: str) -> float:
        seen.append(f"{schedule.name} {schedule.ctas} {l2}")
        return 99.0

    c = compare([measured("a", 100.0), measured("b", 110.0)], predict_cycles)
    (joined,) = c.rows
    assert seen == ["tma_ring 1 warm"]
    assert (joined.boards, joined.measured) == (2, 105.0)
    assert joined.spread_pct == pytest.approx(100 * 10 / 105)  # the boards differ more
    assert joined.board_spread_pct == pytest.approx(100 * 10 / 105)
    assert joined.ctas == 1
    newer = replace(measured("c", 105.0), params={**measured("c", 105.0).params, "ffma": 64})
    (joined,) = compare([measured("a", 100.0), newer], predict_cycles).rows
    assert joined.boards == 2  # a parameter that the older row lacks had its default
    (alone,) = compare([measured("a", 100.0)], predict_cycles).rows
    assert (alone.boards, alone.board_spread_pct) == (1, None)


def test_groups_and_the_spread_between_boards() -> None:
    c = summarise(
        [
            row(100, 110, ctas=1, boards=2, board_spread_pct=1.0),
            row(200, 180, ctas=1, boards=2, board_spread_pct=3.0),
            row(400, 400, ctas=132, l2="warm"),
        ]
    )
    assert {name: s.n for name, s in c.groups.items()} == {
        "one CTA": 2,
        "several CTAs": 1,
        "L2 cold": 2,
        "L2 warm": 1,
    }
    assert (c.groups["one CTA"].median, c.groups["several CTAs"].max) == (10.0, 0.0)
    assert (c.overall.board_spread, c.groups["L2 warm"].board_spread) == (2.0, None)
    found = comparison_json(c)
    assert (found["board_spread_pct"], found["rows"][1]["board_spread_pct"]) == (2.0, 3.0)
    assert found["groups"]["L2 warm"] == {
        "n": 1,
        "mean": 0.0,
        "median": 0.0,
        "p90": 0.0,
        "p95": 0.0,
        "max": 0.0,
        "spread_pct": 1.0,
        "board_spread_pct": None,
    }
