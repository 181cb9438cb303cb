"""Which shared memory a proxy fence in a cluster speaks of: that of its own CTA, or of all."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import found
from tests.check.written import written


def sent(*, by: str, space: str, ranks: int = 2) -> Schedule:
    """Each CTA stores to the next one's shared memory, which then stores it by TMA."""
    k = ScheduleBuilder("sent")
    k.grid(ranks)
    k.cluster(ranks)
    k.block(1)
    out = k.global_tensor("out", (ranks, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 32))
    tile, x = k.smem_tile("tile", (1, 32), "f32"), written(k, "x", registers=1)
    k.cluster_barrier.sync()
    k.mem.st_shared(tile[0].at((k.cta_rank + 1) % ranks).box((0, k.lane), (1, 1)), x.all)
    if by == "writer":
        k.fence.proxy_async(space)
    k.cluster_barrier.sync()
    if by == "owner":
        k.fence.proxy_async(space)
    k.bar.warp_sync()
    with k.elect_thread():
        k.tma.store(out_map, (k.block_idx, 0), tile[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=True)
    return k.finish()


@pytest.mark.parametrize(
    ("by", "space", "clean"),
    [
        ("writer", "shared::cluster", True),
        ("writer", "all", True),
        ("writer", "shared", False),
        ("writer", "global", False),
        ("owner", "shared", True),
        ("owner", "shared::cluster", True),
    ],
)
def test_a_store_to_a_peer_is_fenced_for_the_memory_of_the_peer(
    by: str, space: str, clean: bool
) -> None:
    assert found(sent(by=by, space=space)) == ([] if clean else ["MISSING_PROXY_FENCE"])


@pytest.mark.parametrize(("space", "clean"), [("shared::cluster", True), ("shared", False)])
def test_the_same_in_a_cluster_of_four(space: str, clean: bool) -> None:
    assert found(sent(by="writer", space=space, ranks=4)) == (
        [] if clean else ["MISSING_PROXY_FENCE"]
    )


def refilled(*, by: str, space: str, rounds: int = 3) -> Schedule:
    """Rank 0 copies a tile to both CTAs; each reads it, and both release it to rank 0."""
    k = ScheduleBuilder("refilled")
    k.grid(2)
    k.cluster(2)
    source = k.global_tensor("source", (rounds, 32), "f32")
    row = k.tensor_map("row", source, box=(1, 32))
    slot = k.smem_tile("slot", (1, 32), "f32")
    full, empty = k.mbarriers("full", count=1), k.mbarriers("empty", count=2)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            with k.elect(), k.loop(rounds) as t:
                k.mbarrier.arrive_expect_tx(full[0], 128)
                k.mbarrier.wait(full[0], t & 1)
                k.mem.ld_shared(x.all, slot[0].box((0, 0), (1, 1)))
                if by == "reader":
                    k.fence.proxy_async(space)
                k.mbarrier.arrive(k.mbarrier.at(empty[0], 0), scope="cluster")
            k.cluster_barrier.sync()
        with k.role("producer", warps=1):
            with k.elect(), k.when(k.cta_rank == 0), k.loop(rounds) as t:
                k.mbarrier.wait(empty[0], (t & 1) ^ 1, scope="cluster")
                if by == "issuer":
                    k.fence.proxy_async(space)
                k.tma.load(slot[0], row, (t, 0), full[0], multicast=3)
            k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize(
    ("by", "space", "clean"),
    [
        ("reader", "shared", True),
        ("issuer", "shared::cluster", True),
        ("issuer", "shared", False),
        ("nobody", "", False),
    ],
)
def test_reads_before_a_multicast_are_fenced_where_they_are_or_for_the_cluster(
    by: str, space: str, clean: bool
) -> None:
    assert found(refilled(by=by, space=space)) == ([] if clean else ["PROXY_WAR warning"])
