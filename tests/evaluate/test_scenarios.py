"""The scenarios compute what they should, in every legal order; their twins do not."""

from __future__ import annotations

import numpy as np
import pytest

from asyncsim.evaluate import EvaluateError, Landing, Order, evaluate, make_inputs
from asyncsim.rules import Rule
from asyncsim.scenarios.bw_gemm import bw_gemm
from asyncsim.scenarios.bw_gemm_2cta import bw_gemm_2cta
from asyncsim.scenarios.cluster_sum import cluster_sum
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.dispatch import dispatch
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.mma_gemm import mma_gemm
from asyncsim.scenarios.sgemm_cp_async import sgemm_cp_async
from asyncsim.scenarios.sync_copy import sync_copy
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.scenarios.tma_im2col import tma_im2col
from asyncsim.scenarios.tma_reduce import tma_reduce
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm

LATE = Order(landing=Landing.LATE)
ORDERS = [Order(), LATE, *(Order(landing=Landing.LATE, seed=s) for s in range(3)), Order(seed=7)]


def each_in_three(problems):
    """Each problem in both plain orders and one of the others, which all have their turn."""
    return [
        (p, order) for i, p in enumerate(problems) for order in (*ORDERS[:2], ORDERS[2 + i % 4])
    ]


def product(inputs):
    return inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T


