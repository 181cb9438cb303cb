"""ldmatrix, stmatrix and mma.sync: exact messages."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsim import Rule, ScheduleBuilder
from asyncsim.build.value import Index
from asyncsim.check import check
from tests.ir.every_op import FOLD
from tests.ir.wellformed import expect


def load(
    k: Any,
    *,
    dtype: str = "bf16",
    start: tuple[Index, Index] | None = None,
    shape: tuple[int, int] = (1, 8),
    matrices: tuple[int, int] = (0, 4),
    trans: bool = False,
    registers: str = "bf16",
) -> None:
    tile = k.smem_tile("tile", (32, 64 // k_bytes(dtype)), dtype, swizzle=64)
    frag = k.matrices("frag", 4, registers)
    at = (k.lane, 0) if start is None else start
    k.ldmatrix(frag.matrices(*matrices), tile[0].box(at, shape), trans=trans)


def k_bytes(dtype: str) -> int:
    return {"bf16": 2, "tf32": 4}.get(dtype, 1)


def test_rows_of_16_bytes() -> None:
    expect(
        lambda k: load(k, shape=(1, 4)),
        "LdMatrix of rows (1, 4) of 'tile'",
        "a lane names one row of 16 bytes, 8 elements of bf16",
    )
    expect(
        lambda k: load(k, start=(0, 0), shape=(2, 8)),
        "LdMatrix of rows (2, 8) of 'tile'",
        "a lane names one row of 16 bytes, 8 elements of bf16",
    )


def test_rows_lie_at_multiples_of_16_bytes() -> None:
    expect(
        lambda k: load(k, start=(k.lane, 4)),
        "LdMatrix: the start in 'tile' is never a multiple of 16 bytes",
        "the instruction needs it: move the start, or lay the data out so",
        Rule.ALIGNMENT,
    )
    k = ScheduleBuilder("by_value")
    n = k.arg("n", 12)
    load(k, start=(k.lane, n))
    (finding,) = check(k.finish()).findings
    assert finding.rule is Rule.ALIGNMENT
    assert finding.message == ("LdMatrix: the start in 'tile' is 24 bytes, no multiple of 16")


def test_only_lanes_that_name_rows_are_looked_at() -> None:
    """Lanes 8 to 31 of .x1 name rows far outside, and none that is aligned."""
    k = ScheduleBuilder("few")
    tile = k.smem_tile("tile", (8, 8), "bf16")
    frag, lane = k.matrices("frag", 1, "bf16"), k.lane
    x = k.fragment("x", registers=2, dtype="bf16")
    k.mem.ld_global(x.all, k.global_tensor("g", (64,), "bf16").box((2 * lane,), (2,)))
    k.mem.st_shared(tile[0].box((lane // 4, lane % 4 * 2), (1, 2)), x.all)
    k.bar.warp_sync()
    k.ldmatrix(frag.all, tile[0].box((lane, lane // 8), (1, 8)))
    assert check(k.finish()).findings == ()


@pytest.mark.parametrize("count", [3, 5, 8])
def test_numbers_of_matrices(count: int) -> None:
    def build(k: Any) -> None:
        tile = k.smem_tile("tile", (32, 8), "bf16")
        frag = k.matrices("frag", 8, "bf16")
        k.ldmatrix(frag.matrices(0, count), tile[0].box((k.lane, 0), (1, 8)))

    expect(
        build,
        f"ldmatrix of frag[0:+{2 * count}], {4 * count} bytes of a lane",
        "pass 1, 2 or 4 matrices: of a fragment of k.matrices, matrices(first, count)",
    )


def test_registers_of_matrices() -> None:
    def plain(k: Any) -> None:
        tile = k.smem_tile("tile", (32, 8), "bf16")
        frag = k.fragment("frag", registers=8, dtype="bf16")
        k.stmatrix(tile[0].box((k.lane, 0), (1, 8)), frag.all)

    expect(
        plain,
        "StMatrix of registers 0..7 of 'frag' in the place of 4 matrices",
        "declare it with k.matrices and pass matrices(first, 4)",
    )

    def half(k: Any) -> None:
        tile = k.smem_tile("tile", (32, 8), "bf16")
        k.stmatrix(tile[0].box((k.lane, 0), (1, 8)), k.matrices("frag", 4, "bf16").part(1, 2))

    expect(
        half,
        "StMatrix of registers 1..2 of 'frag' in the place of 1 matrix",
        "declare it with k.matrices and pass matrices(first, 1)",
    )


def test_types_of_tile_and_registers() -> None:
    expect(
        lambda k: load(k, registers="f16"),
        "LdMatrix of bf16 elements and f16 registers",
        "it moves bits: give both the same type",
    )


@pytest.mark.parametrize("dtype", ["tf32", "e4m3", "i8"])
def test_only_16_bits_are_transposed(dtype: str) -> None:
    expect(
        lambda k: load(
            k, dtype=dtype, registers=dtype, shape=(1, 16 // k_bytes(dtype)), trans=True
        ),
        f"LdMatrix of {dtype} with trans",
        "it transposes elements of 16 bits; lay the others out as they are used",
    )


def test_whole_warps() -> None:
    def build(k: Any) -> None:
        with k.elect():
            load(k, start=(0, 0))

    expect(
        build,
        "LdMatrix is executed by whole warps, not by one lane",
        "move it out of elect",
    )


def test_own_shared_memory() -> None:
    def build(k: Any) -> None:
        k.grid(2)
        k.cluster(2)
        tile = k.smem_tile("tile", (32, 8), "bf16")
        frag = k.matrices("frag", 4, "bf16")
        k.ldmatrix(frag.all, tile[0].box((k.lane, 0), (1, 8)).at(1 - k.cta_rank))

    expect(
        build,
        "LdMatrix has an operand in the shared memory of another CTA",
        "use ld, st, st_async, red_async, bulk.send; loads reach others by multicast",
    )


def test_stmatrix_from_sm_90_on() -> None:
    def build(k: Any) -> None:
        tile = k.smem_tile("tile", (32, 8), "bf16")
        k.stmatrix(tile[0].box((k.lane, 0), (1, 8)), k.matrices("frag", 4, "bf16").all)

    expect(
        build,
        "StMatrix does not exist on sm_80, which the schedule declares",
        "declare archs among sm_90, sm_90a, sm_100, sm_100a, sm_103, sm_103a, sm_120, sm_120a",
        archs=("sm_80", "sm_90a"),
    )


def product(
    k: Any,
    a: tuple[int, str] = (4, "bf16"),
    b: tuple[int, str] = (2, "bf16"),
    d: tuple[int, str] = (4, "f32"),
) -> None:
    acc = k.fragment("acc", registers=d[0], dtype=d[1])
    k.mma.sync(acc.all, k.matrices("a", *a).all, k.matrices("b", *b).all)


@pytest.mark.parametrize(
    "pair", [("bf16", "f16"), ("tf32", "bf16"), ("e4m3", "i8"), ("i32", "i32")]
)
def test_pairs_of_types(pair: tuple[str, str]) -> None:
    expect(
        lambda k: product(k, (4, pair[0]), (2, pair[1])),
        f"mma.sync of {pair[0]} and {pair[1]}",
        "it takes f16, bf16 or tf32 pairs, e4m3 and e5m2, or i8 and u8",
    )


def test_operands_of_a_product() -> None:
    expect(
        lambda k: product(k, a=(2, "bf16")),
        "MmaSync of registers 0..3 of 'a' in the place of 4 matrices",
        "declare it with k.matrices and pass matrices(first, 4)",
    )
    expect(
        lambda k: product(k, b=(4, "bf16")),
        "MmaSync of registers 0..7 of 'b' in the place of 2 matrices",
        "declare it with k.matrices and pass matrices(first, 2)",
    )
    for d, want in (((8, "f32"), "f32"), ((4, "i32"), "f32")):
        expect(
            lambda k, d=d: product(k, d=d),
            f"mma.sync of bf16 with {d[0]} registers of {d[1]} fragment 'acc' as its sum",
            f"pass 4 registers of a k.fragment of {want}",
        )
    expect(
        lambda k: product(k, (4, "i8"), (2, "u8")),
        "mma.sync of i8 with 4 registers of f32 fragment 'acc' as its sum",
        "pass 4 registers of a k.fragment of i32",
    )


def test_float8_from_sm_89_on() -> None:
    expect(
        lambda k: product(k, (4, "e4m3"), (2, "e5m2")),
        "mma.sync of e4m3 does not exist on sm_80, which the schedule declares",
        "declare archs from sm_89 on",
        archs=("sm_80", "sm_89", "sm_90a"),
    )


def test_matrices_that_are_declared() -> None:
    for count, dtype in ((0, "bf16"), (4, "f32")):
        expect(
            lambda k, c=count, t=dtype: k.matrices("m", c, t),
            f"{count} matrices 'm' of {dtype}",
            "give at least 1, of a type of the tensor core (tf32 for f32)",
        )


def test_other_ops_leave_matrices_alone() -> None:
    def moved(k: Any) -> None:
        out = k.global_tensor("out", (32, 2), "bf16", output=True)
        k.mem.st_global(out.box((k.lane, 0), (1, 2)), k.matrices("m", 1, "bf16").all)

    fix = (
        "move them with ldmatrix and stmatrix; k.mem.compute may use whole registers, "
        "2 elements each"
    )
    expect(moved, "StGlobal of matrices 'm'", fix)

    def computed(k: Any) -> None:
        tile = k.smem_tile("tile", (1, 32), "f32")
        k.mem.compute(FOLD, k.matrices("m", 2, "bf16").part(1, 2), tile[0], 1)

    expect(computed, "Compute of matrices 'm'", fix)
