"""Schedules of the documents (D3, D5, D7, D8, D11) with the verdict each must get."""

from __future__ import annotations

import pytest

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Rule,
    ScheduleBuilder,
    ScheduleError,
    Work,
)
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.written import written

ADD_ONE = ComputeDef(
    name="add_one",
    operands=(ComputeOperand(name="tile", kind="smem", mode=AccessMode.READ_WRITE),),
    work=lambda: Work(alu=4),
    cuda="tile(0, 0) += 1;",
    numpy=lambda **kw: None,
)
SUM = ComputeDef(
    name="sum",
    operands=(ComputeOperand(name="tile", kind="smem"),),
    work=lambda: Work(alu=4),
    cuda="",
    numpy=lambda **kw: None,
)


def rules(schedule: Schedule) -> list[tuple[str, str]]:
    return [(f.rule.name, f.severity.value) for f in check(schedule).findings]


def tma_add_one(
    *,
    fence: bool = True,
    expect: int = 2048,
    count: int = 128,
    wait: bool = True,
    init_fence: bool = True,
) -> Schedule:
    """D3: a 16x32 int box in, one added to each element by its thread, the box out."""
    k = ScheduleBuilder("d3")
    k.block(4)
    source = k.global_tensor("source", (16, 32), "i32")
    result = k.global_tensor("result", (16, 32), "i32", output=True)
    source_map = k.tensor_map("source_map", source, box=(16, 32))
    result_map = k.tensor_map("result_map", result, box=(16, 32))
    tile = k.smem_tile("tile", (16, 32), "i32")
    full, state = k.mbarriers("full", count=count), k.mbarrier_state("state")
    with k.elect_thread():
        k.mbarrier.init_all(full)
        if init_fence:
            k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        k.tma.load(tile[0], source_map, (0, 0), full[0])
        k.mbarrier.arrive_expect_tx(full[0], expect, state=state)
    with k.others():
        k.mbarrier.arrive(full[0], state=state)
    k.mbarrier.wait_state(full[0], state)
    k.mem.compute(ADD_ONE, tile[0].box((k.warp_in_role * 4, 0), (4, 32)))
    if fence:
        k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        k.tma.store(result_map, (0, 0), tile[0])
        k.bulk.commit_group()
        if wait:
            k.bulk.wait_group(0, read=True)
    return k.finish()


def test_d3_is_clean_with_the_copy_before_its_expect() -> None:
    result = check(tma_add_one())
    assert (result.verdict, result.findings, result.certified) == (Verdict.CLEAN, (), True)


@pytest.mark.parametrize(
    ("change", "rule", "severity"),
    [
        ({"fence": False}, Rule.MISSING_PROXY_FENCE, "error"),
        ({"expect": 2032}, Rule.TX_BYTES_MISMATCH, "error"),
        ({"expect": 4096}, Rule.TX_BYTES_MISMATCH, "error"),
        ({"count": 1}, Rule.ARRIVAL_OVERFLOW, "error"),
        ({"wait": False}, Rule.OUTSTANDING_AT_EXIT, "error"),
        ({"init_fence": False}, Rule.MISSING_INIT_FENCE, "warning"),
    ],
)
def test_d3_twins(change: dict[str, int], rule: Rule, severity: str) -> None:
    assert rules(tma_add_one(**change)) == [(rule.name, severity)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("expect", "text"), [(2032, "2032"), (4096, "4096")])
def test_d3b_tells_the_hang_inside_the_bytes_finding(expect: int, text: str) -> None:
    (finding,) = check(tma_add_one(expect=expect)).findings
    assert finding.message.startswith(f"full[0] expects {text} bytes and gets 2048: phase 0 never")
    assert "waits for ever" in finding.message
    assert len(finding.detail) >= 4  # one line for each blocked warp


def test_d3b_with_an_odd_count_is_refused_by_the_same_rule() -> None:
    with pytest.raises(ScheduleError, match="2047 bytes announced on 'full'") as caught:
        tma_add_one(expect=2047)
    assert caught.value.rule is Rule.TX_BYTES_MISMATCH