def ring_hash(source, ctas, tiles, rows, threads):
    """The hash of every consumer thread, tile after tile, in plain integers."""
    tile = source.reshape(ctas, tiles, rows, -1)
    result = np.zeros((ctas, threads), np.uint32)
    for cta in range(ctas):
        for thread in range(threads):
            value = 0
            for t in range(tiles):
                x = tile[cta, t, (thread // 8 + 8) % rows, thread % tile.shape[-1]]
                value = (value * 31 + int(np.float32(x).view(np.uint32))) % 2**32
            result[cta, thread] = value
    return result


def attention(inputs, causal):
    """(heads, panels, seq, 64) as the tensors lie, in plain NumPy."""
    heads, panels, seq, width = inputs["q"].shape
    q, k, v = (
        inputs[name].astype(np.float32).transpose(0, 2, 1, 3).reshape(heads, seq, -1)
        for name in ("q", "k", "v")
    )
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    if causal:
        scores[:, np.triu(np.ones((seq, seq), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out = weights / weights.sum(-1, keepdims=True) @ v
    return out.reshape(heads, seq, panels, width).transpose(0, 2, 1, 3)


@pytest.mark.parametrize(
    ("params", "orders"),
    [
        ({"seq": 256, "hdim": 64}, ORDERS),
        ({"seq": 200, "hdim": 128, "block_n": 64, "causal": 1, "heads": 2}, ORDERS[:2]),
        ({"seq": 200, "hdim": 128, "block_n": 80, "overlap": 0}, ORDERS[1:3]),
        ({"seq": 150, "hdim": 64, "f16": 1, "pingpong": 0, "causal": 1}, ORDERS[1:3]),
        ({"seq": 190, "hdim": 256, "causal": 1, "overlap": 0, "pingpong": 0}, ORDERS[1:2]),
        ({"seq": 400, "hdim": 64, "consumers": 3, "causal": 1}, ORDERS[1:2]),
    ],
)
def test_flash_attention_is_attention_in_every_order(params, orders):
    schedule = flash_attention.build({"heads": 1, **params})
    inputs = make_inputs(schedule, purpose="timing")  # normal: most keys count
    wanted = attention(inputs, params.get("causal"))
    for order in orders:
        have = evaluate(schedule, inputs, order=order)["o"].astype(np.float32)
        assert np.abs(have - wanted).max() < schedule.tensor("o").tolerance


@pytest.mark.parametrize(
    ("params", "order"),
    each_in_three(
        [
            {"m": 128, "n": 128, "k": 256},
            {"m": 128, "n": 64, "k": 320, "block_m": 64, "block_n": 64, "stages": 2, "lag": 1},
            {"m": 64, "n": 48, "k": 96, "block_m": 64, "block_n": 24, "block_k": 32, "lag": 0},
            {"m": 128, "n": 128, "k": 64, "block_k": 16, "stages": 3},
            {"m": 256, "n": 128, "k": 192, "consumers": 2, "block_m": 256, "k_order": 1},
            {"m": 200, "n": 131, "k": 72},
            {"m": 65, "n": 1, "k": 8, "block_m": 64},
            {"m": 300, "n": 130, "k": 136, "consumers": 2, "block_m": 256},
            {"m": 256, "n": 32, "k": 128, "consumers": 2, "block_n": 32, "lag": 0},
            {"m": 128, "n": 64, "k": 448, "block_n": 64, "stages": 4, "distance": 2},
        ]
    ),
)
def test_gemm_is_exact_in_any_order(params, order):
    schedule = ws_gemm.build(params)
    inputs = make_inputs(schedule)
    out = evaluate(schedule, inputs, order=order)
    assert list(out) == ["c"]
    assert np.array_equal(out["c"], product(inputs))


@pytest.mark.parametrize("scenario", [bw_gemm, bw_gemm_2cta], ids=lambda s: s.name)
@pytest.mark.parametrize(
    ("params", "order"),
    each_in_three(
        [
            {"m": 512, "n": 512, "k": 192, "ctas": 2},
            {"m": 328, "n": 136, "k": 72, "ctas": 4, "block_n": 64, "f32": 1, "slots": 3},
            {"m": 200, "n": 264, "k": 40, "ctas": 0, "block_n": 128, "block_k": 32, "stages": 1},
            {"m": 520, "n": 128, "k": 328, "ctas": 2, "block_n": 128, "slots": 1, "buffers": 1},
        ]
    ),
)
def test_blackwell_gemm_is_exact_in_any_order(scenario, params, order):
    schedule = scenario.build(params)
    inputs = make_inputs(schedule)
    got = evaluate(schedule, inputs, order=order)["c"]
    assert np.array_equal(got, product(inputs).astype(got.dtype))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("stages", "distance", "tiles", "tile_bytes", "consumers"),
    [
        (1, 0, 5, 16384, 4),
        (4, 0, 9, 16384, 2),
        (3, 0, 2, 49152, 1),
        (2, 0, 4, 16, 1),
        (4, 0, 0, 1024, 2),
        (4, 1, 9, 1024, 2),
        (5, 3, 12, 1024, 1),
    ],
)
def test_ring_hashes_every_tile_in_order(stages, distance, tiles, tile_bytes, consumers, order):
    params = {"stages": stages, "distance": distance, "tiles": tiles, "tile_bytes": tile_bytes}
    schedule = tma_ring.build({**params, "ctas": 2, "consumers": consumers})
    inputs = make_inputs(schedule)
    rows = schedule.tile("ring").shape[0]
    want = ring_hash(inputs["source"], 2, tiles, rows, 32 * consumers) if tiles else 0
    got = evaluate(schedule, inputs, order=order)["result"]
    assert np.array_equal(got, np.broadcast_to(want, got.shape))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("stages", "distance", "tiles"),
    [(2, 0, 5), (4, 0, 2), (4, 0, 9), (8, 0, 3), (3, 0, 0), (4, 1, 9), (3, 3, 7), (1, 1, 4)],
)
def test_multistage_hashes_every_tile_in_order(stages, distance, tiles, order):
    params = {"stages": stages, "distance": distance, "tiles": tiles, "tile_bytes": 2048}
    schedule = cp_async_multistage.build({**params, "ctas": 2})
    inputs = make_inputs(schedule)
    want = ring_hash(inputs["source"], 2, tiles, 16, 128) if tiles else 0
    got = evaluate(schedule, inputs, order=order)["result"]
    assert np.array_equal(got, np.broadcast_to(want, got.shape))


@pytest.mark.parametrize(
    ("params", "order"),
    each_in_three(
        [
            {"m": 128, "n": 128, "k": 80},
            {"m": 256, "n": 128, "k": 8, "stages": 5, "alpha": -3},
            {"m": 128, "n": 256, "k": 64, "stages": 2, "alpha": 2, "beta": 3},
            {"m": 128, "n": 128, "k": 72, "stages": 4, "distance": 1, "beta": -1},
            {"m": 128, "n": 128, "k": 72, "stages": 3, "distance": 3},
            {"m": 128, "n": 128, "k": 24, "stages": 1, "distance": 1},
        ]
    ),
)
def test_sgemm_is_exact_in_any_order(params, order):
    schedule = sgemm_cp_async.build(params)
    inputs = make_inputs(schedule)
    want = params.get("alpha", 1) * (inputs["a"] @ inputs["b"])
    if "beta" in params:
        want += params["beta"] * inputs["c"]
    assert np.array_equal(evaluate(schedule, inputs, order=order)["d"], want)


def test_swapped_k_of_sgemm_multiplies_with_the_tile_before():
    schedule = sgemm_cp_async.build({"m": 128, "n": 128, "k": 32}, "swapped_k")
    inputs = make_inputs(schedule)
    behind = np.vstack([inputs["b"][:8], inputs["b"][:24]])
    for order in ORDERS:
        assert np.array_equal(evaluate(schedule, inputs, order=order)["d"], inputs["a"] @ behind)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("tiles", "tile_bytes"), [(5, 2048), (1, 8192), (4, 32768), (0, 2048)])
def test_sync_copy_hashes_every_tile_in_order(tiles, tile_bytes, order):
    schedule = sync_copy.build({"tiles": tiles, "tile_bytes": tile_bytes, "ctas": 2})
    inputs = make_inputs(schedule)
    want = ring_hash(inputs["source"], 2, tiles, tile_bytes // 128, 128) if tiles else 0
    got = evaluate(schedule, inputs, order=order)["result"]
    assert np.array_equal(got, np.broadcast_to(want, got.shape))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("m", "n"), [(16, 32), (64, 96), (33, 100), (1, 4)])
def test_tma_copy_adds_one_to_every_element(m, n, order):
    schedule = tma_copy.build({"m": m, "n": n})
    inputs = make_inputs(schedule)
    got = evaluate(schedule, inputs, order=order)["result"]
    assert np.array_equal(got, inputs["source"] + 1)


def test_only_the_given_ctas_run():
    schedule = ws_gemm.build({"m": 256, "n": 384, "k": 64})
    inputs = make_inputs(schedule)
    got = evaluate(schedule, inputs, ctas=[1, 4])["c"]
    want = np.zeros_like(got)
    for x, y in ((1, 0), (0, 2)):  # linear index = x + 2 * y, x over rows
        part = np.s_[128 * x : 128 * x + 128, 128 * y : 128 * y + 128]
        want[part] = product(inputs)[part]
    assert np.array_equal(got, want)


def test_swapped_k_computes_the_wrong_product_that_a_gpu_computes():
    """B comes from one k-step ahead, and from outside the matrix (zeros) in the last step."""
    schedule = ws_gemm.build({"m": 128, "n": 128, "k": 256}, "swapped_k")
    inputs = make_inputs(schedule)
    a = inputs["a"].astype(np.float32)
    b = np.pad(inputs["b"].astype(np.float32)[:, 64:], ((0, 0), (0, 64)))
    for order in ORDERS:
        got = evaluate(schedule, inputs, order=order)["c"]
        assert np.array_equal(got, a @ b.T)
        assert not np.array_equal(got, product(inputs))


def test_wrong_tile_hashes_the_tile_after_the_one_that_is_meant():
    params = {"tiles": 6, "ctas": 1, "consumers": 1}
    twin, clean = tma_ring.build(params, "wrong_tile"), tma_ring.build(params)
    inputs = make_inputs(twin)
    rows = inputs["source"].shape[0] // 6
    shifted = {"source": np.vstack([inputs["source"][rows:], np.zeros((rows, 32), np.float32)])}
    want = evaluate(clean, shifted)["result"]
    for order in ORDERS:
        got = evaluate(twin, inputs, order=order)["result"]
        assert np.array_equal(got, want)
        assert not np.array_equal(got, evaluate(clean, inputs)["result"])


@pytest.mark.parametrize(
    ("scenario", "params", "twin"),
    [
        (cp_async_multistage, {"ctas": 1, "tiles": 8}, "commit_if_copied"),
        (cp_async_multistage, {"ctas": 1, "tiles": 8}, "wait_too_loose"),
        (cp_async_multistage, {"ctas": 1, "tiles": 8}, "no_barrier"),
        (cp_async_multistage, {"ctas": 1, "tiles": 8, "distance": 4}, "refill_same_stage"),
        (sgemm_cp_async, {"m": 128, "n": 128, "k": 64}, "no_barrier"),
        (sgemm_cp_async, {"m": 128, "n": 128, "k": 64}, "wait_too_loose"),
        (sync_copy, {"ctas": 1, "tiles": 8}, "no_first_barrier"),
        (sync_copy, {"ctas": 1, "tiles": 8}, "no_second_barrier"),
        (ws_gemm, {"m": 128, "n": 128, "k": 512}, "no_final_wait"),
    ],
)
def test_a_race_gives_a_wrong_number_in_some_order_and_its_clean_form_in_none(
    scenario, params, twin
):
    clean, broken = scenario.build(params), scenario.build(params, twin)
    inputs = make_inputs(clean)
    (name,) = evaluate(clean, inputs)
    want = evaluate(clean, inputs)[name]
    assert all(np.array_equal(evaluate(clean, inputs, order=o)[name], want) for o in ORDERS)
    assert any(not np.array_equal(evaluate(broken, inputs, order=o)[name], want) for o in ORDERS)


@pytest.mark.parametrize(
    ("cluster", "order"),
    [*each_in_three([1, 2, 3, 8]), (16, ORDERS[0]), (16, ORDERS[3])],
)
def test_cluster_sum_is_exact_in_every_order(cluster, order):
    schedule = cluster_sum.build({"cluster": cluster, "clusters": 2, "rows": 12})
    inputs = make_inputs(schedule)
    found = evaluate(schedule, inputs, order=order)["sums"]
    rows = inputs["source"].reshape(2, cluster * 12, 32 * cluster)
    assert np.array_equal(found, rows.sum(axis=1, dtype=np.float32))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("op", "tiles", "outputs"), [(0, 5, 3), (1, 4, 1), (2, 0, 2), (2, 7, 9)])
def test_tma_reduce_is_exact_in_every_order(op, tiles, outputs, order):
    schedule = tma_reduce.build({"op": op, "tiles": tiles, "outputs": outputs, "ctas": 3})
    inputs = make_inputs(schedule)
    found = evaluate(schedule, inputs, order=order)["result"].reshape(outputs, 64, 32)
    wanted = np.zeros_like(found)
    for t, tile in enumerate(inputs["source"].reshape(-1, 64, 32)[: 3 * tiles]):
        at = t % outputs
        wanted[at] = (np.add, np.minimum, np.maximum)[op](wanted[at], tile)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("stages", "rows", "experts", "topk"),
    [(2, 7, 4, 2), (4, 3, 3, 3), (3, 10, 1, 1), (5, 0, 2, 1), (2, 1, 5, 2)],
)
def test_dispatch_is_exact_in_every_order(stages, rows, experts, topk, order):
    sizes = {"stages": stages, "rows": rows, "experts": experts, "topk": topk}
    schedule = dispatch.build({**sizes, "ctas": 3, "width": 16})
    inputs = make_inputs(schedule)
    found = evaluate(schedule, inputs, order=order)["routed"]
    wanted = np.zeros_like(found).reshape(topk, experts, -1, 16)
    for choice in range(topk):
        taken = [0] * experts  # slots of each expert
        for token in range(3 * rows):
            expert = (token + choice) % experts
            slot = sum((t + choice) % experts == expert for t in range(token))
            assert slot == taken[expert]
            taken[expert] += 1
            wanted[choice, expert, token // experts] = inputs["source"][token]
    assert np.array_equal(found, wanted.reshape(found.shape))


@pytest.mark.parametrize("order", [Order(), LATE, Order(landing=Landing.LATE, seed=1)])
@pytest.mark.parametrize(
    "params",
    [
        {"batch": 2, "height": 9, "width": 7, "filters": 24, "block_n": 24},
        {"batch": 1, "height": 5, "width": 30, "filters": 40, "block_n": 32, "size": 5},
        {"batch": 3, "height": 8, "width": 16, "channels": 128, "filters": 8, "block_n": 8},
        {"batch": 130, "height": 1, "width": 1, "filters": 8, "block_n": 8, "size": 1},
    ],
)
def test_tma_im2col_is_a_convolution_in_every_order(params, order):
    schedule = tma_im2col.build({"channels": 64, "stages": 3, **params})
    inputs = make_inputs(schedule)
    found = evaluate(schedule, inputs, order=order)["result"]
    image, size = inputs["image"].astype(np.float32), params.get("size", 3)
    pad = size // 2
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    weights = inputs["weights"].astype(np.float32).reshape(-1, size, size, image.shape[-1])
    height, width = image.shape[1:3]
    wanted = sum(
        padded[:, r : r + height, s : s + width] @ weights[:, r, s].T
        for r in range(size)
        for s in range(size)
    )
    assert np.array_equal(found, wanted.reshape(found.shape))


def test_deadlock_lists_every_blocked_role_in_one_line():
    schedule = tma_ring.build({"ctas": 1, "consumers": 2}, "producer_phase")
    with pytest.raises(EvaluateError) as caught:
        evaluate(schedule, make_inputs(schedule))
    assert caught.value.rule is Rule.DEADLOCK
    full, empty = (
        next(op.loc for op in schedule.ops() if type(op).__name__ == "MbarrierWait"
             and op.mbarrier.name == name)
        for name in ("full", "empty")
    )  # fmt: skip
    assert str(caught.value) == (
        f"deadlock in CTA (0, 0, 0): consumer/0,1 waits in MbarrierWait at {full}, parity 0 of "
        "generation 0: 1 of 1 arrivals and 0 bytes missing; "
        f"producer/0 waits in MbarrierWait at {empty}, parity 0 of generation 0: 2 of 2 arrivals "
        "and 0 bytes missing"
    )


def test_bytes_that_were_not_announced_hang_the_consumers():
    schedule = tma_ring.build({"ctas": 1}, "expect_short")
    with pytest.raises(EvaluateError, match="0 of 1 arrivals and -16 bytes missing"):
        evaluate(schedule, make_inputs(schedule))


def test_a_copy_out_of_bounds_is_named_with_its_line():
    schedule = cp_async_multistage.build({"ctas": 1}, "prologue_overrun")
    with pytest.raises(Exception, match="access outside dimension 0 of 'source'") as caught:
        evaluate(schedule, make_inputs(schedule))
    assert caught.value.rule is Rule.OUT_OF_BOUNDS


@pytest.mark.parametrize(
    "params",
    [
        {"m": 128, "n": 128, "k": 192},
        {"m": 140, "n": 70, "k": 72, "stages": 2},
        {"m": 1, "n": 2, "k": 8, "stages": 4},
    ],
)
def test_mma_gemm_is_exact(params):
    schedule = mma_gemm.build(params)
    inputs = make_inputs(schedule)
    a, b = (inputs[name].astype(np.float32) for name in "ab")
    assert np.array_equal(evaluate(schedule, inputs)["d"], a @ b.T)
