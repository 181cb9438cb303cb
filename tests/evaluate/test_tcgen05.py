"""Tensor memory and tcgen05 in evaluations: kinds, layouts, copies, block scaling, broken order."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from asyncsim import ScheduleBuilder, ScheduleError
from asyncsim.evaluate import EvaluateError, Landing, Order, evaluate, make_inputs
from asyncsim.rules import Rule
from tests.check.tcgen05_schedules import gemm, pair

ORDERS = [Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=2)]
DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "i8": np.int8,
    "u8": np.uint8,
}
SLICE = 32  # bytes of a row for one instruction


def product(*, m=128, n=32, a="bf16", b="", group=1, from_tensor_memory=False):
    """One instruction on the shared tiles of one or two CTAs; each stores its lanes as they are."""
    b = b or a
    k = ScheduleBuilder("product", archs=("sm_100a",))
    k.block(4)
    k.grid(group)
    if group == 2:
        k.cluster(2)
    depth, rows = SLICE // np.dtype(DTYPES[a]).itemsize, m // group
    result = "i32" if a in ("i8", "u8") else "f32"
    left = k.global_tensor("a", (m, depth), a)
    right = k.global_tensor("b", (n, depth), b)
    columns = n // 2 if group == 2 and m == 128 else n
    out = k.global_tensor("out", (128 * group, columns), result, output=True)
    a_map = k.tensor_map("a_map", left, box=(rows, depth), swizzle=32)
    b_map = k.tensor_map("b_map", right, box=(n // group, depth), swizzle=32)
    a_tile = k.smem_tile("a_tile", (rows, depth), a, swizzle=32)
    b_tile = k.smem_tile("b_tile", (n // group, depth), b, swizzle=32)
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=columns, dtype=result, address=word)
    copy = k.tmem_tile("copy", columns=8, dtype=a, address=word, column=256)
    full, done = k.mbarriers("full", count=1), k.mbarriers("done", count=1)
    r = k.fragment("r", registers=columns, dtype=result)
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()
    if group == 2:
        k.cluster_barrier.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 512, cta_group=group)
    k.bar.sync()
    with k.elect_thread():
        at = k.mbarrier.at(full[0], 0) if group == 2 else full[0]
        with k.when(k.cta_rank == 0):
            k.mbarrier.arrive_expect_tx(full[0], (m + n) * SLICE)
        k.tma.load(a_tile[0], a_map, (k.cta_rank * rows, 0), at)
        k.tma.load(b_tile[0], b_map, (k.cta_rank * (n // group), 0), at)
        with k.when(k.cta_rank == 0):
            k.mbarrier.wait(full[0], 0)
            if from_tensor_memory:
                k.tcgen05.cp(copy[0], a_tile[0], shape="128x256b", cta_group=group)
            k.tcgen05.mma(
                acc[0],
                copy[0] if from_tensor_memory else a_tile[0],
                b_tile[0],
                accumulate=0,
                cta_group=group,
                m=m,
            )
            k.tcgen05.commit(done[0], multicast=3 if group == 2 else None, cta_group=group)
    k.mbarrier.wait(done[0], 0)
    k.tcgen05.fence_after_thread_sync()
    k.tcgen05.ld(r.all, acc[0].box((32 * k.warp_in_role, 0), (32, columns)))
    k.tcgen05.wait_ld()
    k.mem.st_global(out.box((128 * k.cta_rank + k.thread_in_role, 0), (1, columns)), r.all)
    k.tcgen05.fence_before_thread_sync()
    k.cluster_barrier.sync() if group == 2 else k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 512, cta_group=group)
    if group == 2:
        k.cluster_barrier.sync()
    return k.finish()


def results(schedule):
    inputs = make_inputs(schedule)
    found = [evaluate(schedule, inputs, order=order)["out"] for order in ORDERS]
    assert all(np.array_equal(f, found[0]) for f in found)
    wide = np.int32 if inputs["a"].dtype.kind in "iu" else np.float32
    whole = inputs["a"].astype(wide) @ inputs["b"].astype(wide).T
    assert np.abs(whole).max() > 4
    return found[0], whole


MIXED = [("e4m3", "e5m2"), ("e5m2", "e4m3"), ("i8", "u8"), ("u8", "i8")]


@pytest.mark.parametrize(("a", "b"), [*((x, x) for x in DTYPES), *MIXED])
def test_each_kind(a: str, b: str) -> None:
    got, want = results(product(a=a, b=b))
    assert np.array_equal(got, want)


def test_64_rows_lie_in_16_lanes_of_each_warp() -> None:
    got, want = results(product(m=64))
    assert np.array_equal(got.reshape(4, 32, 32)[:, :16], want.reshape(4, 16, 32))
    assert not got.reshape(4, 32, 32)[:, 16:].any()


def test_256_rows_over_two_ctas() -> None:
    got, want = results(product(m=256, n=64, group=2))
    assert np.array_equal(got, want)


def test_128_rows_over_two_ctas_fold_the_columns() -> None:
    got, want = results(product(m=128, n=64, group=2))
    halves = got.reshape(2, 2, 64, 32)  # CTA, lanes above 64, row, column
    assert np.array_equal(halves.transpose(0, 2, 1, 3).reshape(128, 64), want)


@pytest.mark.parametrize("a", ["bf16", "e4m3", "tf32"])
@pytest.mark.parametrize("group", [1, 2])
def test_a_from_tensor_memory(group: int, a: str) -> None:
    got, want = results(product(m=128 * group, group=group, a=a, from_tensor_memory=True))
    assert np.array_equal(got, want)


def test_tf32_ignores_the_lower_bits() -> None:
    s = product(a="tf32")
    inputs = make_inputs(s)
    exact = evaluate(s, inputs)["out"]
    noisy = {"a": (inputs["a"].view(np.uint32) | 0x1FFF).view(np.float32), "b": inputs["b"]}
    assert np.array_equal(evaluate(s, noisy)["out"], exact)
    coarse = {"a": (inputs["a"].view(np.uint32) | 0x2000).view(np.float32), "b": inputs["b"]}
    assert not np.array_equal(evaluate(s, coarse)["out"], exact)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("build", [gemm, pair])
def test_pipelines_compute_the_product(build, order: Order) -> None:
    s = build(tiles=2, steps=2)
    inputs = make_inputs(s)
    want = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T
    assert np.array_equal(evaluate(s, inputs, order=order)["out"], want)


LATE = [Order(landing=Landing.LATE, seed=seed) for seed in (None, *range(8))]


@pytest.mark.parametrize("bug", ["early_release", "no_commit", "one_slot", "no_wait_ld"])
def test_a_broken_pipeline_differs_in_some_order(bug: str) -> None:
    s = gemm(bug=bug)
    inputs = make_inputs(s)
    want = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T

    def is_right(order: Order) -> bool:
        try:
            return np.array_equal(evaluate(s, inputs, order=order)["out"], want)
        except EvaluateError:
            return False

    assert not all(is_right(order) for order in LATE)


def test_memory_that_stays_allocated_is_a_leak() -> None:
    s = gemm(bug="leak")
    with pytest.raises(EvaluateError, match="ends with 128 columns of tensor memory") as caught:
        evaluate(s, make_inputs(s))
    assert caught.value.rule is Rule.TMEM_LEAK


def moves(shape: str, rows: int, row_bytes: int, *, shift: bool = False):
    """tcgen05.cp (and a shift of 32 lanes), stored lane by lane."""
    columns = row_bytes // 4
    k = ScheduleBuilder("moves", archs=("sm_100a",))
    k.block(4)
    source = k.global_tensor("source", (rows, columns), "u32")
    out = k.global_tensor("out", (128, columns), "u32", output=True)
    load = k.tensor_map("load", source, box=(rows, columns))
    tile = k.smem_tile("tile", (rows, columns), "u32")
    word = k.smem_tile("word", (1, 1), "u32")
    t = k.tmem_tile("t", columns=columns, dtype="u32", address=word)
    full, done = k.mbarriers("full", count=1), k.mbarriers("done", count=1)
    r = k.fragment("r", registers=columns, dtype="u32")
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 32)
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(full[0], rows * row_bytes)
        k.tma.load(tile[0], load, (0, 0), full[0])
        k.mbarrier.wait(full[0], 0)
        k.tcgen05.cp(t[0].box((0, 0), (4 if rows == 4 else 128, columns)), tile[0], shape=shape)
        if shift:
            k.tcgen05.shift(t[0].box((32, 0), (32, 8)))
        k.tcgen05.commit(done[0])
    k.mbarrier.wait(done[0], 0)
    k.tcgen05.fence_after_thread_sync()
    k.tcgen05.ld(r.all, t[0].box((32 * k.warp_in_role, 0), (32, columns)))
    k.tcgen05.wait_ld()
    k.mem.st_global(out.box((k.thread_in_role, 0), (1, columns)), r.all)
    k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 32)
    s = k.finish()
    inputs = make_inputs(s)
    found = [evaluate(s, inputs, order=order)["out"] for order in ORDERS]
    assert all(np.array_equal(f, found[0]) for f in found)
    return found[0], inputs["source"]


@pytest.mark.parametrize(
    ("shape", "rows", "row_bytes", "warps"),
    [
        ("128x256b", 128, 32, (0, 1, 2, 3)),
        ("128x128b", 128, 16, (0, 1, 2, 3)),
        ("64x128b.warpx2::02_13", 64, 16, (0, 1, 0, 1)),
        ("64x128b.warpx2::01_23", 64, 16, (0, 0, 1, 1)),
        ("32x128b.warpx4", 32, 16, (0, 0, 0, 0)),
    ],
)
def test_copies(shape: str, rows: int, row_bytes: int, warps: tuple[int, ...]) -> None:
    got, source = moves(shape, rows, row_bytes)
    for warp, part in enumerate(warps):
        want = source[32 * part : 32 * part + 32]
        assert np.array_equal(got[32 * warp : 32 * warp + 32], want)


def test_a_copy_of_four_rows() -> None:
    got, source = moves("4x256b", 4, 32)
    assert np.array_equal(got[:4], source)
    assert not got[4:].any()


def test_shift_moves_the_rows_of_32_lanes_down_by_one() -> None:
    got, source = moves("128x256b", 128, 32, shift=True)
    want = source.copy()
    want[33:64] = source[32:63]
    assert np.array_equal(got, want)


def test_registers_go_to_tensor_memory_and_back() -> None:
    k = ScheduleBuilder("store", archs=("sm_100a",))
    k.block(4)
    source = k.global_tensor("source", (128, 32), "u32")
    out = k.global_tensor("out", (128, 32), "u32", output=True)
    word = k.smem_tile("word", (1, 1), "u32")
    t = k.tmem_tile("t", columns=32, dtype="u32", address=word)
    x, y = (k.fragment(name, registers=32, dtype="u32") for name in "xy")
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 32)
    k.bar.sync()
    own = t[0].box((32 * k.warp_in_role, 0), (32, 32))
    k.mem.ld_global(x.all, source.box((k.thread_in_role, 0), (1, 32)))
    k.tcgen05.st(own, x.all)
    k.tcgen05.wait_st()
    k.tcgen05.ld(y.all, own)
    k.tcgen05.wait_ld()
    k.mem.st_global(out.box((k.thread_in_role, 0), (1, 32)), y.all)
    k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 32)
    s = k.finish()
    inputs = make_inputs(s)
    for order in ORDERS:
        assert np.array_equal(evaluate(s, inputs, order=order)["out"], inputs["source"])


def test_lanes_of_another_warp() -> None:
    s = gemm(bug="wrong_lanes")
    with pytest.raises(ScheduleError, match=r"accesses lanes 96\.\.127 of 'acc'") as caught:
        evaluate(s, make_inputs(s))
    assert caught.value.rule is Rule.TMEM_LANES


def block_scaled(kind: str, vec: int, *, n: int = 64, elements: str = "u8", first: int = 0):
    """One instruction of a block-scaled kind, its factors copied to tensor memory."""
    k = ScheduleBuilder("block_scaled", archs=("sm_100a",))
    k.block(4)
    a, b = (k.global_tensor(x, (r, SLICE), elements) for x, r in (("a", 128), ("b", n)))
    sa, sb = (k.global_tensor(x, (r, 4), "u8") for x, r in (("sa", 128), ("sb", n)))
    out = k.global_tensor("out", (128, n), "f32", output=True)
    a_map = k.tensor_map("a_map", a, box=(128, SLICE), swizzle=32)
    b_map = k.tensor_map("b_map", b, box=(n, SLICE), swizzle=32)
    a_tile, b_tile = (
        k.smem_tile(x, (r, SLICE), elements, swizzle=32) for x, r in (("at", 128), ("bt", n))
    )
    factors = k.smem_tile("factors", (32, 4, 4), "u8", stages=2)  # lane, column, byte
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=n, address=word)
    scale = k.tmem_tile("scale", columns=4, dtype="u8", address=word, column=256, stages=2)
    full, done = k.mbarriers("full", count=1), k.mbarriers("done", count=1)
    r, byte = k.fragment("r", registers=n), k.fragment("byte", registers=4, dtype="u8")
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 512)
    for i, (tensor, rows) in enumerate(((sa, 128), (sb, n))):
        with k.when(k.warp_in_role < rows // 32):
            k.mem.ld_global(byte.all, tensor.box((k.thread_in_role, 0), (1, 4)))
            k.mem.st_shared(factors[i].box((k.lane, k.warp_in_role, 0), (1, 1, 4)), byte.all)
    k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(full[0], (128 + n) * SLICE)
        k.tma.load(a_tile[0], a_map, (0, 0), full[0])
        k.tma.load(b_tile[0], b_map, (0, 0), full[0])
        k.mbarrier.wait(full[0], 0)
        for i in range(2):
            k.tcgen05.cp(scale[i], factors[i], shape="32x128b.warpx4")
        k.tcgen05.mma(
            acc[0],
            a_tile[0],
            b_tile[0],
            accumulate=0,
            kind=kind,
            scale_a=scale[0],
            scale_b=scale[1].box((0, 0), (128, n // 32)),
            scale_vec=vec,
            scale_a_id=first,
            scale_b_id=first,
        )
        k.tcgen05.commit(done[0])
    k.mbarrier.wait(done[0], 0)
    k.tcgen05.fence_after_thread_sync()
    k.tcgen05.ld(r.all, acc[0].box((32 * k.warp_in_role, 0), (32, n)))
    k.tcgen05.wait_ld()
    k.mem.st_global(out.box((k.thread_in_role, 0), (1, n)), r.all)
    k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 512)
    return k.finish()


def four_bit(raw: np.ndarray) -> np.ndarray:
    pairs = np.stack([raw & 15, raw >> 4], axis=-1).reshape(raw.shape[0], -1)
    return pairs.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "vec", "first"),
    [
        ("mxf8f6f4", 1, 0),
        ("mxf8f6f4", 1, 3),
        ("mxf4", 2, 0),
        ("mxf4", 2, 2),
        ("mxf4nvf4", 2, 2),
        ("mxf4nvf4", 4, 0),
    ],
)
def test_block_scaling(kind: str, vec: int, first: int) -> None:
    s = block_scaled(kind, vec, elements="e4m3" if kind == "mxf8f6f4" else "u8", first=first)
    rng = np.random.default_rng(5)
    inputs = make_inputs(s)
    if kind != "mxf8f6f4":
        inputs |= {x: rng.integers(0, 256, inputs[x].shape, np.uint8) for x in "ab"}
    unsigned = kind == "mxf4nvf4" and vec == 4
    low, high = (0x30, 0x50) if unsigned else (125, 130)
    inputs |= {x: rng.integers(low, high, inputs[x].shape, np.uint8) for x in ("sa", "sb")}
    read = four_bit if kind != "mxf8f6f4" else lambda x: x.astype(np.float32)

    def scaled(name: str) -> np.ndarray:
        raw = inputs[f"s{name}"][:, first : first + vec]
        factors = raw.view(ml_dtypes.float8_e4m3fn if unsigned else ml_dtypes.float8_e8m0fnu)
        values = read(inputs[name])
        return values * factors.astype(np.float32).repeat(values.shape[1] // vec, axis=1)

    want = scaled("a") @ scaled("b").T
    for order in ORDERS:
        got = evaluate(s, inputs, order=order)["out"]
        assert np.allclose(got, want, rtol=1e-6, atol=0)
        if not unsigned:  # powers of two: every sum is exact
            assert np.array_equal(got, want)


def test_factors_begin_where_their_number_allows() -> None:
    with pytest.raises(ScheduleError, match="scale factors of a from byte 1") as caught:
        block_scaled("mxf4", 2, first=1)
    assert "2 a row begin at byte 0 or 2" in str(caught.value)
