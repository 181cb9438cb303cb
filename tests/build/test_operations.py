"""Operands of ops: shapes, sizes, sugar."""

from __future__ import annotations

import pytest

from asyncsim import ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.expr import text
from tests.build.refused import expect, new


def tile(k, shape=(8, 32)):
    return k.smem_tile("t", shape, "f32")[0]


@pytest.mark.parametrize(
    ("build", "message", "fix"),
    [
        (
            lambda k: tile(k).box((4, 0), (8, 32)),
            "box at 4 of extent 8 leaves the 8 elements of tile 't'",
            "stay inside the tile",
        ),
        (
            lambda k: tile(k).box((0,), (8,)),
            "'t' has 2 dimensions, got 1 and 1",
            "give one start and one extent per dimension",
        ),
        (
            lambda k: k.global_tensor("g", (8,), "f32").box((0, 0), (1, 1)),
            "'g' has 1 dimensions, got 2 and 2",
            "give one start and one extent per dimension",
        ),
        (
            lambda k: k.cp_async.copy(
                tile(k).box((0, 0), (1, 4)),
                k.global_tensor("g", (8, 32), "f32").box((0, 0), (1, 4)),
                bytes=12,
            ),
            "cp.async of 12 bytes",
            "use 4, 8 or 16",
        ),
        (
            lambda k: k.cp_async.wait_group(-1),
            "wait_group -1",
            "N is at least 0; a ring of S stages needs S >= 2",
        ),
        (
            lambda k: k.fence.proxy_async("tensor"),
            "fence.proxy.async over 'tensor'",
            "use shared, shared::cluster, global or all",
        ),
        (
            lambda k: k.cp_async.copy_tile(
                tile(k), k.global_tensor("g", (8, 32), "f32"), (0, 0), threads=48
            ),
            "tile 8x32 is not 48 threads times 16-byte chunks",
            "choose a tile whose 16-byte chunks are a multiple of the threads",
        ),
        (
            lambda k: k.wgmma.mma(
                k.accumulator("d", n=8),
                k.smem_tile("a", (128, 64), "bf16", swizzle=128)[0],
                k.smem_tile("b", (8, 64), "bf16", swizzle=128)[0],
            ),
            "wgmma of a 128x64, b 8x64, d of 4 registers",
            "a is 64x16, b is Nx16, d has N/2 registers",
        ),
        (
            lambda k: k.wgmma.mma_tile(
                k.accumulator("d", n=8),
                k.smem_tile("a", (64, 24), "bf16")[0],
                k.smem_tile("b", (8, 24), "bf16")[0],
            ),
            "K of 24 is not a multiple of 16",
            "pad the tile",
        ),
    ],
)
def test_bad_operands(build, message, fix):
    expect(build, message, fix)


SUM = ComputeDef(
    name="sum",
    operands=(ComputeOperand(name="x", kind="fragment"), ComputeOperand(name="n", kind="int")),
    work=lambda n: Work(alu=n),
    cuda="",
    numpy=lambda **_: None,
)


def test_compute_takes_its_operands_in_order():
    expect(
        lambda k: k.mem.compute(SUM, 1),
        "compute 'sum' takes 2 operands, got 1",
        "pass x (fragment), n (int)",
    )
    expect(
        lambda k: k.mem.compute(SUM, 1, 2), "operand 'x' of compute 'sum' is a fragment", "got int"
    )


def test_a_box_of_a_view_moves_what_it_expects():
    k = new()
    g = k.global_tensor("g", (64, 64), "bf16")
    with k.loop(4) as i:
        view = k.smem_tile("t", (64, 64), "bf16")[0].expecting(g.box((0, i * 64), (64, 64)))
        part = view.box((0, 16), (64, 16)).view
    assert [text(e) for e in part.expects.start] == ["0", "i * 64 + 16"]
    assert part.expects.shape == (64, 16)
    assert [text(e) for e in part.start] == ["0", "16"]


def test_mma_tile_is_its_k_slices_and_only_the_first_may_overwrite():
    k = new()
    a = k.smem_tile("a", (64, 64), "bf16", swizzle=128)
    b = k.smem_tile("b", (16, 64), "bf16", swizzle=128)
    k.block(4)
    with k.loop(2) as i:
        k.wgmma.mma_tile(k.accumulator("d", n=16), a[0], b[0], accumulate_first=i != 0)
    got = [(text(op.a.start[1]), text(op.accumulate)) for op in k.finish().ops()]
    assert got == [("0", "i != 0"), ("16", "1"), ("32", "1"), ("48", "1")]


def test_copy_tile_gives_every_chunk_to_one_thread():
    from asyncsim.memory.region import SmemRegion
    from asyncsim.stream import Program

    k = ScheduleBuilder("copy", archs=("sm_80",))
    g, t = k.global_tensor("g", (8, 32), "f32"), k.smem_tile("t", (8, 32), "f32")
    k.block(1)
    k.cp_async.copy_tile(t[0], g, (0, 0), threads=32)
    chunks = []
    for dyn, _ in Program(k.finish()).stream((0, 0, 0), 0):
        _, write = dyn.accesses
        for lane in write.lanes:
            assert isinstance(lane, SmemRegion)
            assert lane.bytes == 16
            chunks.append(lane.low)
    assert sorted(chunks) == list(range(0, 1024, 16))
