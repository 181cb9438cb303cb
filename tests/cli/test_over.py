"""``check --over``: the safe map."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

RING = ("check", "cp_async_multistage", "--ctas", 1, "--tile-bytes", 2048)


def test_the_map_of_commits_inside_the_condition(cli: Any) -> None:
    """Wrong for 3 stages and more and at least one tile; two stages wait for everything."""
    done = cli(*RING, "--twin", "commit_if_copied", "--over", "stages=1:4", "--over", "tiles=0:5")
    assert done.code == 1
    assert done.out == (
        "cp_async_multistage distance=0 tile_bytes=2048 ffma=64 ctas=1\n"
        "    twin=commit_if_copied\n"
        "\n"
        "stages \\ tiles 0 1 2 3 4 5\n"
        "             1 - - - - - -\n"
        "             2 . . . . . .\n"
        "             3 . A A A A A\n"
        "             4 . A A A A A\n"
        "\n"
        ".    8  clean: no interleaving breaks a rule\n"
        "-    6  no such schedule; first at stages=1 tiles=0: stages = 1;\n"
        "        wait_group(stages - 2) needs at least 2 stages; 1 stage works with\n"
        "        distance = 1\n"
        "A   10  WAIT_GROUP_TOO_LOOSE: wait_group N leaves the group that is needed\n"
        "        pending; first at stages=3 tiles=1\n"
        "\n"
        "clean as far as checked, and no further:\n"
        "  stages=2, tiles = 0 to 5: the state does not recur in so few rounds\n"
    )


def test_the_clean_form_is_clean_for_every_trip_count(cli: Any) -> None:
    done = cli(*RING, "--over", "stages=2:4", "--over", "tiles=0:9", "--json")
    report = json.loads(done.out)
    assert (done.code, len(report["cells"])) == (0, 30)
    assert {c["verdict"] for c in report["cells"]} == {"clean"}
    assert report["over"] == {"stages": [2, 3, 4], "tiles": list(range(10))}
    assert report["cells"][11]["params"] == {"stages": 3, "tiles": 1}


def test_one_parameter_is_one_row_and_wide_maps_are_folded(cli: Any) -> None:
    out = cli("check", "tma_ring", "--ctas", 1, "--over", "tiles=0:40").out
    assert max(map(len, out.splitlines())) <= 80
    grid = out.split("\n\n")[1:-2]
    shown = " ".join(block.splitlines()[0].removeprefix("tiles") for block in grid).split()
    assert shown == [str(n) for n in range(41)]


def test_rows_hold_for_all_larger_trip_counts(cli: Any) -> None:
    out = cli("check", "tma_ring", "--ctas", 1, "--over", "stages=1:3", "--over", "tiles=0:16").out
    assert out.endswith(
        ".   51  clean: no interleaving breaks a rule\n"
        "\n"
        "clean for all values of a range, as the state recurs in the loop:\n"
        "  stages=1, 0 <= tiles <= 16,777,216: from 6 on, 2 rounds repeat (checked to\n"
        "    16); then (block_idx.x * tiles + i) * 128 at tma_ring.py:127 leaves 32 bits\n"
        "  stages=2, 0 <= tiles <= 16,777,216: from 10 on, 4 rounds repeat (checked to\n"
        "    16); then (block_idx.x * tiles + i) * 128 at tma_ring.py:127 leaves 32 bits\n"
        "  stages=3, 0 <= tiles <= 16,777,216: from 15 on, 6 rounds repeat (checked to\n"
        "    20); then (block_idx.x * tiles + i) * 128 at tma_ring.py:127 leaves 32 bits\n"
    )


def test_rows_that_hold_are_in_the_report(cli: Any) -> None:
    argv = ("check", "tma_ring", "--ctas", 1, "--stages", 1, "--over", "tiles=2:7", "--json")
    assert json.loads(cli(*argv).out)["beyond"] == [
        {
            "params": {},
            "param": "tiles",
            "at_least": 2,
            "at_most": 16_777_216,
            "ends": "(block_idx.x * tiles + i) * 128 at tma_ring.py:127 leaves 32 bits",
            "stride": 1,
            "recurs_from": 6,
            "period": 2,
            "checked_to": 7,
        }
    ]


def test_a_parameter_that_an_argument_follows_in_steps(cli: Any) -> None:
    """k counts elements, the loop steps of 8; a matrix has one as its extent, and as its stride."""
    argv = ("check", "sgemm_cp_async", "--m", 128, "--n", 128, "--over", "k=120:176:8")
    assert cli(*argv).out.endswith(
        "clean for all values of a range, as the state recurs in the loop:\n"
        "  120 <= k <= 2,147,483,632 in steps of 8: from 120 on, 3 rounds repeat (checked\n"
        "    to 176); then (t + 2) * 8 at sgemm_cp_async.py:103 leaves 32 bits\n"
    )
    assert cli(*argv[:-1], "k=124:188:16").err.endswith(
        "first one: k = 124; give a multiple of 8\n"
    )


def test_clusters_are_claimed(cli: Any) -> None:
    """8 CTAs of 268,435,456 rows each, 4 at a time: the last start is 2^31 - 4."""
    done = cli("check", "cluster_sum", "--clusters", 2, "--over", "rows=16:40:4")
    assert done.out.endswith(
        "clean for all values of a range, as the state recurs in the loop:\n"
        "  16 <= rows <= 268,435,456 in steps of 4: from 16 on, every round repeats\n"
        "    (checked to 40); then (block_idx.x * steps + i) * 4 at cluster_sum.py:120\n"
        "    leaves 32 bits\n"
    )


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (
            ("cp_async_multistage", "--ctas", 1, "--tile-bytes", 2048, "--over", "tiles=3:5"),
            "tiles = 3 to 5: the state does not recur in so few rounds",
        ),
        (
            ("tma_ring", "--ctas", 1, "--tiles", 20, "--over", "stages=1,2"),
            "stages = 1, 2: stages counts no rounds of a loop",
        ),
        (
            ("ws_gemm", "--k", 64, "--n", 128, "--over", "m=64:256:64"),
            "m = 64 to 256 in steps of 64: m counts no rounds of a loop",
        ),
    ],
)
def test_a_row_without_a_claim_says_why(cli: Any, argv: tuple[object, ...], why: str) -> None:
    out = cli("check", *argv).out
    assert out.endswith(f"\nclean as far as checked, and no further:\n  {why}\n")
    within = json.loads(cli("check", *argv, "--json").out)["within"]
    assert [row["why"] for row in within] == [why.partition(": ")[2]]


EXTENTS = """
from asyncsim import ScheduleBuilder
from asyncsim.rules import Rule
from asyncsim.scenario import Twin, scenario

