"""Clusters: sizes, operands of other CTAs, masks, types of reductions."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder
from tests.ir.wellformed import expect


def pair(k: ScheduleBuilder) -> None:
    k.grid(2)
    k.cluster(2)


def barrier(k: ScheduleBuilder):
    array = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(array)
    return array[0]


def test_a_grid_that_clusters_do_not_divide():
    def build(k):
        k.grid(6, 3)
        k.cluster(2, 2)

    expect(build, "grid of 3 CTAs in y, clusters of 2", "enlarge the grid to 4")


def test_clusters_over_16():
    def build(k):
        k.grid(32)
        k.cluster(32)

    expect(build, "a cluster of 32 CTAs", "a cluster has at most 16")


def test_empty_clusters():
    expect(
        lambda k: k.cluster(2, 0),
        "cluster (2, 0, 1) has no CTAs",
        "give at least 1 per dimension",
    )


@pytest.mark.parametrize("op", ["arrive", "load", "st_async", "ld_shared"])
def test_other_ctas_need_a_cluster(op):
    def build(k):
        b, tile = barrier(k), k.smem_tile("tile", (8, 32), "f32")[0]
        x = k.fragment("x", registers=1)
        f = k.global_tensor("f", (8, 32), "f32")
        f_map = k.tensor_map("f_map", f, box=(8, 32))
        one = tile.box((0, k.lane), (1, 1))
        match op:
            case "arrive":
                k.mbarrier.arrive(k.mbarrier.at(b, 0))
            case "load":
                k.tma.load(tile, f_map, (0, 0), b, multicast=1)
            case "st_async":
                k.mem.st_async(one, x.all, b)
            case "ld_shared":
                k.mem.ld_shared(x.all, one.at(0))

    names = {"arrive": "MbarrierArrive", "load": "TmaLoad", "st_async": "StAsync"}
    expect(
        build,
        f"{names.get(op, 'LdShared')} speaks to other CTAs, and the schedule has no clusters",
        "declare k.cluster(2)",
    )


@pytest.mark.parametrize("act", ["init", "inval", "wait"])
def test_own_barriers_only(act):
    def build(k):
        pair(k)
        b = k.mbarrier.at(barrier(k), 1)
        match act:
            case "init":
                k.mbarrier.init(b, 1)
            case "inval":
                k.mbarrier.inval(b)
            case "wait":
                k.mbarrier.wait(b, 0)

    expect(
        build,
        f"Mbarrier{act.capitalize()} on an mbarrier of another CTA",
        "other CTAs may arrive, expect and complete; init and wait in its own CTA",
    )


def test_a_tma_load_reaches_others_by_multicast_only():
    def build(k):
        pair(k)
        f_map = k.tensor_map("f_map", k.global_tensor("f", (8, 32), "f32"), box=(8, 32))
        tile = k.smem_tile("tile", (8, 32), "f32")[0]
        k.tma.load(tile.at(1), f_map, (0, 0), barrier(k))

    expect(
        build,
        "TmaLoad has an operand in the shared memory of another CTA",
        "use ld, st, st_async, red_async, bulk.send; loads reach others by multicast",
    )


def test_st_async_names_one_cta_and_moves_4_8_or_16_bytes():
    def build(k, *, rank, registers):
        pair(k)
        x = k.fragment("x", registers=registers)
        tile = k.smem_tile("tile", (32, 4), "f32")[0].box((k.lane, 0), (1, registers))
        k.mem.st_async(tile.at(1), x.all, k.mbarrier.at(barrier(k), rank))

    expect(
        lambda k: build(k, rank=0, registers=4),
        "st.async: its data and its mbarrier are not named in the same CTA",
        "give both at(rank)",
    )
    expect(lambda k: build(k, rank=1, registers=3), "st.async of 12 bytes", "use 4, 8 or 16")


@pytest.mark.parametrize("mask", [0, 4, -1])
def test_masks_beyond_the_cluster(mask):
    def build(k):
        pair(k)
        f_map = k.tensor_map("f_map", k.global_tensor("f", (8, 32), "f32"), box=(8, 32))
        tile = k.smem_tile("tile", (8, 32), "f32")[0]
        k.tma.load(tile, f_map, (0, 0), barrier(k), multicast=mask)

    expect(
        build,
        f"multicast mask {mask:#x} in a cluster of 2 CTAs",
        "set at least one of the bits 0..1, and no other",
        Rule.OUT_OF_BOUNDS,
    )


def test_ranks_beyond_the_cluster():
    def build(k):
        pair(k)
        k.mbarrier.arrive(k.mbarrier.at(barrier(k), 2))

    expect(build, "MbarrierArrive: CTA 2 of a cluster of 2", "a rank is 0..1", Rule.OUT_OF_BOUNDS)


def test_bad_scopes_and_reductions():
    expect(
        lambda k: k.mbarrier.arrive(barrier(k), scope="gpu"),
        "memory scope 'gpu'",
        "use cta or cluster",
    )

    def reduce(k):
        f_map = k.tensor_map("f_map", k.global_tensor("f", (8, 32), "f32"), box=(8, 32))
        k.tma.reduce(f_map, (0, 0), k.smem_tile("tile", (8, 32), "f32")[0], op="mul")

    expect(reduce, "reduction 'mul'", "use one of add, min, max, and, or, xor")


@pytest.mark.parametrize(
    ("op", "dtype", "known"),
    [
        ("xor", "f32", "i32, u32"),
        ("max", "f32", "i32, u32, f16, bf16"),
        ("add", "i8", "i32, u32, f16, bf16, f32"),
    ],
)
def test_reductions_that_do_not_exist(op: str, dtype: str, known: str) -> None:
    def build(k: ScheduleBuilder) -> None:
        out = k.global_tensor("out", (8, 32), dtype, output=True)
        out_map = k.tensor_map("out_map", out, box=(8, 32))
        tile = k.smem_tile("tile", (8, 32), dtype)
        with k.elect_thread():
            k.tma.reduce(out_map, (0, 0), tile[0], op=op)
            k.bulk.commit_group()
            k.bulk.wait_group(0)

    expect(build, f"TMA reduction {op!r} of {dtype}", f"it works on {known}", Rule.TENSOR_MAP)


def test_a_bulk_reduction_works_on_the_same_types() -> None:
    def build(k: ScheduleBuilder) -> None:
        out = k.global_tensor("out", (8, 32), "f32", output=True)
        tile = k.smem_tile("tile", (8, 32), "f32")
        with k.elect_thread():
            k.bulk.reduce(out.box((0, 0), (8, 32)), tile[0], op="max")
            k.bulk.commit_group()
            k.bulk.wait_group(0)

    expect(build, "BulkStore: max of f32", "this reduction works on i32, u32, f16, bf16")
