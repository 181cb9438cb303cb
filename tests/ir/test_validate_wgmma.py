"""wgmma: exact messages."""

from __future__ import annotations

from dataclasses import replace

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
from asyncsim.ir.decl import Fragment, SmemTile
from asyncsim.ir.dtype import DType
from asyncsim.ir.validate import validate
from tests.ir.wellformed import error_of, expect

INTEGERS = ("i8", "u8")


def mma(
    k,
    *,
    roles=(("math", 4),),
    a=(0, 0),
    b=(0, 0),
    n=64,
    dtype="bf16",
    dtype_b=None,
    swizzle=128,
    acc=None,
):
    step = 32 // DType(dtype).bytes
    columns = swizzle // DType(dtype).bytes or 64
    ta = k.smem_tile("ta", (128, columns), dtype, swizzle=swizzle)
    tb = k.smem_tile("tb", (256, columns), dtype_b or dtype, swizzle=swizzle)
    sums = "i32" if dtype in INTEGERS else "f32"
    d = acc(k) if acc else k.accumulator("d", n=n, dtype=sums)
    with k.specialize():
        for name, warps in roles:
            with k.role(name, warps=warps):
                if name == "math":
                    k.wgmma.mma(d, ta[0].box(a, (64, step)), tb[0].box(b, (n, step)))


@pytest.mark.parametrize(
    ("roles", "warps", "first"),
    [
        ((("load", 1), ("math", 4)), 4, 1),
        ((("math", 2),), 2, 0),
        ((("load", 4), ("math", 6)), 6, 4),
    ],
)
def test_warpgroup_role_starts_at_a_multiple_of_4(roles, warps, first):
    expect(
        lambda k: mma(k, roles=roles),
        f"role 'math' uses wgmma with {warps} warps from warp {first}",
        "a warpgroup is 4 warps and starts at a multiple of 4: put it first or pad",
    )


def test_wgmma_outside_roles_needs_whole_warpgroups():
    def build(k):
        k.block(6)
        k.wgmma.fence()
        with k.specialize(), k.role("r", warps=1):
            pass

    expect(
        build,
        "wgmma by all 6 warps of the block",
        "a warpgroup is 4 warps: give the block a multiple of 4",
    )


@pytest.mark.parametrize(
    ("a", "b"),
    [("f32", "f32"), ("i32", "i32"), ("bf16", "f16"), ("e4m3", "i8"), ("u8", "e5m2")],
)
def test_wgmma_types(a, b):
    expect(
        lambda k: mma(k, dtype=a, dtype_b=b),
        f"wgmma of {a} and {b}",
        "it takes f16, bf16 or tf32 pairs, e4m3 and e5m2, or i8 and u8",
    )


@pytest.mark.parametrize(
    ("a", "b"),
    [(t, t) for t in ("f16", "bf16", "tf32", "e4m3", "e5m2", "i8", "u8")]
    + [("e4m3", "e5m2"), ("e5m2", "e4m3"), ("i8", "u8"), ("u8", "i8")],
)
def test_wgmma_types_that_exist(a, b):
    k = ScheduleBuilder("good")
    mma(k, dtype=a, dtype_b=b)
    k.finish()


@pytest.mark.parametrize("n", [40, 56, 72, 248])
def test_integers_have_fewer_shapes(n):
    expect(
        lambda k: mma(k, n=n, dtype="u8"),
        f"wgmma of u8 with n = {n}",
        "n is 8, 24, or a multiple of 16 to 256",
    )


@pytest.mark.parametrize("n", [8, 16, 24, 32, 48, 240, 256])
def test_shapes_of_integers(n):
    k = ScheduleBuilder("good")
    mma(k, n=n, dtype="i8")
    k.finish()


def test_sums_have_their_type():
    expect(
        lambda k: mma(k, dtype="i8", acc=lambda k: k.accumulator("d", n=64)),
        "wgmma with n = 64 into fragment 'd' of 32 f32",
        "declare it with k.accumulator(..., n=64, dtype='i32') and pass all of it",
    )
    expect(
        lambda k: mma(k, dtype="e4m3", acc=lambda k: k.accumulator("d", n=64, dtype="i32")),
        "wgmma with n = 64 into fragment 'd' of 32 i32",
        "declare it with k.accumulator(..., n=64) and pass all of it",
    )
    expect(
        lambda k: k.accumulator("d", n=64, dtype="f16"),
        "accumulator 'd' of f16",
        "wgmma sums in f32, integers in i32",
    )


