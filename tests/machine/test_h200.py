"""The H200's numbers: facts that the benchmarks must reproduce, and their provenance."""

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from asyncsim.hw.calibrate.fit import fitted, to_toml
from asyncsim.hw.calibrate.rows import Rows
from asyncsim.machine import Machine, load_machine, parse_machine

TEXT = (resources.files("asyncsim.machine") / "h200.toml").read_text(encoding="utf-8")
DATA = sorted((Path(__file__).parents[2] / "hw/calibrate/data").glob("2026-11-30-*.json"))


@pytest.fixture(scope="module")
def machine() -> Machine:
    return load_machine("h200")


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in DATA]


def _whole(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of all benchmarks; others hold a few."""
    return [d for d in documents if any(row["bench"] == "wgmma_stream" for row in d["rows"])]


def test_every_number_has_an_origin(machine: Machine) -> None:
    counts = machine.count_by_how()
    assert counts["measured"] >= 100
    assert counts["assumed"] <= 5
    assert sum(counts.values()) == len(machine.provenance)
    assert machine.provenance["tma.fill"].source == "tma_train"
    assert len(machine.boards) == 11


def test_few_numbers_come_from_the_prior_study(machine: Machine) -> None:
    prior = [key for key, p in machine.provenance.items() if p.source.startswith("prior")]
    assert len(prior) <= 23, prior


def test_file_survives_the_writer() -> None:
    assert to_toml(tomllib.loads(TEXT)) == TEXT
    assert parse_machine(to_toml(tomllib.loads(TEXT))) == load_machine("h200")


def test_stored_rows_give_the_stored_file(documents: list[dict[str, Any]]) -> None:
    stored = tomllib.loads(TEXT)
    for key, entry in fitted(documents).items():
        group, _, name = key.partition(".")
        assert stored[group][name] == entry, key


def test_raw_files_tell_their_origin(documents: list[dict[str, Any]]) -> None:
    assert len(documents) == 11
    for document in documents:
        origin = document["provenance"]
        assert origin["gpu"] == "NVIDIA H200"
        assert origin["nvrtc_package"] == "13.0.88"
        assert {"board", "driver", "cuda", "date"} <= origin.keys()
        assert not [row for row in document["rows"] if "error" in row]
        assert all(row["n"] >= 1 and "p10" in row and "p90" in row for row in document["rows"])


def test_the_exit_of_a_warpgroup_gives_no_registers_back(documents: list[dict[str, Any]]) -> None:
    """A warpgroup exits after 20,000 cycles, another gives registers after 200,000: the request of
    a third is served by the second."""
    rows = [row for document in documents for row in document["rows"]]
    served = Rows(rows).row("setmaxnreg", "inc", pool="exit")
    assert served["p10"] > 200_000 and served["p90"] < 200_500


def test_known_facts(machine: Machine) -> None:
    def near(value: object, expected: float, tolerance: float) -> None:
        assert float(value) == pytest.approx(expected, rel=tolerance)  # type: ignore[arg-type]

    near(machine.tma.fill_bytes_per_cycle, 108, 0.01)
    near(machine.tma.store_bytes_per_cycle, 32, 0.002)
    near(machine.barrier.sync_cycles, 12, 0.01)
    near(machine.barrier.sync_per_warp_cycles, 2, 0.01)
    near(machine.wgmma.per_column_cycles, 0.5, 0.001)
    near(machine.wgmma.ss_base_per_column_cycles, 0.25, 0.001)
    near(machine.fence.proxy_async_cycles, 152, 0.01)
    near(machine.l2.gpc_bytes_per_cycle, 630, 0.03)
    near(machine.dram.read_bytes_per_cycle, 2385, 0.04)
    near(machine.clock.boost_mhz, 1980, 0.001)


@pytest.mark.parametrize(("warpgroups", "n"), [(1, 64), (2, 128), (2, 256)])
def test_wgmma_law(documents: list[dict[str, Any]], warpgroups: int, n: int) -> None:
    for document in _whole(documents):
        cycles = Rows(document["rows"]).median(
            "wgmma_stream", n=n, rs=0, per_group=4, wait=1, warpgroups=warpgroups
        )
        assert cycles == pytest.approx(n / 2, rel=0.02)


@pytest.mark.parametrize(
    ("style", "consumers", "work", "tolerance"),
    [("all_lanes", 1, 192, 0.01), ("all_lanes", 4, 192, 0.02), ("elected_parked", 1, 192, 0.01)],
)
def test_ring_is_the_sum_of_its_parts(
    machine: Machine,
    documents: list[dict[str, Any]],
    style: str,
    consumers: int,
    work: int,
    tolerance: float,
) -> None:
    """A compute-bound ring turns at work + ops + code; the ring itself is not fitted on."""
    turn = (
        work * machine.alu.ffma_latency_cycles
        + machine.mbarrier.try_wait_cycles
        + machine.smem.load_latency_cycles
        + machine.fence.proxy_async_smem_cycles
        + machine.barrier.syncwarp_cycles
        + machine.mbarrier.arrive_cycles
        + machine.code.consumer_cycles
    )
    measured = Rows(_whole(documents)[-1]["rows"]).median(
        "ring", style=style, consumers=consumers, work=work, uniform=1, counted=1
    )
    assert float(turn) == pytest.approx(measured, rel=tolerance)
