"""Tensor memory and tcgen05: sizes, shapes, executors; and what only check knows of them."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder
from tests.ir.wellformed import expect as expect_on

ARCH = ("sm_100a",)


def expect(build, message, fix, rule=None):  # type: ignore[no-untyped-def]
    expect_on(build, message, fix, rule, archs=ARCH)


def word(k: ScheduleBuilder):  # type: ignore[no-untyped-def]
    return k.smem_tile("word", (1, 1), "u32")


def operands(k, *, rows=128, n=64, dtype="bf16"):  # type: ignore[no-untyped-def]
    size = 32 // {"bf16": 2, "f16": 2, "tf32": 4, "e4m3": 1, "u8": 1, "i8": 1, "f32": 4}[dtype]
    a = k.smem_tile("a", (rows, size), dtype, swizzle=32)
    b = k.smem_tile("b", (n, size), dtype, swizzle=32)
    return a[0], b[0]


def accumulator(k, columns=64, dtype="f32"):  # type: ignore[no-untyped-def]
    return k.tmem_tile("acc", columns=columns, dtype=dtype, address=word(k))[0]


def test_a_tile_finds_its_address_in_one_word():
    def build(k):
        wide = k.smem_tile("wide", (1, 2), "u32")
        k.tmem_tile("acc", columns=64, address=wide)

    expect(
        build,
        "tensor memory tile 'acc' finds its address in 'wide', which is no single word of 32 bits",
        'declare it with k.smem_tile(name, (1, 1), "u32")',
    )


def test_a_tile_that_does_not_fit():
    expect(
        lambda k: k.tmem_tile("acc", columns=256, address=word(k), stages=2, column=32),
        "tensor memory tile 'acc' ends at column 544",
        "tensor memory has 512 columns: stages=1 of 256 fit from column 32 on",
        Rule.TMEM_CAPACITY,
    )


def test_lanes_of_a_tile():
    expect(
        lambda k: k.tmem_tile("acc", columns=8, address=word(k), lanes=16),
        "tensor memory tile 'acc' of 16 lanes and 8 columns from column 0",
        "32, 64 or 128 lanes, at least one column, from column 0 on",
    )


@pytest.mark.parametrize("columns", [16, 48, 1024])
def test_sizes_of_allocations(columns):
    expect(
        lambda k: k.tcgen05.alloc(word(k)[0], columns),
        f"tcgen05.alloc of {columns} columns",
        "a power of two from 32 to 512",
        Rule.TMEM_ALLOC,
    )


def test_the_address_of_an_allocation_is_one_word():
    expect(
        lambda k: k.tcgen05.alloc(k.smem_tile("wide", (1, 2), "u32")[0], 32),
        "tcgen05.alloc with its address in 'wide', which is no single word of 32 bits",
        'declare it with k.smem_tile(name, (1, 1), "u32")',
    )


def test_only_alloc_writes_the_address():
    def build(k):
        w = word(k)
        k.tcgen05.alloc(w[0], 32)
        k.mem.st_shared(w[0], k.fragment("r", registers=1, dtype="u32").all)

    expect(
        build,
        "StShared on 'word', which holds the address of an allocation of tensor memory",
        "give it a tile of its own",
    )


def test_one_thread_issues():
    def build(k):
        a, b = operands(k)
        k.tcgen05.mma(accumulator(k), a, b)

    expect(
        build,
        "Tcgen05Mma is issued by one thread, and 32 lanes run it",
        "put it into `with k.elect():` or `with k.elect_thread():`",
    )


def test_a_warp_loads():
    def build(k):
        r = k.fragment("r", registers=32)
        acc = accumulator(k)
        with k.elect():
            k.tcgen05.ld(r.all, acc.box((0, 0), (32, 32)))

    expect(build, "Tcgen05Ld is executed by whole warps, not by one lane", "move it out of elect")


def test_one_group_in_a_kernel():
    def build(k):
        k.grid(2)
        k.cluster(2)
        w = word(k)
        k.tcgen05.alloc(w[0], 32, cta_group=2)
        k.tcgen05.dealloc(w[0], 32)

    expect(
        build,
        "Tcgen05Dealloc of cta_group 1 in a kernel that uses the other",
        "all tcgen05 ops of a kernel have one cta_group",
        Rule.CTA_GROUP,
    )


def test_groups_are_one_cta_or_a_pair():
    expect(lambda k: k.tcgen05.alloc(word(k)[0], 32, cta_group=4), "cta_group 4", "use 1 or 2")
    expect(
        lambda k: k.tcgen05.alloc(word(k)[0], 32, cta_group=2),
        "Tcgen05Alloc of cta_group 2 in a cluster of 1",
        "pairs are ranks 2i and 2i + 1: declare k.cluster(2)",
    )


def test_other_architectures():
    expect_on(
        lambda k: k.tcgen05.alloc(word(k)[0], 32),
        "Tcgen05Alloc does not exist on sm_90a, which the schedule declares",
        "declare archs among sm_100a, sm_103a",
    )


@pytest.mark.parametrize(
    ("lanes", "columns", "registers", "dtype"),
    [(32, 16, 8, "f32"), (64, 8, 8, "f32"), (32, 24, 24, "f32")],
)
def test_shapes_of_ld(lanes, columns, registers, dtype):
    def build(k):
        r = k.fragment("r", registers=registers, dtype=dtype)
        k.tcgen05.ld(r.all, accumulator(k).box((0, 0), (lanes, columns)))

    expect(
        build,
        f"Tcgen05Ld of {lanes} lanes x {columns} columns and {registers} registers",
        "32 lanes, and a power of two up to 128 of columns and of registers",
    )


def test_registers_of_ld_have_32_bits():
    def build(k):
        r = k.fragment("r", registers=8, dtype="bf16")
        k.tcgen05.st(accumulator(k).box((0, 0), (32, 8)), r.all)

    expect(
        build,
        "Tcgen05St with registers of bf16",
        "a register is a column of 32 bits: f32, i32 or u32",
    )


def test_views_stay_inside():
    def build(k):
        acc = k.tmem_tile("acc", columns=64, address=word(k), stages=2)
        k.tcgen05.st(acc[2].box((0, 0), (32, 8)), k.fragment("r", registers=8).all)

    expect(
        build,
        "Tcgen05St: a view of tile 'acc' leaves it in its stages",
        "stages 0..1, 128 lanes, 64 columns",
        Rule.OUT_OF_BOUNDS,
    )
    expect(
        lambda k: accumulator(k).box((0, 60), (32, 8)),
        "box at 60 of extent 8 leaves the 64 columns of tile 'acc'",
        "stay inside the tile",
    )


def test_shapes_of_cp():
    def build(k):
        factors = k.smem_tile("factors", (32, 8), "u8")
        scale = k.tmem_tile("scale", columns=4, dtype="u8", address=word(k))
        with k.elect():
            k.tcgen05.cp(scale[0], factors[0], shape="32x128b.warpx4")

    expect(
        build,
        "tcgen05.cp.32x128b.warpx4 of 256 bytes to 128 lanes x 4 columns",
        "it copies 512 bytes to 128 lanes x 4 columns",
    )


def test_unknown_shapes_and_kinds():
    def cp(k):
        tile = k.smem_tile("tile", (32, 16), "u8")
        k.tcgen05.cp(accumulator(k), tile[0], shape="16x64b")

    shapes = (
        "use one of 128x256b, 4x256b, 128x128b, 64x128b.warpx2::02_13, 64x128b.warpx2::01_23, "
        "32x128b.warpx4"
    )
    expect(cp, "tcgen05.cp of shape '16x64b'", shapes)

    def mma(k):
        a, b = operands(k, dtype="f32")
        k.tcgen05.mma(accumulator(k), a, b)

    kinds = "use one of f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4"
    expect(mma, "tcgen05.mma of f32 operands", kinds)


def test_shapes_of_shift():
    def build(k):
        with k.elect():
            k.tcgen05.shift(accumulator(k).box((16, 0), (32, 8)))

    expect(
        build,
        "tcgen05.shift of 32 lanes x 8 columns",
        "32 lanes from a multiple of 32 on, 8 columns",
    )


def mma(k, *, rows=128, n=64, columns=64, dtype="bf16", acc="f32", kind="", group=1):  # type: ignore[no-untyped-def]
    if group == 2:
        k.grid(2)
        k.cluster(2)
    a, b = operands(k, rows=rows, n=n, dtype=dtype)
    d = accumulator(k, columns, acc)
    with k.elect():
        k.tcgen05.mma(d, a, b, kind=kind, cta_group=group)


@pytest.mark.parametrize(
    ("rows", "n", "columns", "dtype", "group"),
    [
        (128, 8, 8, "bf16", 1),
        (64, 256, 256, "tf32", 1),
        (128, 24, 24, "i8", 1),
        (128, 64, 128, "f16", 2),
        (64, 64, 64, "e4m3", 2),
    ],
)
def test_shapes_that_exist(rows, n, columns, dtype, group):
    k = ScheduleBuilder("good", archs=ARCH)
    acc = "i32" if dtype == "i8" else "f32"
    mma(k, rows=rows, n=n, columns=columns, dtype=dtype, acc=acc, group=group)
    assert len(list(k.finish().ops())) == 1


_BY_8 = "m is 64 or 128; n is 8 to 256 in steps of 8"


@pytest.mark.parametrize(
    ("options", "message", "fix"),
    [
        ({"rows": 32}, "m32n64 of kind f16 and cta_group 1", _BY_8),
        ({"n": 12}, "m128n12 of kind f16 and cta_group 1", _BY_8),
        (
            {"n": 12, "group": 2},
            "m256n24 of kind f16 and cta_group 2",
            "m is 128 or 256; n is 16 to 256 in steps of 16",
        ),
        (
            {"n": 40, "dtype": "i8", "acc": "i32"},
            "m128n40 of kind i8 and cta_group 1",
            "m is 64 or 128; n is 8 to 256 in steps of 8, of these 8, 24 and multiples of 16",
        ),
        ({"columns": 128}, "m128n64k16 with d of (128, 128)", "in each CTA d is (128, 64)"),
        ({"acc": "i32"}, "of kind f16 into i32", "accumulate in f32"),
        (
            {"kind": "tf32"},
            "of kind tf32 with bf16 and bf16",
            "it takes tf32, the same for both",
        ),
        (
            {"kind": "mxf4", "dtype": "u8"},
            "of kind mxf4 needs scale factors of a and b",
            "pass scale_a=, scale_b= and scale_vec=2",
        ),
    ],
)
def test_shapes_and_types_that_do_not(options, message, fix):
    expect(lambda k: mma(k, **options), f"tcgen05.mma {message}", fix)


def test_operands_are_swizzled():
    def build(k):
        a = k.smem_tile("a", (128, 16), "bf16")[0]
        with k.elect():
            k.tcgen05.mma(accumulator(k, 128), a, a)

    expect(
        build,
        "tcgen05.mma operand 'a' has no swizzle",
        "declare the tile and its map with swizzle=32, 64 or 128",
        Rule.ALIGNMENT,
    )


def test_scale_factors():
    def build(k, columns):
        a, b = operands(k, dtype="u8")
        w = word(k)
        acc = k.tmem_tile("acc", columns=64, address=w)[0]
        scale = k.tmem_tile("scale", columns=columns, dtype="u8", address=w, column=64)[0]
        with k.elect():
            k.tcgen05.mma(acc, a, b, kind="mxf4nvf4", scale_a=scale, scale_b=scale, scale_vec=4)

    expect(
        lambda k: build(k, 2),
        "tcgen05.mma: scale factors of a of (128, 2)",
        "they are (128, 4) of u8",
    )
    expect(
        lambda k: build(k, 4),
        "tcgen05.mma: scale factors of b of (128, 4)",
        "they are (128, 2) of u8",
    )


def test_scale_factors_of_a_kind_without():
    def build(k):
        a, b = operands(k)
        acc = accumulator(k)
        with k.elect():
            k.tcgen05.mma(acc, a, b, scale_a=acc, scale_b=acc)

    expect(
        build,
        "tcgen05.mma of kind f16 has no scale factors",
        "use kind mxf8f6f4, mxf4 or mxf4nvf4",
    )


def test_loads_count_on_the_barrier_of_the_peer_from_sm_100_on():
    def build(k):
        k.grid(2)
        k.cluster(2)
        f = k.global_tensor("f", (8, 32), "f32")
        f_map = k.tensor_map("f_map", f, box=(8, 32))
        tile = k.smem_tile("tile", (8, 32), "f32")
        full = k.mbarriers("full", count=1)
        with k.elect_thread():
            k.mbarrier.init_all(full)
            k.tma.load(tile[0], f_map, (0, 0), k.mbarrier.at(full[0], 0))

    expect_on(
        build,
        "a TMA load counts on an mbarrier of another CTA, on sm_90a",
        "before sm_100a, data and mbarrier are in the same CTA",
    )
