"""The layout of shared memory: aligned, dense in order of declaration, barriers last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asyncsim.ir.decl import GlobalTensor, Mbarrier, SmemTile, Swizzle
from asyncsim.ir.dtype import DType
from asyncsim.memory.layout import place


def tile(name: str, n: int, *, stages: int = 1, align: int = 128) -> SmemTile:
    return SmemTile(name=name, shape=(n,), dtype=DType.U8, stages=stages, align=align)


def test_tiles_in_order_then_barriers_on_eight_bytes():
    decls = (
        Mbarrier(name="full", count=1, stages=3),
        tile("a", 100, stages=2),
        tile("b", 2048, align=1024),
        GlobalTensor(name="g", shape=(4,), strides=(1,), dtype=DType.F32),
        tile("c", 5),
        Mbarrier(name="empty", count=1),
    )
    placed, size = place(decls)
    offsets = {d.name: d.offset for d in placed if not isinstance(d, GlobalTensor)}
    # a: 0..227 (128 a stage), b at the next 1024, c at 3072..3076, full from 3080, empty after it
    assert offsets == {"a": 0, "b": 1024, "c": 3072, "full": 3080, "empty": 3104}
    assert size == 3112
    assert [d.name for d in placed] == [d.name for d in decls]


def test_no_shared_memory_is_zero_bytes():
    assert place(()) == ((), 0)


def test_stage_stride_rounds_the_stage_up_to_its_alignment():
    t = SmemTile(name="t", shape=(3, 16), dtype=DType.BF16, align=1024, swizzle=Swizzle.B32)
    assert (t.stage_bytes, t.stage_stride) == (96, 1024)


@given(
    st.lists(
        st.tuples(st.integers(1, 3000), st.integers(1, 4), st.sampled_from([128, 256, 1024])),
        max_size=6,
    ),
    st.lists(st.integers(1, 5), max_size=4),
)
def test_nothing_overlaps_and_everything_is_aligned(tiles, barriers):
    decls = tuple(tile(f"t{i}", n, stages=s, align=a) for i, (n, s, a) in enumerate(tiles))
    decls += tuple(Mbarrier(name=f"b{i}", count=1, stages=s) for i, s in enumerate(barriers))
    placed, size = place(decls)
    end = 0
    for d in placed:
        assert d.offset >= end
        if isinstance(d, SmemTile):
            assert d.offset % d.align == 0
            assert d.stage_stride % d.align == 0
            end = d.offset + (d.stages - 1) * d.stage_stride + d.stage_bytes
        else:
            assert d.offset % 8 == 0
            end = d.offset + 8 * d.stages
    assert size == end
