"""``list``: the table and the array of the contract."""

from __future__ import annotations

import json

from asyncsim.catalog import builtin_scenarios


def test_json(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("list", "--json")
    rows = json.loads(done.out)
    names = [r["name"] for r in rows]
    assert names == sorted(names)
    assert {"cp_async_multistage", "sync_copy", "tma_ring", "ws_gemm"} <= set(names)
    for row, scenario in zip(rows, builtin_scenarios(), strict=True):
        assert row == {
            "name": scenario.name,
            "summary": scenario.summary,
            "arch": list(scenario.archs),
            "params": dict(scenario.params),
            "free": {
                name: None if callable(free.values) else list(free.values)
                for name, free in scenario.free.items()
            },
            "twins": [{"name": t.name, "rule": t.rule.name} for t in scenario.twins],
        }


def test_there_are_twelve_twins_or_more(cli) -> None:  # type: ignore[no-untyped-def]
    rows = json.loads(cli("list", "--json").out)
    assert sum(len(r["twins"]) for r in rows) >= 12


def test_table_fits_80_columns_and_names_every_twin(cli) -> None:  # type: ignore[no-untyped-def]
    out = cli("list").out
    assert max(map(len, out.splitlines())) <= 80
    for scenario in builtin_scenarios():
        for twin in scenario.twins:
            assert f"{twin.name} " in out and twin.rule.name in out


def test_one_scenario_by_name(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("list", "sync_copy")
    assert done.code == 0 and done.out in cli("list").out
    assert done.out.startswith("sync_copy: ") and done.out.count("params") == 1
    unknown = cli("list", "sync_cpy")
    assert unknown.code == 2
    assert unknown.err.startswith(
        "asyncsim: unknown scenario 'sync_cpy'; did you mean 'sync_copy'? "
    )


def test_a_named_scenario_shows_what_is_free(cli) -> None:  # type: ignore[no-untyped-def]
    assert "  free    stages=1,2,3,4,5,6,7,8\n" in cli("list", "tma_ring").out
    assert "ctas=by the machine" in cli("list", "pingpong_gemm").out
    assert "\n  free " not in cli("list").out
