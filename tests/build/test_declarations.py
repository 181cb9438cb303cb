"""Declarations: names, shapes, counts."""

from __future__ import annotations

import pytest

from tests.build.refused import expect, new


@pytest.mark.parametrize("name", ["", "1x", "a-b", "_x", "a b", "ring[0]"])
def test_names_are_identifiers(name):
    expect(
        lambda k: k.mbarriers(name, count=1), f"{name!r} is not a name", "use letters, digits and _"
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda k, name: k.var(name),
        lambda k, name: k.loop(4, name=name).__enter__(),
        lambda k, name: (k.specialize().__enter__(), k.role(name, warps=1).__enter__()),
        lambda k, name: type(k)(name),
    ],
)
def test_variables_roles_and_schedules_have_names_too(use):
    expect(lambda k: use(k, "a; b"), "'a; b' is not a name", "use letters, digits and _")


def test_names_are_unique():
    def build(k):
        k.arg("x", 1)
        k.fragment("x", registers=1)

    expect(build, "'x' is declared twice", "rename one")


@pytest.mark.parametrize(
    ("build", "message", "fix"),
    [
        (
            lambda k: k.global_tensor("t", (4, 0), "f32"),
            "tensor 't' has shape (4, 0)",
            "every extent is at least 1",
        ),
        (
            lambda k: k.global_tensor("t", (4, 4), "f32", strides=(1,)),
            "tensor 't' of shape (4, 4) has strides (1,)",
            "give one stride of 0 or more elements per dimension",
        ),
        (
            lambda k: k.smem_tile("t", (), "f32"),
            "tile 't' has shape ()",
            "every extent is at least 1",
        ),
        (
            lambda k: k.smem_tile("t", (4,), "f32", stages=0),
            "tile 't' has 0 stages",
            "give at least 1",
        ),
        (
            lambda k: k.smem_tile("t", (4,), "f32", align=0),
            "tile 't' has alignment 0",
            "give a power of two",
        ),
        (
            lambda k: k.mbarriers("b", count=1, stages=0),
            "mbarrier array 'b' has 0 stages",
            "give at least 1",
        ),
        (
            lambda k: k.mbarriers("b", count=0),
            "mbarrier 'b' expects 0 arrivals",
            "a count is 1 to 1048575 (PTX ISA, mbarrier.init)",
        ),
        (
            lambda k: k.mbarriers("b", count=1 << 20),
            "mbarrier 'b' expects 1048576 arrivals",
            "a count is 1 to 1048575 (PTX ISA, mbarrier.init)",
        ),
        (
            lambda k: k.named_barrier("b", id=0, threads=32),
            "named barrier 'b' has id 0",
            "use 1 to 15; 0 is the block barrier",
        ),
        (
            lambda k: k.accumulator("d", n=12),
            "accumulator 'd' has n = 12",
            "n is a multiple of 8 from 8 to 256",
        ),
        (
            lambda k: k.global_tensor("t", (4,), "f64"),
            "unknown element type 'f64'",
            "use one of i8, u8, i32, u32, f16, bf16, f32, tf32, e4m3, e5m2",
        ),
        (
            lambda k: k.smem_tile("t", (4,), "f32", swizzle=96),
            "swizzle 96",
            "use 0, 32, 64 or 128 (bytes)",
        ),
    ],
)
def test_bad_declarations(build, message, fix):
    expect(build, message, fix)


def test_tensors_are_row_major_and_outputs_start_as_zero():
    k = new()
    t = k.global_tensor("t", (2, 3, 4), "f32").decl
    out = k.global_tensor("out", (2,), "f32", output=True).decl
    assert t.strides == (12, 4, 1)
    assert (t.fill.value, out.fill.value) == ("random", "zero")


def test_tiles_are_aligned_to_the_repeat_of_their_swizzle():
    k = new()
    aligns = [k.smem_tile(f"t{s}", (8, max(s, 16)), "u8", swizzle=s).decl.align
              for s in (0, 32, 64, 128)]  # fmt: skip
    assert aligns == [128, 256, 512, 1024]


@pytest.mark.parametrize(
    "build",
    [
        lambda k, n: k.grid(n),
        lambda k, n: k.cluster(1, n),
        lambda k, n: k.block(n),
        lambda k, n: k.launch_bounds(1, maxnreg=n),
        lambda k, n: k.arg("a", n),
        lambda k, n: k.global_tensor("g", (n, 32), "f32"),
        lambda k, n: k.smem_tile("t", (1, n), "f32"),
        lambda k, n: k.smem_tile("t", (1, 32), "f32", stages=n),
        lambda k, n: k.mbarriers("b", count=n),
        lambda k, n: k.named_barrier("b", id=1, threads=n),
        lambda k, n: k.fragment("r", registers=n),
        lambda k, n: k.accumulator("acc", n=n),
        lambda k, n: k.pipeline_state(n),
        lambda k, n: k.smem_tile("t", (8, 32), "f32")[0].box((0, 0), (1, n)),
        lambda k, n: k.global_tensor("g", (8, 32), "f32").box((0, 0), (1, n)),
        lambda k, n: k.cp_async.wait_group(n),
        lambda k, n: k.setmaxnreg.dec(n),
    ],
)
def test_a_quotient_is_not_cut_off(build):
    """``k.grid(m / 128)`` is a float in Python, also where the division is exact."""
    expect(lambda k: build(k, 64 / 2), "32.0 is not an integer", "pass an int; // divides integers")


@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1])
def test_an_argument_is_an_int_of_the_kernel(value):
    expect(
        lambda k: k.arg("n", value),
        f"argument 'n' = {value}: it is an int of the kernel",
        "-2^31 to 2^31 - 1",
    )