@pytest.mark.parametrize("trade", [False, True])
def test_d5_ring_of_two_consumer_warpgroups(trade: bool) -> None:
    """One producer, two consumer warpgroups that share B and split A; with and without
    setmaxnreg."""
    k = ScheduleBuilder("d5")
    if trade:
        k.launch_bounds(1, maxnreg=168)
    stages, steps = 3, 7
    a = k.global_tensor("a", (128, 64 * steps), "bf16")
    b = k.global_tensor("b", (64, 64 * steps), "bf16")
    c = k.global_tensor("c", (128, 64), "f32", output=True)
    a_map = k.tensor_map("a_map", a, box=(128, 64), swizzle=128)
    b_map = k.tensor_map("b_map", b, box=(64, 64), swizzle=128)
    a_tile = k.smem_tile("a_tile", (128, 64), "bf16", stages=stages, swizzle=128)
    b_tile = k.smem_tile("b_tile", (64, 64), "bf16", stages=stages, swizzle=128)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=2, stages=stages)
    acc = k.accumulator("acc", n=64)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        for g in range(2):
            with k.role(f"consumer{g}", warps=4):
                if trade:
                    k.setmaxnreg.inc(240)
                state = k.pipeline_state(stages)
                with k.loop(steps) as i:
                    k.mbarrier.wait(full[state.stage], state.phase)
                    k.wgmma.fence()
                    mine = a.box((64 * g, i * 64), (64, 64))
                    k.wgmma.mma_tile(
                        acc,
                        a_tile[state.stage].box((64 * g, 0), (64, 64)).expecting(mine),
                        b_tile[state.stage].expecting(b.box((0, i * 64), (64, 64))),
                        accumulate_first=i != 0,
                    )
                    k.wgmma.commit_group()
                    k.wgmma.wait_group(0)
                    with k.when(k.warp_in_role == 0), k.elect():
                        k.mbarrier.arrive(empty[state.stage])
                    state.advance()
                k.mem.store_accumulator(c, (64 * g, 0), acc)
        with k.role("producer", warps=4):
            if trade:
                k.setmaxnreg.dec(24)
            with k.elect_thread():
                state = k.pipeline_state(stages, producer=True)
                with k.loop(steps) as i:
                    k.mbarrier.wait(empty[state.stage], state.phase)
                    k.mbarrier.arrive_expect_tx(full[state.stage], 2 * 64 * 192)
                    k.tma.load(a_tile[state.stage], a_map, (0, i * 64), full[state.stage])
                    k.tma.load(b_tile[state.stage], b_map, (0, i * 64), full[state.stage])
                    state.advance()
    result = check(k.finish())
    assert (result.verdict, result.findings, result.certified) == (Verdict.CLEAN, (), True)


def test_d7_one_load_without_init_fence_is_a_warning() -> None:
    k = ScheduleBuilder("d7")
    k.block(4)
    source = k.global_tensor("source", (16, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(16, 32))
    tile = k.smem_tile("tile", (16, 32), "f32")
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.mbarrier.arrive_expect_tx(full[0], 2048)
        k.tma.load(tile[0], source_map, (0, 0), full[0])
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    k.mem.compute(SUM, tile[0].expecting(source.box((0, 0), (16, 32))))
    schedule = k.finish()
    assert rules(schedule) == [("MISSING_INIT_FENCE", "warning")]
    assert check(schedule).verdict is Verdict.CLEAN


@pytest.mark.parametrize("commit", [False, True])
def test_d8_store_without_commit(commit: bool) -> None:
    k = ScheduleBuilder("d8")
    k.block(4)
    result = k.global_tensor("result", (16, 32), "f32", output=True)
    result_map = k.tensor_map("result_map", result, box=(16, 32))
    tile = k.smem_tile("tile", (16, 32), "f32")
    value = written(k, "value", registers=4)
    row, col = k.thread_in_role // 8, k.thread_in_role % 8 * 4
    k.mem.st_shared(tile[0].box((row, col), (1, 4)), value.all)
    k.bar.sync()
    k.fence.proxy_async("shared")
    with k.elect_thread():
        k.tma.store(result_map, (0, 0), tile[0])
        if commit:
            k.bulk.commit_group()
            k.bulk.wait_group(0, read=True)
    assert rules(k.finish()) == ([] if commit else [("UNCOMMITTED_COPY", "error")])


def test_d11_copy_then_expect_then_all_threads_arrive() -> None:
    k = ScheduleBuilder("d11")
    k.block(8)
    source = k.global_tensor("source", (16, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(16, 32))
    tile = k.smem_tile("tile", (16, 32), "f32")
    full = k.mbarriers("full", count=256)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.elect_thread():
        k.tma.load(tile[0], source_map, (0, 0), full[0])
        k.mbarrier.expect_tx(full[0], 2048)
    k.mbarrier.arrive(full[0])
    k.mbarrier.wait(full[0], 0)
    k.mem.compute(SUM, tile[0].expecting(source.box((0, 0), (16, 32))))
    assert rules(k.finish()) == []