NAMES = ("short", "clipped", "uneven")
TWINS = tuple(Twin(name=n, rule=Rule.OUT_OF_BOUNDS, summary="late") for n in NAMES)


@scenario(summary="rows are read, and two CTAs store", archs=("sm_90a",), twins=TWINS)
def rows(*, n: int = 8, twin: str = ""):
    k = ScheduleBuilder("rows", archs=("sm_90a",))
    count = k.arg("n", n)
    k.grid(2)
    have = {"short": min(n, 1000), "uneven": n + (n > 44) * (n - 44)}.get(twin, n)
    source = k.global_tensor("source", (max(1, have), 32), "f32")
    out = k.global_tensor("out", (n if twin == "clipped" else 2, 32), "f32", output=True)
    x = k.fragment("x", registers=1)
    k.mem.ld_global(x.all, source.box((0, k.lane), (1, 1)))
    with k.loop(count) as i:
        k.mem.ld_global(x.all, source.box((i, k.lane), (1, 1)))
    row = 60 if twin == "clipped" else k.block_idx
    k.mem.st_global(out.box((row, k.lane), (1, 1)), x.all, clip=True)
    return k.finish()
"""


def test_extents_are_part_of_a_claim(cli: Any, tmp_path: Path) -> None:
    """A tensor that stays behind from 1,001 rows on; one whose row 60 two CTAs store, once there;
    one that begins to grow twice as fast."""
    file = tmp_path / "rows.py"
    file.write_text(EXTENTS, encoding="utf-8")
    claim = "clean for all values"
    for twin, at in (("short", 1001), ("clipped", 61), ("uneven", 0)):
        argv = ("check", f"{file}:rows", "--twin", twin)
        assert claim not in cli(*argv, "--over", "n=10:47").out, twin
        assert not at or cli(*argv, "--n", at).code == 1, twin
    assert claim in cli("check", f"{file}:rows", "--over", "n=10:47").out


def test_a_row_that_breaks_late_holds_for_nothing(cli: Any, tmp_path: Path) -> None:
    """Clean up to 30 tiles; a loop whose stages depend on the count in the builder; an argument
    that changes with it."""
    file = tmp_path / "late.py"
    file.write_text(LATE, encoding="utf-8")
    swept = ("--over", "n=20:30")
    for twin in ("breaks", "another", "argument"):
        done = cli("check", f"{file}:late", "--twin", twin, *swept)
        assert done.code == 0 and "for all values" not in done.out, twin
    assert "20 <= n <= 2,147,483,647: from 20 on" in cli("check", f"{file}:late", *swept).out


LATE = """
from asyncsim import ScheduleBuilder
from asyncsim.rules import Rule
from asyncsim.scenario import Twin, scenario

NAMES = ("breaks", "another", "argument")
TWINS = tuple(Twin(name=n, rule=Rule.DEADLOCK, summary="late") for n in NAMES)