def test_wgmma_needs_an_accumulator_fragment():
    expect(
        lambda k: mma(k, acc=lambda k: k.fragment("d", registers=32)),
        "wgmma with n = 64 into fragment 'd' of 32 f32",
        "declare it with k.accumulator(..., n=64) and pass all of it",
    )


def test_wgmma_operand_needs_a_swizzle():
    expect(
        lambda k: mma(k, swizzle=0),
        "wgmma operand 'ta' has no swizzle",
        "declare the tile and its map with swizzle=32, 64 or 128",
        Rule.ALIGNMENT,
    )


def test_wgmma_operand_starts_at_rows_of_8_and_at_a_k_slice():
    expect(
        lambda k: mma(k, a=(4, 0)),
        "WgmmaMmaAsync: the start in 'ta' is never a multiple of 8 rows",
        "the instruction needs it: move the start, or lay the data out so",
        Rule.ALIGNMENT,
    )
    expect(
        lambda k: mma(k, b=(0, 8)),
        "WgmmaMmaAsync: the start in 'tb' is never a multiple of 32 bytes",
        "the instruction needs it: move the start, or lay the data out so",
        Rule.ALIGNMENT,
    )


def test_n_of_a_hand_made_wgmma():
    k = ScheduleBuilder("n")
    mma(k, n=8)
    s = k.finish()
    (op,) = s.ops()
    role = s.body[0].roles[0]
    bad = replace(op, n=4, b=replace(op.b, shape=(4, 16)))
    body = (replace(s.body[0], roles=(replace(role, body=(bad,)),)),)
    with pytest.raises(ScheduleError) as caught:
        validate(replace(s, body=body, _by_name={}))
    assert caught.value.message == "wgmma of bf16 with n = 4"


def registers_and_rows(k, *, left=None, first=0, tile=(64, 64), box=(16, 64)):
    k.block(4)
    b = k.smem_tile("b", tile, "bf16", swizzle=128)[0].box((0,) * len(tile), box)
    a = (left or (lambda k: k.operand("left", k=32, dtype="bf16")))(k)
    k.wgmma.mma(k.accumulator("d", n=64), a.part(first, 8), b, trans_b=True)


def test_a_in_registers_is_an_operand_fragment():
    expect(
        lambda k: registers_and_rows(
            k, left=lambda k: k.fragment("left", registers=8, dtype="bf16")
        ),
        "wgmma takes A from fragment 'left', which has another layout",
        "declare it with k.operand(name, k=, dtype=)",
    )
    expect(
        lambda k: registers_and_rows(k, first=4),
        "wgmma takes A from elements 4.. of 'left'",
        "pass part(8 * i, 8), a k-slice of 16; registers cannot be transposed",
    )
    expect(
        lambda k: k.operand("left", k=24, dtype="bf16"),
        "operand 'left' of (64, 24) bf16",
        "k is a multiple of 16",
    )
    expect(
        lambda k: k.operand("left", k=16, dtype="i8"),
        "operand 'left' of (64, 16) i8",
        "k is a multiple of 32",
    )
    expect(
        lambda k: k.operand("left", k=32, dtype="f32"),
        "operand 'left' of (64, 32) f32",
        "wgmma takes f16, bf16, tf32, e4m3, e5m2, i8, u8",
    )


