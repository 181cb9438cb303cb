"""The machines made of published figures: origins, and what their architectures lack."""

from __future__ import annotations

from fractions import Fraction

import pytest

from asyncsim.ir.validate.arch import ARCHS, Needs
from asyncsim.machine import MachineError, lacking, load_machine, parse_machine
from tests.machine.copies import COPIED, refreshed, text_of
from tests.machine.machine_page import FIGURES, PAGE, figures_text, page_text, value_of

PUBLISHED = ("h100", "a100", "b200")


@pytest.mark.parametrize(
    ("name", "published", "assumed"), [("h100", 27, 186), ("a100", 34, 94), ("b200", 43, 169)]
)
def test_nothing_is_measured(name: str, published: int, assumed: int) -> None:
    machine = load_machine(name)
    counts = {"measured": 0, "inferred": 0, "published": published, "assumed": assumed}
    assert machine.count_by_how() == counts
    assert len(machine.provenance) == published + assumed
    assert (machine.driver, machine.cuda, machine.nvrtc, machine.boards) == ("", "", "", ())


@pytest.mark.parametrize("name", PUBLISHED)
def test_sources_name_what_they_rest_on(name: str) -> None:
    for key, origin in load_machine(name).provenance.items():
        rests_on_us = "H200" in origin.source or origin.source.startswith(("derived", "assumed"))
        assert not (origin.how == "published" and rests_on_us), key


@pytest.mark.parametrize("name", PUBLISHED)
def test_copies_of_measured_numbers_are_equal(name: str) -> None:
    assert text_of(name) == refreshed(name), "run `python -m tests.machine`"
    copied = [o for o in load_machine(name).provenance.values() if o.source.startswith(COPIED)]
    assert len(copied) >= 30


def test_derived_numbers_follow() -> None:
    """Every `derived` number from the numbers that its source names."""
    h200, h100, a100, b200 = map(load_machine, ("h200", *PUBLISHED))
    write = h200.dram.write_bytes_per_cycle / h200.dram.read_bytes_per_cycle
    store = h200.gst.device_bytes_per_cycle / h200.dram.write_bytes_per_cycle
    partial = h200.gst.partial_device_bytes_per_cycle / h200.dram.write_bytes_per_cycle
    straddle = h200.gst.straddle_device_bytes_per_cycle / h200.dram.write_bytes_per_cycle
    found: list[tuple[Fraction, Fraction]] = []
    for m in (h100, b200):
        found.append((m.dram.write_bytes_per_cycle, m.dram.read_bytes_per_cycle * write))
    for m in (h100, a100, b200):
        found.append((m.gst.device_bytes_per_cycle, m.dram.write_bytes_per_cycle * store))
        found.append((m.gst.partial_device_bytes_per_cycle, m.dram.write_bytes_per_cycle * partial))
        found.append(
            (m.gst.straddle_device_bytes_per_cycle, m.dram.write_bytes_per_cycle * straddle)
        )
    for m in (a100, b200):
        l2_write = h200.l2.write_bytes_per_cycle / h200.l2.device_bytes_per_cycle
        found.append((m.l2.write_bytes_per_cycle, m.l2.device_bytes_per_cycle * l2_write))
        hit = h200.cp_async.latency_l2_cycles - h200.l2.latency_cycles
        miss = h200.cp_async.latency_dram_cycles - h200.dram.latency_cycles
        idle = m.dram.latency_cycles - h200.dram.latency_cycles
        found += [
            (m.cp_async.latency_l2_cycles, m.l2.latency_cycles + hit),
            (m.cp_async.latency_dram_cycles, m.dram.latency_cycles + miss),
            (m.l2.gpc_bytes_per_cycle, m.l2.device_bytes_per_cycle / len(m.gpu.gpc_sms)),
            (m.l2.shared_sm_bytes_per_cycle, m.l2.device_bytes_per_cycle / m.gpu.sms),
        ]
        for x, y in h200.cp_async.landing_dram_cycles.points:
            found.append((m.cp_async.landing_dram_cycles.at(x), y + idle))
    for x, y in h200.dram.round_trip_by_inflight_cycles.points:
        idle = a100.dram.latency_cycles - h200.dram.latency_cycles
        found.append((a100.dram.round_trip_by_inflight_cycles.at(x), y + idle))
    assert h200.tma is not None
    assert b200.tma is not None
    for x, y in h200.tma.landing_dram_cycles.points:
        later = b200.tma.latency_dram_cycles - h200.tma.latency_dram_cycles
        found.append((b200.tma.landing_dram_cycles.at(x), y + later))
    for x, y in h200.tma.landing_dram_far_cycles.points:
        found.append((b200.tma.landing_dram_far_cycles.at(x), y + later))
    for number, expected in found:
        assert float(number) == pytest.approx(float(expected), rel=1e-3)


