"""What single ops do: copies at the edges of tensors, zero-fill, fragments, barriers, compute."""

from __future__ import annotations

import numpy as np
import pytest

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Fill,
    OobFill,
    ScheduleBuilder,
    ScheduleError,
    Work,
    maximum,
    minimum,
)
from asyncsim.evaluate import EvaluateError, Landing, Order, evaluate, make_inputs
from asyncsim.evaluate.cta import accumulator_view
from asyncsim.rules import Rule

ORDERS = [Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=2)]


def tma_copy(start, *, fill=OobFill.ZERO, shape=(20, 12), box=(8, 8), dtype="f32"):
    """One box loaded and stored to the start of the output."""
    k = ScheduleBuilder("copy")
    source = k.global_tensor("source", shape, dtype, fill=Fill.IOTA)
    out = k.global_tensor("out", box, dtype, output=True)
    load = k.tensor_map("load", source, box=box, oob_fill=fill)
    store = k.tensor_map("store", out, box=box)
    tile = k.smem_tile("tile", box, dtype)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 4 * box[0] * box[1])
        k.tma.load(tile[0], load, start, full[0])
        k.mbarrier.wait(full[0], 0)
        k.tma.store(store, (0, 0), tile[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    s = k.finish()
    results = [evaluate(s, make_inputs(s), order=o)["out"] for o in ORDERS]
    assert all(np.array_equal(r, results[0], equal_nan=True) for r in results)
    return results[0]


@pytest.mark.parametrize("start", [(0, 0), (16, 8), (-3, -4), (19, 8), (20, 0), (-8, 0), (30, 40)])
@pytest.mark.parametrize("fill", list(OobFill))
def test_tma_load_fills_what_lies_outside(start, fill):
    padded = np.full((80, 80), np.nan if fill is OobFill.NAN else 0, np.float32)
    padded[20:40, 20:32] = np.arange(240).reshape(20, 12)
    want = padded[20 + start[0] :, 20 + start[1] :][:8, :8]
    assert np.array_equal(tma_copy(start, fill=fill), want, equal_nan=True)


@pytest.mark.parametrize("start", [(0, 0), (16, 8), (-3, -4), (20, 0)])
def test_tma_store_clips_what_lies_outside(start):
    k = ScheduleBuilder("clip")
    source = k.global_tensor("source", (8, 8), "u32", fill=Fill.IOTA)
    out = k.global_tensor("out", (20, 12), "u32", output=True)
    load, store = k.tensor_map("load", source, box=(8, 8)), k.tensor_map("store", out, box=(8, 8))
    tile, full = k.smem_tile("tile", (8, 8), "u32"), k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.mbarrier.arrive_expect_tx(full[0], 256)
        k.tma.load(tile[0], load, (0, 0), full[0])
        k.mbarrier.wait(full[0], 0)
        k.tma.store(store, start, tile[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=True)
    s = k.finish()
    padded = np.zeros((60, 60), np.uint32)
    padded[20 + start[0] :, 20 + start[1] :][:8, :8] = np.arange(64).reshape(8, 8)
    for order in ORDERS:
        assert np.array_equal(evaluate(s, make_inputs(s), order=order)["out"], padded[20:40, 20:32])


def test_cp_async_zero_fills_what_src_bytes_leaves_out_even_past_the_tensor():
    k = ScheduleBuilder("zfill", archs=("sm_80",))
    source = k.global_tensor("source", (66,), "u32", fill=Fill.IOTA)
    out = k.global_tensor("out", (128,), "u32", output=True)
    tile = k.smem_tile("tile", (128,), "u32")
    x = k.fragment("x", registers=4, dtype="u32")
    first = k.lane * 4
    left = (66 - first) * 4
    k.cp_async.copy(
        tile[0].box((first,), (4,)),
        source.box((first,), (4,)),
        src_bytes=minimum(16, maximum(0, left)),
    )
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.mem.ld_shared(x.all, tile[0].box((first,), (4,)))
    k.mem.st_global(out.box((first,), (4,)), x.all)
    s = k.finish()
    want = np.zeros(128, np.uint32)
    want[:66] = np.arange(66)
    for order in ORDERS:
        assert np.array_equal(evaluate(s, make_inputs(s), order=order)["out"], want)


def test_cp_async_that_keeps_bytes_outside_the_tensor_is_out_of_bounds():
    k = ScheduleBuilder("zfill", archs=("sm_80",))
    source = k.global_tensor("source", (66,), "u32")
    tile = k.smem_tile("tile", (128,), "u32")
    k.cp_async.copy(tile[0].box((k.lane * 4,), (4,)), source.box((k.lane * 4,), (4,)), src_bytes=12)
    s = k.finish()
    with pytest.raises(ScheduleError, match="^cp.async reads outside source of shape") as caught:
        evaluate(s, make_inputs(s))
    assert caught.value.rule is Rule.OUT_OF_BOUNDS


@pytest.mark.parametrize("n", [8, 24, 128, 256])
def test_accumulator_registers_lie_where_ptx_says(n):
    matrix = np.arange(64 * n).reshape(64, n)
    for warp in range(4):
        held = accumulator_view(matrix, warp).reshape(32, n // 2)
        for lane in range(32):
            for r in range(n // 2):
                row = 16 * warp + lane // 4 + 8 * (r // 2 % 2)
                column = 8 * (r // 4) + 2 * (lane % 4) + r % 2
                assert held[lane, r] == matrix[row, column]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_operand_registers_lie_where_ptx_says(size):
    packed, k = 4 // size, 64 // size  # two k-slices of 32 bytes
    matrix = np.arange(64 * k).reshape(64, k)
    for warp in range(4):
        held = accumulator_view(matrix, warp, packed).reshape(32, k // 2)
        for lane in range(32):
            for e in range(k // 2):
                register = e // packed
                row = 16 * warp + lane // 4 + 8 * (register % 2)
                column = (16 * (register // 2) + 4 * (lane % 4)) // size + e % packed
                assert held[lane, e] == matrix[row, column]


def test_compute_sees_and_changes_accumulator_registers():
    double = ComputeDef(
        name="double",
        operands=(
            ComputeOperand(name="acc", kind="fragment", mode=AccessMode.READ_WRITE),
            ComputeOperand(name="by", kind="int"),
        ),
        work=lambda by: Work(ffma=1),
        cuda="for (int i = 0; i < 8; ++i) acc[i] = acc[i] * by + lane;",
        numpy=lambda acc, by, lane, **_: acc.__setitem__(..., acc * by + lane[:, None]),
    )
    init = ComputeDef(
        name="init",
        operands=(ComputeOperand(name="acc", kind="fragment", mode=AccessMode.WRITE),),
        work=lambda: Work(alu=1),
        cuda="for (int i = 0; i < 8; ++i) acc[i] = 100 * thread_in_role + i;",
        numpy=lambda acc, thread_in_role, **_: acc.__setitem__(
            ..., 100 * thread_in_role[:, None] + np.arange(8)
        ),
    )
    k = ScheduleBuilder("acc")
    out = k.global_tensor("out", (64, 16), "f32", output=True)
    acc = k.accumulator("acc", n=16)
    k.block(4)
    k.mem.compute(init, acc.all)
    k.mem.compute(double, acc.all, 3)
    k.mem.store_accumulator(out, (0, 0), acc)
    s = k.finish()
    got = evaluate(s, make_inputs(s))["out"]
    want = np.zeros((64, 16), np.float32)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for r in range(8):
            row = 16 * warp + lane // 4 + 8 * (r // 2 % 2)
            want[row, 8 * (r // 4) + 2 * (lane % 4) + r % 2] = 3 * (100 * thread + r) + lane
    assert np.array_equal(got, want)


def test_elected_compute_and_store_are_of_one_lane():
    count = ComputeDef(
        name="count",
        operands=(ComputeOperand(name="x", kind="fragment", mode=AccessMode.READ_WRITE),),
        work=lambda: Work(alu=1),
        cuda="x[0] += 1 + lane;",
        numpy=lambda x, lane, **_: x.__iadd__((1 + lane[:, None]).astype(x.dtype)),
    )
    k = ScheduleBuilder("elected")
    out = k.global_tensor("out", (64,), "u32", output=True)
    x = k.fragment("x", registers=1, dtype="u32")
    k.block(2)
    k.mem.compute(count, x.all)
    with k.elect():
        k.mem.compute(count, x.all)
    k.mem.st_global(out.box((k.thread_in_role,), (1,)), x.all)
    s = k.finish()
    want = np.tile(np.arange(1, 33, dtype=np.uint32), 2)
    want[[0, 32]] += 1
    assert np.array_equal(evaluate(s, make_inputs(s))["out"], want)


def test_a_failing_numpy_body_is_named_with_its_line():
    broken = ComputeDef(
        name="broken",
        operands=(ComputeOperand(name="x", kind="fragment", mode=AccessMode.WRITE),),
        work=lambda: Work(alu=1),
        cuda="",
        numpy=lambda x, **_: x[99],
    )
    k = ScheduleBuilder("broken")
    x = k.fragment("x", registers=1)
    k.mem.compute(broken, x.all)
    s = k.finish()
    (op,) = s.ops()
    with pytest.raises(ScheduleError) as caught:
        evaluate(s, {})
    assert caught.value.loc == op.loc
    assert caught.value.message == (
        "the NumPy body of compute 'broken' fails: IndexError: index 99 is out of bounds for axis "
        "0 with size 32"
    )


def two_roles(first, second, *, threads=(64, 64)):
    k = ScheduleBuilder("bars")
    a = k.named_barrier("a", id=1, threads=threads[0])
    b = k.named_barrier("b", id=2, threads=threads[1])
    with k.specialize():
        with k.role("p", warps=1):
            first(k, a, b)
        with k.role("q", warps=1):
            second(k, a, b)
    return k.finish()


def test_named_barriers_join_arrive_and_sync():
    s = two_roles(
        lambda k, a, b: (k.bar.arrive(a), k.bar.sync(b)),
        lambda k, a, b: (k.bar.sync(a), k.bar.arrive(b)),
    )
    assert evaluate(s, {}) == {}


def test_named_barriers_in_opposite_orders_deadlock():
    s = two_roles(
        lambda k, a, b: (k.bar.sync(a), k.bar.sync(b)),
        lambda k, a, b: (k.bar.sync(b), k.bar.sync(a)),
    )
    with pytest.raises(EvaluateError) as caught:
        evaluate(s, {})
    first, _, third, _ = s.ops()
    assert str(caught.value) == (
        f"deadlock in CTA (0, 0, 0): p/0 waits in BarSync at {first.loc}, barrier 1: 32 of 64 "
        f"threads have arrived; q/0 waits in BarSync at {third.loc}, barrier 2: 32 of 64 threads "
        "have arrived"
    )


def test_arriving_twice_in_one_round_is_a_fault_with_its_place():
    s = two_roles(lambda k, a, b: (k.bar.arrive(a), k.bar.arrive(a)), lambda k, a, b: None)
    with pytest.raises(EvaluateError) as caught:
        evaluate(s, {})
    _, second = s.ops()
    assert caught.value.rule is Rule.NAMED_BARRIER_OVERRUN
    assert str(caught.value) == (
        f"CTA (0, 0, 0), p/0: BarArrive at {second.loc}: warp 0 arrives twice in one round"
    )


def test_a_fault_at_a_landing_names_the_copy():
    k = ScheduleBuilder("range")
    source = k.global_tensor("source", (256, 256), "f32")
    m = k.tensor_map("m", source, box=(128, 256))
    tile, full = k.smem_tile("tile", (128, 256), "f32"), k.mbarriers("full", count=2)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        with k.loop(9):
            k.tma.load(tile[0], m, (0, 0), full[0])
    s = k.finish()
    *_, load = s.ops()
    for order, where in (
        (Order(), "block/0: TmaLoad"),
        (Order(landing=Landing.LATE), "landing of TmaLoad"),
    ):
        with pytest.raises(EvaluateError) as caught:
            evaluate(s, make_inputs(s), order=order)
        assert caught.value.rule is Rule.TX_RANGE
        assert f"{where} at {load.loc}: transaction count -1048576 out of" in str(caught.value)


def test_wait_of_one_warp_passes_only_when_all_four_have_issued_the_wgmma():
    """Warp 0 waits for its group before it signals the others: they never issue, all hang."""
    k = ScheduleBuilder("stuck")
    a = k.smem_tile("a", (64, 64), "bf16", swizzle=128)
    b = k.smem_tile("b", (8, 64), "bf16", swizzle=128)
    acc = k.accumulator("acc", n=8)
    go = k.mbarriers("go", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(go)
    k.bar.sync()
    with k.specialize(), k.role("mma", warps=4):
        with k.when(k.warp_in_role != 0):
            k.mbarrier.wait(go[0], 0)
        k.wgmma.fence()
        k.wgmma.mma(acc, a[0].box((0, 0), (64, 16)), b[0].box((0, 0), (8, 16)))
        k.wgmma.commit_group()
        k.wgmma.wait_group(0)
        with k.when(k.warp_in_role == 0), k.elect():
            k.mbarrier.arrive(go[0])
    with pytest.raises(EvaluateError) as caught:
        evaluate(k.finish(), {})
    assert "mma/0 waits in WaitGroup" in str(caught.value)
    assert "not all four warps have issued the groups it covers" in str(caught.value)
    assert "mma/1,2,3 waits in MbarrierWait" in str(caught.value)
