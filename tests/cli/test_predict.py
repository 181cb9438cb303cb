"""``predict``: never without its verdict; the JSON of the contract; timelines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asyncsim import predict
from asyncsim.catalog import find_scenario
from asyncsim.errors import UsageError
from asyncsim.trace.chrome_reader import load_chrome
from asyncsim.trace.perfetto_reader import load_pftrace, validate_pftrace
from tests.cli.test_check import KEYS, SMALL, small

RING = ("tma_ring", "--tiles", 12, "--ctas", 8)


@pytest.mark.parametrize("name", SMALL)
def test_json(cli, name: str) -> None:  # type: ignore[no-untyped-def]
    machine = "b200" if "sm_100a" in find_scenario(name).archs else "h200"
    done = cli("predict", name, *small(name), "--machine", machine, "--json")
    report = json.loads(done.out)
    assert (done.code, list(report), report["machine"]) == (0, KEYS, machine)
    assert report["cycles"] > 0 and report["bound_by"]
    expected = report["cycles"] / report["clock_mhz"]
    assert report["time_us"] == pytest.approx(expected, rel=1e-3)
    assert list(report["occupancy"]) == ["ctas_per_sm", "waves", "smem_bytes", "limited_by"]
    assert all(0 <= share <= 1 for share in report["engines"].values())
    assert all(list(s) == ["role", "what", "where", "cycles", "count"] for s in report["stalls"])
    assert report["measured"] is None and report["error_pct"] is None


def test_text_has_the_verdict_before_the_cycles(cli) -> None:  # type: ignore[no-untyped-def]
    lines = cli("predict", *RING).out.splitlines()
    assert lines[:3] == [
        "tma_ring stages=4 distance=0 tiles=12 tile_bytes=16384 consumers=4 ffma=64",
        "    ctas=8",
        "verdict    clean: no interleaving breaks a rule",
    ]
    heads = [line[:11].strip() for line in lines[3:] if line[:11].strip()]
    assert heads[:4] == ["cycles", "time", "sustained", "bound by"]
    assert max(map(len, lines)) <= 80


def test_a_sustained_run_names_its_limit_and_its_operands(cli) -> None:  # type: ignore[no-untyped-def]
    def sustained(*argv: str) -> str:
        lines = cli("predict", *RING, *argv).out.splitlines()
        return next(line for line in lines if line.startswith("sustained"))

    assert sustained().endswith("of 700 W, random operands (assumed)")
    assert "at 1,980 MHz: " in sustained()
    assert sustained("--power-limit", "140").endswith("140 W limit, random operands (assumed)")
    assert "at 100 MHz: the lowest, 129 W, which is more" in sustained("--power-limit", "100")
    assert sustained("--operands", "zeros").endswith("of 700 W, zeros operands (assumed)")
    for limit in ("-5", "0", "nan", "inf", "1e308"):
        done = cli("predict", *RING, "--power-limit", limit)
        assert done.code == 2
        assert f"'{limit}' is no power of a board; write watts, as 700" in done.err
        with pytest.raises(UsageError, match="give the watts of a board, as 700$"):
            predict(find_scenario("tma_ring").build(), power_limit_w=float(limit))


def test_a_racy_schedule_is_predicted_under_its_verdict(cli) -> None:  # type: ignore[no-untyped-def]
    argv = ("predict", *RING, "--twin", "early_release")
    done = cli(*argv)
    assert done.code == 1
    assert done.out.index("verdict    findings") < done.out.index("cycles     ")
    assert "error WRITE_BEFORE_RELEASE: " in done.out
    report = json.loads(cli(*argv, "--json").out)
    assert report["verdict"] == "findings" and report["cycles"] > 0


def test_a_deadlock_has_no_cycles(cli) -> None:  # type: ignore[no-untyped-def]
    argv = ("predict", *RING, "--twin", "producer_phase")
    done = cli(*argv)
    assert done.code == 1
    assert "cycles     none: what does not end, or was not built, has no time\n" in done.out
    report = json.loads(cli(*argv, "--json").out)
    assert all(report[key] is None for key in KEYS[5:])


def test_timeline(cli) -> None:  # type: ignore[no-untyped-def]
    out = cli("predict", *RING, "--timeline").out
    assert "\ntma_ring: predicted, CTA 0 on SM 0; " in out
    assert "\nproducer/0 " in out and "\nring[0] " in out
    assert max(map(len, out.splitlines())) <= 80


def test_group_waits_say_what_is_pending_and_landed(cli) -> None:  # type: ignore[no-untyped-def]
    out = cli("predict", "cp_async_multistage", "--tiles", 6, "--ctas", 1, "--timeline").out
    assert "wait_group(2): pending {" in out and "; landed t0" in out


def test_trace_file(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "ring.pftrace"
    done = cli("predict", *RING, "--trace", path, "--json")
    assert done.err == f"wrote {path}; open it at https://ui.perfetto.dev\n"
    json.loads(done.out)
    assert validate_pftrace(path.read_bytes()) == []
    (trace,) = load_pftrace(path)
    assert (trace.source, trace.schedule) == ("predicted", "tma_ring")
    assert {s.track for s in trace.spans} >= {"producer/0", "consumer/0", "tma", "ring[0]"}
    assert [p.name for p in tmp_path.iterdir()] == ["ring.pftrace"]


def test_a_chrome_trace_holds_the_same(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    chrome, perfetto = tmp_path / "ring.json", tmp_path / "ring.pftrace"
    done = cli("predict", *RING, "--trace", chrome)
    assert done.err == f"wrote {chrome}; open it at https://ui.perfetto.dev\n"
    cli("predict", *RING, "--trace", perfetto)
    (ours,), (theirs,) = load_chrome(chrome), load_pftrace(perfetto)
    assert sorted(map(repr, ours.spans)) == sorted(map(repr, theirs.spans))
    assert sorted(map(repr, ours.counters)) == sorted(map(repr, theirs.counters))


def test_a_trace_that_cannot_be_written(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = cli("predict", *RING, "--trace", tmp_path / "no" / "ring.pftrace")
    assert done.code == 2
    assert done.err == (
        f"asyncsim: cannot write {tmp_path}/no/ring.pftrace: No such file or directory; "
        "choose another path\n"
    )


def test_two_runs_print_the_same(cli) -> None:  # type: ignore[no-untyped-def]
    argv = ("predict", *RING, "--json")
    assert cli(*argv).out == cli(*argv).out


def test_l2_and_exact_are_passed_on(cli) -> None:  # type: ignore[no-untyped-def]
    cycles = {
        options: json.loads(cli("predict", "tma_ring", "--tiles", 12, "--json", *options).out)[
            "cycles"
        ]
        for options in [(), ("--l2", "cold"), ("--l2", "warm"), ("--exact",)]
    }
    assert cycles[()] == cycles["--l2", "cold"] > cycles["--l2", "warm"]
    assert cycles[("--exact",)] != cycles[()]