def test_docs_are_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_text(), "run `python -m tests.machine`"
    assert FIGURES.read_text(encoding="utf-8") == figures_text(), "run `python -m tests.machine`"


# -- what an architecture lacks ------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ARCHS)
def test_units_exist_where_their_instructions_do(architecture: str) -> None:
    lacks = lacking(architecture)
    assert ("tma" in lacks) == (architecture not in Needs.HOPPER_ON.value)
    assert ("mbarrier" in lacks) == (architecture not in Needs.HOPPER_ON.value)
    assert ("fence.proxy_async" in lacks) == (architecture not in Needs.HOPPER_ON.value)
    assert ("wgmma" in lacks) == (architecture not in Needs.SM_90A.value)


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_lacking_is_none(name: str) -> None:
    machine = load_machine(name)
    keys = [k for k in lacking(machine.architecture) if "." in k]
    assert [value_of(machine, key) for key in keys] == [None] * len(keys)
    assert (machine.tma is None, machine.mbarrier is None) == (name == "a100",) * 2
    assert (machine.wgmma is None) == (name != "h100")


def faults(text: str) -> list[str]:
    with pytest.raises(MachineError) as caught:
        parse_machine(text, "m.toml")
    return [str(fault) for fault in caught.value.faults]


def test_a_unit_that_does_not_exist_is_a_fault() -> None:
    text = text_of("h200").replace('"sm_90a"', '"sm_80"')
    assert faults(text) == [
        "launch.dependent: sm_80 has no griddepcontrol; remove it",
        "launch.pass: sm_80 has no griddepcontrol; remove it",
        "launch.wait: sm_80 has no griddepcontrol; remove it",
        "tma: sm_80 has no TMA; remove it",
        "mbarrier: sm_80 has no mbarrier.try_wait; remove it",
        "barrier.cluster: sm_80 has no clusters; remove it",
        "barrier.cluster_release: sm_80 has no clusters; remove it",
        "setmaxnreg: sm_80 has no setmaxnreg; remove it",
        "fence.proxy_async_smem: sm_80 has no async proxy; remove it",
        "fence.proxy_async: sm_80 has no async proxy; remove it",
        "fence.mbarrier_init: sm_80 has no fence.mbarrier_init; remove it",
        "fence.tensormap_release: sm_80 has no tensor maps; remove it",
        "fence.tensormap_acquire: sm_80 has no tensor maps; remove it",
        "wgmma: sm_80 has no wgmma; remove it",
        "mma.f8: sm_80 has no mma.sync of 8-bit floats; remove it",
        "mma.f8_latency: sm_80 has no mma.sync of 8-bit floats; remove it",
        "smem.remote_load_latency: sm_80 has no clusters; remove it",
        "smem.stmatrix_warp: sm_80 has no stmatrix; remove it",
        "code.producer_elected: sm_80 has no TMA; remove it",
        "code.producer_all_lanes: sm_80 has no TMA; remove it",
        "code.consumer: sm_80 has no mbarrier.try_wait; remove it",
        "code.wgmma_consumer: sm_80 has no wgmma; remove it",
    ]


def test_a_unit_that_exists_is_required() -> None:
    missing = faults(text_of("b200").replace('"sm_100a"', '"sm_90a"'))
    assert missing == [
        "launch.cancel: sm_90a has no cluster launch control; remove it",
        "wgmma: missing table; add a [wgmma] table",
        "tcgen05: sm_90a has no tcgen05; remove it",
        'code.wgmma_consumer: missing; write { cycles = ..., how = "measured", source = "..." }',
    ]


def test_measurements_need_their_driver() -> None:
    text = text_of("a100").replace(
        'how = "assumed", source = "derived: a s', 'how = "measured", source = "s'
    )
    assert faults(text) == [
        'machine.driver: missing; write driver = "..."',
        'machine.cuda: missing; write cuda = "..."',
        'machine.nvrtc: missing; write nvrtc = "..."',
        'machine.boards: missing; write boards = ["..."], one text for each board',
    ]


@pytest.mark.parametrize("conflicts", ['"3 TB/s"', "[3]", '[""]'])
def test_conflicts_are_texts(conflicts: str) -> None:
    line = 'boost = { mhz = 1410, how = "published", source = "NVIDIA A100 datasheet"'
    text = text_of("a100").replace(line, f"{line}, conflicts = {conflicts}")
    said = conflicts.replace('"', "'")
    assert faults(text) == [
        f"clock.boost.conflicts: must be a list of text, not {said}; "
        'write conflicts = ["VALUE: SOURCE", ...]'
    ]


def test_conflicts_are_kept() -> None:
    assert load_machine("a100").provenance["dram.write"].conflicts == (
        "1693 GB/s: TileSight profile",
    )