@scenario(summary="a turn of two warps", archs=("sm_90a",), twins=TWINS)
def late(*, n: int = 8, twin: str = ""):
    k = ScheduleBuilder("late", archs=("sm_90a",))
    count, left = k.arg("n", n), k.arg("left", 35 - n if twin == "argument" else 1)
    stages = 1 + (n % 2) if twin == "another" else 1
    go, back = k.mbarriers("go", count=1, stages=stages), k.mbarriers("back", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(go, back)
    k.bar.sync()
    with k.specialize():
        with k.role("a", warps=1), k.elect():
            phase = k.var("phase", 0)
            with k.loop(count) as i:
                with k.when(i < 35 if twin == "breaks" else left > 0):
                    k.mbarrier.arrive(go[0])
                k.mbarrier.wait(back[0], phase)
                phase.set(phase ^ 1)
        with k.role("b", warps=1), k.elect():
            phase = k.var("phase", 0)
            with k.loop(count) as i:
                k.mbarrier.wait(go[0], phase)
                k.mbarrier.arrive(back[0])
                phase.set(phase ^ 1)
    return k.finish()
"""


def test_more_parameters_are_more_grids(cli: Any) -> None:
    argv = ("--over", "consumers=1,4", "--over", "stages=1:2", "--over", "tiles=1:2")
    out = cli("check", "tma_ring", "--ctas", 1, *argv).out
    assert "\n\nconsumers=1\nstages \\ tiles 1 2\n             1 . .\n" in out
    assert "\n\nconsumers=4\nstages \\ tiles 1 2\n" in out


def test_warnings_and_strict(cli: Any) -> None:
    argv = ("check", "tma_ring", "--ctas", 1, "--twin", "no_proxy_fence", "--over", "tiles=6,8")
    assert "\nw    2  clean with warnings; first at tiles=6\n" in cli(*argv).out
    strict = cli(*argv, "--strict")
    assert strict.code == 1 and "\nA    2  PROXY_WAR: " in strict.out


def test_the_map_is_exported(cli: Any, tmp_path: Path) -> None:
    argv = (*RING, "--twin", "commit_if_copied", "--over", "stages=2:3", "--over", "tiles=1")
    cli(*argv, "--out", tmp_path / "map.csv")
    with (tmp_path / "map.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["stages"], r["tiles"], r["verdict"], r["rules"]) for r in rows] == [
        ("2", "1", "clean", ""),
        ("3", "1", "findings", "WAIT_GROUP_TOO_LOOSE"),
    ]
    printed = cli(*argv, "--json", "--out", tmp_path / "map.json").out
    assert json.loads((tmp_path / "map.json").read_text()) == json.loads(printed)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--over", "tiles"), "--over tiles: write --over NAME=FIRST:LAST or NAME=1,2,4"),
        (
            ("--over", "tiles=a:4"),
            "--over tiles=a:4: 'a:4' is no value; write a number, FIRST:LAST or FIRST:LAST:STEP",
        ),
        (
            ("--over", "tiles=1:2:3:4"),
            "--over tiles=1:2:3:4: '1:2:3:4' is no value; write a number, FIRST:LAST or "
            "FIRST:LAST:STEP",
        ),
        (
            ("--over", "tiles=4:1"),
            "--over tiles=4:1: '4:1' is empty; FIRST is at most LAST, STEP at least 1",
        ),
        (
            ("--over", "tiles=0:99999999999"),
            "--over tiles=0:99999999999: more than 10,000 combinations; sweep fewer values",
        ),
        (
            ("--over", "tiles=0:199", "--over", "stages=1:99"),
            "--over stages=1:99: more than 10,000 combinations; sweep fewer values",
        ),
        (
            ("--over", "tiles=1", "--over", "tiles=2"),
            "--over tiles=2: tiles is swept already; give all its values at once",
        ),
        (("--over", "tiles=1", "--tiles", 2), "tiles is given and swept; drop one of the two"),
        (
            ("--over", "tile=1"),
            "scenario 'tma_ring' has no parameter 'tile'; did you mean 'tiles'? it has stages, "
            "distance, tiles, tile_bytes, consumers, ffma, ctas",
        ),
        (
            ("--over", "stages=0"),
            "no combination is a schedule; the first one: stages = 0; a ring has at least 1 stage",
        ),
        (("--over", "tiles=1", "--out", "m.txt"), "--out m.txt: end the name in .json or .csv"),
        (("--out", "m.csv"), "--out writes the map of --over; add --over NAME=FIRST:LAST"),
        (
            ("--over", "tiles=1", "--format", "sarif"),
            "--over has no --format sarif; use text or json, or --out map.csv",
        ),
        (
            ("--over", "tiles=1", "--repair"),
            "--over has no --repair; use it on one combination",
        ),
        (
            ("--over", "tiles=1", "--trace", "w.json"),
            "--over has no --trace; use it on one combination",
        ),
        (("--over", "tiles=1", "--lint"), "--over has no --lint; use it on one combination"),
        (
            ("--repair", "--format", "sarif"),
            "--format sarif shows no changes; use text or json",
        ),
    ],
)
def test_bad_sweeps_are_one_line(cli: Any, argv: tuple[object, ...], said: str) -> None:
    done = cli("check", "tma_ring", *argv)
    assert (done.code, done.out, done.err) == (2, "", f"asyncsim: {said}\n")
