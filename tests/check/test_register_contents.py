"""Registers that hold nothing yet: USE_BEFORE_INIT."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.decl import AccessMode, ComputeDef, ComputeOperand, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Finding
from tests.check.written import written, written_tile

ADD = ComputeDef(
    name="add",
    operands=(
        ComputeOperand(name="total", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="value", kind="fragment", mode=AccessMode.READ),
    ),
    work=lambda: Work(ffma=1),
    cuda="total[0] += value[0];",
    numpy=lambda total, value, **_: total.__iadd__(value),
)


def findings(schedule: Schedule) -> list[Finding]:
    return list(check(schedule).findings)


@pytest.mark.parametrize("accumulate", [0, 1])
def test_the_first_wgmma_of_a_sum(accumulate: int) -> None:
    k = ScheduleBuilder("first")
    a = written_tile(k, k.smem_tile("a", (64, 16), "bf16", swizzle=32))
    acc = k.accumulator("acc", n=64)
    with k.specialize(), k.role("math", warps=4), k.loop(3) as i:
        k.wgmma.fence()
        k.wgmma.mma(acc, a[0], a[0], accumulate=(i > 0) if accumulate == 0 else 1)
        k.wgmma.commit_group()
        k.wgmma.wait_group(0)
    found = findings(k.finish())
    if accumulate == 0:
        assert found == []
        return
    (finding,) = found
    assert finding.rule.name == "USE_BEFORE_INIT"
    assert finding.message == "wgmma acc += a x a reads acc, which nothing has written"
    assert finding.repair == (
        "load or compute the registers first; the first wgmma of a sum takes accumulate=0"
    )


@pytest.mark.parametrize("loaded", [0, 2, 4])
def test_a_store_of_registers_that_were_loaded_in_part(loaded: int) -> None:
    k = ScheduleBuilder("store")
    source = k.global_tensor("source", (32, 4), "f32")
    out = k.global_tensor("out", (32, 4), "f32", output=True)
    reg = k.fragment("reg", registers=4)
    if loaded:
        k.mem.ld_global(reg.part(0, loaded), source.box((k.lane, 0), (1, loaded)))
    k.mem.st_global(out.box((k.lane, 0), (1, 4)), reg.all)
    messages = [f.message for f in findings(k.finish())]
    part = "some of " if loaded else ""
    expected = f"st.global reg -> out reads {part}reg, which nothing has written"
    assert messages == ([] if loaded == 4 else [expected])


@pytest.mark.parametrize("first", [True, False])
def test_what_the_elected_lane_has_loaded_the_others_have_not(first: bool) -> None:
    k = ScheduleBuilder("elected")
    source = k.global_tensor("source", (1, 1), "f32")
    cell = k.smem_tile("cell", (32, 4), "f32")
    reg = k.fragment("reg", registers=1)
    if first:
        k.mem.ld_global(reg.all, source.box((0, 0), (1, 1)))
    with k.elect():
        k.mem.ld_global(reg.all, source.box((0, 0), (1, 1)))
    k.mem.st_shared(cell[0].box((k.lane, 0), (1, 1)), reg.all)
    assert [f.rule.name for f in findings(k.finish())] == ([] if first else ["USE_BEFORE_INIT"])


@pytest.mark.parametrize("first", [True, False])
def test_a_compute_that_adds_to_registers(first: bool) -> None:
    k = ScheduleBuilder("add")
    value = written(k, "value", registers=1)
    total = written(k, "total", registers=1) if first else k.fragment("total", registers=1)
    with k.loop(3):
        k.mem.compute(ADD, total.all, value.all)
    assert [f.rule.name for f in findings(k.finish())] == ([] if first else ["USE_BEFORE_INIT"])


def test_a_race_beside_it_is_still_shown() -> None:
    k = ScheduleBuilder("both")
    k.block(2)
    cell = k.smem_tile("cell", (32, 4), "f32")
    reg = k.fragment("reg", registers=1)
    k.mem.st_shared(cell[0].box((k.lane, 0), (1, 1)), reg.all)
    assert sorted(f.rule.name for f in findings(k.finish())) == [
        "USE_BEFORE_INIT",
        "WRITE_WRITE_RACE",
    ]
