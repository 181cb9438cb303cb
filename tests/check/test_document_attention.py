"""Ping-pong attention of the documents (D6): two warpgroups take turns at the tensor cores."""

from __future__ import annotations

import pytest

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Rule,
    ScheduleBuilder,
    Work,
)
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict

GROUP, BOTH = 128, 256  # threads
TILE = 64 * 64 * 2

CLEAR = ComputeDef(
    name="clear",
    operands=(ComputeOperand(name="out", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=32),
    cuda="for (auto& v : out) v = 0;",
    numpy=lambda out, **_: out.fill(0),
)
SOFTMAX = ComputeDef(
    name="softmax",
    operands=(
        ComputeOperand(name="scores", kind="fragment"),
        ComputeOperand(name="out", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="weights", kind="smem", mode=AccessMode.WRITE),
    ),
    work=lambda: Work(ffma=32, mufu=32),
    cuda="online_softmax(scores, out, weights);",
    numpy=lambda **_: None,
)


def ping_pong(
    *,
    tiles: int = 4,
    stages: int = 2,
    threads: int = BOTH,
    first: bool = True,
    sync: bool = True,
    own: bool = True,
) -> Schedule:
    """Warpgroup g multiplies when ``turn g`` lets it, and hands over before its softmax.

    ``first``: group 1 lets group 0 begin. ``sync``: group 0 waits for its turn. ``own``: the warps
    of a group meet between softmax and the product that reads what all of them wrote.
    """
    k = ScheduleBuilder("ping_pong")
    q = k.global_tensor("q", (128, 64), "bf16")
    keys = k.global_tensor("keys", (64 * tiles, 64), "bf16")
    values = k.global_tensor("values", (64, 64 * tiles), "bf16")  # transposed
    out = k.global_tensor("out", (128, 64), "f32", output=True)
    q_map, key_map, value_map = (
        k.tensor_map(f"{name}_map", tensor, box=(64, 64), swizzle=128)
        for name, tensor in (("q", q), ("key", keys), ("value", values))
    )
    q_tile = k.smem_tile("q_tile", (64, 64), "bf16", stages=2, swizzle=128)
    key_tile = k.smem_tile("key_tile", (64, 64), "bf16", stages=stages, swizzle=128)
    value_tile = k.smem_tile("value_tile", (64, 64), "bf16", stages=stages, swizzle=128)
    weights = k.smem_tile("weights", (64, 64), "bf16", stages=2, swizzle=128)
    q_full = k.mbarriers("q_full", count=1, stages=2)
    full, empty = (
        k.mbarriers("full", count=1, stages=stages),
        k.mbarriers("empty", count=2, stages=stages),
    )
    turns = [k.named_barrier(f"turn{g}", id=1 + g, threads=BOTH) for g in range(2)]
    handed = [k.named_barrier(f"handed{g}", id=1 + g, threads=threads) for g in range(2)]
    meet = [k.named_barrier(f"meet{g}", id=3 + g, threads=GROUP) for g in range(2)]
    scores, acc = k.accumulator("scores", n=64), k.accumulator("acc", n=64)
    with k.elect_thread():
        k.mbarrier.init_all(q_full, full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        for g in range(2):
            with k.role(f"consumer{g}", warps=4):
                if g == 1 and first:
                    k.bar.arrive(turns[0])
                state = k.pipeline_state(stages)
                k.mem.compute(CLEAR, acc.all)
                k.mbarrier.wait(q_full[g], 0)
                with k.loop(tiles) as j:
                    k.mbarrier.wait(full[state.stage], state.phase)
                    if sync or g == 1:
                        k.bar.sync(turns[g])
                    k.wgmma.fence()
                    k.wgmma.mma_tile(
                        scores,
                        q_tile[g].expecting(q.box((64 * g, 0), (64, 64))),
                        key_tile[state.stage].expecting(keys.box((64 * j, 0), (64, 64))),
                        accumulate_first=0,
                    )
                    k.wgmma.commit_group()
                    k.bar.arrive(handed[1 - g])
                    k.wgmma.wait_group(0)
                    mine = weights[g].box((k.warp_in_role * 16, 0), (16, 64))
                    k.mem.compute(SOFTMAX, scores.all, acc.all, mine)
                    k.fence.proxy_async("shared")
                    if own:
                        k.bar.sync(meet[g])
                    k.wgmma.fence()
                    k.wgmma.mma_tile(
                        acc,
                        weights[g],
                        value_tile[state.stage].expecting(values.box((0, 64 * j), (64, 64))),
                    )
                    k.wgmma.commit_group()
                    k.wgmma.wait_group(0)
                    with k.when(k.warp_in_role == 0), k.elect():
                        k.mbarrier.arrive(empty[state.stage])
                    state.advance()
                k.mem.store_accumulator(out, (64 * g, 0), acc)
        with k.role("producer", warps=1), k.elect():
            for g in range(2):
                k.mbarrier.arrive_expect_tx(q_full[g], TILE)
                k.tma.load(q_tile[g], q_map, (64 * g, 0), q_full[g])
            state = k.pipeline_state(stages, producer=True)
            with k.loop(tiles) as j:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 2 * TILE)
                k.tma.load(key_tile[state.stage], key_map, (64 * j, 0), full[state.stage])
                k.tma.load(value_tile[state.stage], value_map, (0, 64 * j), full[state.stage])
                state.advance()
    return k.finish()


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("tiles", [1, 2, 5])
def test_d6_is_clean_for_any_depth_and_length(stages: int, tiles: int) -> None:
    result = check(ping_pong(stages=stages, tiles=tiles))
    assert (result.verdict, result.findings, result.certified) == (Verdict.CLEAN, (), True)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"sync": False}, Rule.NAMED_BARRIER_OVERRUN),
        ({"threads": GROUP}, Rule.NAMED_BARRIER_COUNT),
        ({"first": False}, Rule.DEADLOCK),
        ({"own": False}, Rule.OPERAND_IN_FLIGHT),
    ],
    ids=["no turn", "wrong count", "both wait first", "no meeting"],
)
def test_d6_twins(change: dict[str, int], rule: Rule) -> None:
    result = check(ping_pong(**change))  # type: ignore[arg-type]
    assert [(f.rule, f.severity.value) for f in result.findings] == [(rule, "error")]


def test_d6_names_whom_both_groups_wait_for() -> None:
    (finding,) = check(ping_pong(first=False)).findings
    assert finding.detail[-1] == (
        "waits for each other: consumer0 warp 0 -> consumer1 warp 0 -> consumer0 warp 0"
    )