@pytest.mark.parametrize(
    ("dtype", "step", "own"), [("tf32", 8, 4), ("f16", 16, 8), ("e4m3", 32, 16), ("u8", 32, 16)]
)
def test_a_k_slice_of_registers_is_32_bytes(dtype, step, own):
    sums = "i32" if dtype in INTEGERS else "f32"

    def build(k, first=own, count=own):
        k.block(4)
        b = k.smem_tile("b", (64, 4 * step), dtype, swizzle=128)[0].box((0, 0), (64, step))
        left = k.operand("left", k=2 * step, dtype=dtype)
        assert (left.decl.registers, left.decl.words) == (step, 8)
        k.wgmma.mma(k.accumulator("d", n=64, dtype=sums), left.part(first, count), b)

    build(good := ScheduleBuilder("good"))
    good.finish()
    expect(
        lambda k: build(k, first=own // 2),
        f"wgmma takes A from elements {own // 2}.. of 'left'",
        f"pass part({own} * i, {own}), a k-slice of {step}; registers cannot be transposed",
    )
    expect(
        lambda k: build(k, first=0, count=2 * own),
        f"wgmma of a 64x{2 * step}, b 64x{step}, d of 32 registers",
        f"a is 64x{step}, b is Nx{step}, d has N/2 registers",
    )


def test_the_number_of_elements_says_which_b_they_meet():
    def build(k):
        k.block(4)
        b = k.smem_tile("b", (64, 128), "i8", swizzle=128)[0].box((0, 0), (64, 32))
        left = k.operand("left", k=32, dtype="bf16")
        k.wgmma.mma(k.accumulator("d", n=64, dtype="i32"), left.all, b)

    expect(
        build,
        "wgmma of bf16 and i8",
        "it takes f16, bf16 or tf32 pairs, e4m3 and e5m2, or i8 and u8",
    )


def test_a_transposed_operand_takes_whole_rows_of_whole_panels():
    expect(
        lambda k: registers_and_rows(k, tile=(4, 20, 64), box=(1, 16, 64)),
        "MN-major operand 'b' takes 64 of 64 elements of a row, in panels of 20 rows",
        "take whole rows, of panels of a multiple of 8 rows",
    )
    expect(
        lambda k: registers_and_rows(k, tile=(64, 64), box=(64, 16)),
        "wgmma of a 64x16, b 16x64, d of 32 registers",
        "a is 64x16, b is Nx16, d has N/2 registers",
    )


def test_only_16_bits_are_transposed():
    def build(k):
        k.block(4)
        a = k.smem_tile("a", (64, 32), "tf32", swizzle=128)[0].box((0, 0), (64, 8))
        b = k.smem_tile("b", (8, 32), "tf32", swizzle=128)[0]
        k.wgmma.mma(k.accumulator("d", n=32), a, b, trans_b=True)

    expect(
        build,
        "wgmma with an MN-major operand of tf32",
        "only bf16 and f16 can be transposed",
    )


def test_operand_fragments_are_filled_by_compute():
    def build(k):
        k.block(4)
        left = k.operand("left", k=16, dtype="bf16")
        tile = k.smem_tile("tile", (64, 64), "bf16")
        k.mem.ld_shared(left.all, tile[0].box((k.lane, 0), (1, 8)))

    expect(
        build,
        "LdShared of operand fragment 'left'",
        "fill it with k.mem.compute, whole registers of it, 2 elements to a register",
    )


@pytest.mark.parametrize(("dtype", "part", "own"), [("e4m3", 6, 4), ("bf16", 7, 2)])
def test_compute_fills_whole_registers(dtype, part, own):
    def build(k):
        k.block(4)
        left = k.operand("left", k=32, dtype=dtype)
        operand = ComputeOperand(name="p", kind="fragment", mode=AccessMode.WRITE)
        fill = ComputeDef(
            name="fill", operands=(operand,), work=lambda: Work(), cuda="", numpy=print
        )
        k.mem.compute(fill, left.part(0, part))

    expect(
        build,
        "Compute of operand fragment 'left'",
        f"fill it with k.mem.compute, whole registers of it, {own} elements to a register",
    )


def test_errors_point_at_the_declaration_or_the_op():
    error = error_of(lambda k: k.smem_tile("t", (8, 64), "f32", swizzle=128))
    assert error.loc.file == __file__
    assert str(error) == (
        "tile 't' has rows of 256 bytes under a 128-byte swizzle "
        f"(at test_validate_wgmma.py:{error.loc.line}); make a row exactly as long as the swizzle"
    )


def test_declarations_keep_their_defaults():
    assert SmemTile(name="t", shape=(4,), dtype=DType.F32).stage_stride == 128
    assert Fragment(name="x", registers=1, dtype=DType.F32).layout.value == "per_thread"
