"""Every rule of a well-formed schedule: its exact message, its fix, its place, its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asyncsim import OobFill, Rule, ScheduleBuilder, ScheduleError
from asyncsim.ir.decl import Fragment, SmemTile, TensorMap
from asyncsim.ir.dtype import DType
from asyncsim.ir.validate import CHECKS, validate
from asyncsim.ir.validate.arch import ARCHS
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm


def error_of(build, *, archs=("sm_90a",)) -> ScheduleError:
    k = ScheduleBuilder("bad", archs=archs)
    with pytest.raises(ScheduleError) as caught:
        build(k)
        k.finish()
    return caught.value


def expect(build, message: str, fix: str, rule: Rule | None = None, **kw) -> None:
    error = error_of(build, **kw)
    assert (error.message, error.fix, error.rule) == (message, fix, rule)
    assert "\n" not in str(error)


def barrier(k, **kw):
    full = k.mbarriers("full", count=1, **kw)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    return full


@pytest.mark.parametrize("scenario", [tma_ring, ws_gemm, cp_async_multistage])
def test_scenarios_and_their_twins_are_well_formed(scenario):
    for twin in ("", *(t.name for t in scenario.twins)):
        validate(scenario.build(twin=twin))


def test_each_rule_is_listed_once():
    assert len(CHECKS) == len(set(CHECKS)) == 27


# -- launch ------------------------------------------------------------------------------------


def test_block_over_1024_threads():
    expect(lambda k: k.block(33), "33 warps are 1056 threads", "a block has 1 to 32 warps")


def test_roles_over_the_block():
    def build(k):
        k.block(2)
        with k.specialize(), k.role("r", warps=3):
            pass

    expect(build, "roles own 3 warps of 2", "enlarge the block")


@pytest.mark.parametrize("n", [0, 33])
def test_launch_bound(n):
    expect(lambda k: k.launch_bounds(n), f"{n} CTAs per SM", "the launch bound is 1 to 32")


def test_grid_limits():
    expect(lambda k: k.grid(1, 65536), "grid of 65536 CTAs in y", "at most 65535")


def test_shared_memory_over_227_kb_says_how_many_stages_fit():
    def build(k):
        k.smem_tile("small", (1024,), "u8")
        k.smem_tile("ring", (128, 64), "f32", stages=8)

    expect(
        build,
        "263168 bytes of shared memory, a CTA may have 232448",
        "tile 'ring' takes 32768 bytes a stage: use at most 7 stages",
        Rule.SMEM_OVER_BUDGET,
    )


def test_one_stage_over_227_kb_must_shrink():
    expect(
        lambda k: k.smem_tile("huge", (1024, 64), "f32"),
        "262144 bytes of shared memory, a CTA may have 232448",
        "tile 'huge' takes 262144 bytes a stage: make it smaller",
        Rule.SMEM_OVER_BUDGET,
    )


def test_mbarriers_alone_over_227_kb():
    expect(
        lambda k: k.mbarriers("many", count=1, stages=30_000),
        "240000 bytes of shared memory, a CTA may have 232448",
        "use fewer mbarriers",
        Rule.SMEM_OVER_BUDGET,
    )


# -- architectures -----------------------------------------------------------------------------


def test_unknown_and_missing_architecture():
    expect(
        lambda k: None,
        "unknown architecture 'sm_99'",
        f"use one of {', '.join(ARCHS)}",
        archs=("sm_99",),
    )
    expect(lambda k: None, "no architecture is declared", 'e.g. archs=("sm_90a",)', archs=())


def test_tma_on_ampere():
    def build(k):
        full = k.mbarriers("full", count=1)
        t = k.global_tensor("t", (64, 64), "f32")
        m = k.tensor_map("m", t, box=(8, 32))
        k.tma.load(k.smem_tile("s", (8, 32), "f32")[0], m, (0, 0), full[0])

    expect(
        build,
        "TmaLoad does not exist on sm_80, which the schedule declares",
        "declare archs among sm_90, sm_90a, sm_100, sm_100a, sm_103, sm_103a, sm_120, sm_120a",
        archs=("sm_80", "sm_90a"),
    )


def test_wgmma_on_blackwell():
    expect(
        lambda k: (k.block(4), k.wgmma.fence()),
        "WgmmaFence does not exist on sm_100a, which the schedule declares",
        "declare archs among sm_90a",
        archs=("sm_90a", "sm_100a"),
    )


def test_arrive_with_a_count_on_ampere():
    def build(k):
        k.mbarrier.arrive(barrier(k)[0], 2)

    message = "MbarrierArrive does not exist on sm_80, which the schedule declares"
    assert error_of(build, archs=("sm_80",)).message == message


# -- structure ---------------------------------------------------------------------------------


def test_loops_nest_at_most_16_deep():
    def nest(k, depth):
        if depth:
            with k.loop(1):
                nest(k, depth - 1)

    k = ScheduleBuilder("deep")
    nest(k, 16)
    k.finish()
    expect(lambda k: nest(k, 17), "17 loops inside each other", "nest at most 16")


def test_blocks_nest_at_most_64_deep():
    def nest(k, depth):
        if depth:
            with k.when(k.block_idx == 0):
                nest(k, depth - 1)

    k = ScheduleBuilder("deep")
    nest(k, 64)
    k.finish()
    expect(lambda k: nest(k, 65), "65 blocks inside each other", "nest at most 64")


def test_expressions_of_64_levels_stream_and_deeper_ones_are_refused():
    def deep(k, levels):
        value = k.block_idx
        for _ in range(levels - 1):
            value = value + k.warp_in_role
        k.mbarrier.arrive(barrier(k, stages=2)[value % 2])

    from asyncsim.stream import Program

    k = ScheduleBuilder("deep")
    deep(k, 63)
    assert len(list(Program(k.finish()).stream((0, 0, 0), 0))) == 3
    expect(
        lambda k: deep(k, 64),
        "an expression of more than 64 levels or 4096 terms",
        "keep a part of it in k.var",
    )


@pytest.mark.parametrize("doublings", [13, 60, 100_000])
def test_an_expression_that_doubles_is_refused_at_once(doublings):
    def build(k):
        value = k.block_idx
        for _ in range(doublings):
            value = value + value
        k.var("v", value)

    assert error_of(build).message == "an expression of more than 64 levels or 4096 terms"


LANES = (
    "lanes may differ in where they access, not in stages, counts, parities, bytes and integers of "
    "a compute"
)


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("MbarrierArrive", lambda k, b: k.mbarrier.arrive(b[k.lane])),
        ("MbarrierWait", lambda k, b: k.mbarrier.wait(b[0], k.lane % 2)),
        ("MbarrierExpectTx", lambda k, b: k.mbarrier.expect_tx(b[0], k.thread_in_role * 16)),
    ],
)
def test_lanes_agree_on_barriers(name, act):
    expect(
        lambda k: act(k, barrier(k, stages=32)),
        f"{name}: this operand differs from lane to lane",
        LANES,
    )


def test_a_lane_varying_stage_of_a_tile_is_refused_and_a_start_is_not():
    def build(k, view):
        x = k.fragment("x", registers=1)
        k.mem.ld_shared(x.all, view(k, k.smem_tile("t", (32, 1), "f32", stages=32)))

    expect(
        lambda k: build(k, lambda k, t: t[k.lane].box((0, 0), (1, 1))),
        "LdShared: this operand differs from lane to lane",
        LANES,
    )
    k = ScheduleBuilder("good")
    build(k, lambda k, t: t[0].box((k.lane, 0), (1, 1)))
    k.finish()


def test_a_compute_gets_one_view_for_the_warp():
    from tests.ir.every_op import FOLD

    def build(k):
        t, x = k.smem_tile("t", (64, 32), "f32"), k.fragment("x", registers=1)
        k.mem.compute(FOLD, x.all, t[0].box((k.lane, 0), (1, 32)), 1)

    expect(
        build,
        "Compute: a shared-memory operand starts elsewhere in each lane",
        "pass one view for the warp; a compute body can index it by lane",
    )


# -- barriers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [0, 48, 96])
def test_named_barrier_counts_warps_of_the_block(threads):
    expect(
        lambda k: (k.block(2), k.named_barrier("b", id=1, threads=threads)),
        f"named barrier 'b' counts {threads} threads of 64",
        "use a multiple of 32, at most the block",
    )


def test_mbarrier_that_is_never_initialised():
    expect(
        lambda k: k.mbarriers("full", count=1),
        "mbarrier 'full' is never initialised",
        "add k.mbarrier.init_all(...) in an elected thread before the block barrier",
        Rule.USE_BEFORE_INIT,
    )


def test_stage_outside_the_array():
    expect(
        lambda k: k.mbarrier.arrive(barrier(k, stages=4)[4]),
        "mbarrier full[4] of 4",
        "the stage must be 0..3",
        Rule.OUT_OF_BOUNDS,
    )


@pytest.mark.parametrize("count", [0, 1 << 20])
def test_counts_of_init_and_arrive(count):
    for name, act in (
        ("MbarrierInit", lambda k: k.mbarrier.init(barrier(k)[0], count)),
        ("MbarrierArrive", lambda k: k.mbarrier.arrive(barrier(k)[0], count)),
    ):
        expect(
            act,
            f"{name} with count {count}",
            "a count is 1 to 1048575",
            Rule.ARRIVAL_OVERFLOW,
        )


@pytest.mark.parametrize("parity", [2, -1])
def test_parity_is_a_bit(parity):
    expect(
        lambda k: k.mbarrier.wait(barrier(k)[0], parity),
        f"wait on parity {parity} of 'full'",
        "a parity is 0 or 1: the phase number modulo 2",
        Rule.PARITY_OUT_OF_RANGE,
    )


@pytest.mark.parametrize("amount", [-16, 1 << 20])
def test_announced_bytes_fit_the_transaction_count(amount):
    expect(
        lambda k: k.mbarrier.expect_tx(barrier(k)[0], amount),
        f"{amount} bytes announced on 'full'",
        "a transaction count is 0 to 1048575",
        Rule.TX_RANGE,
    )


def test_announced_bytes_are_multiples_of_16():
    expect(
        lambda k: k.mbarrier.arrive_expect_tx(barrier(k)[0], 100),
        "100 bytes announced on 'full'; bulk copies move multiples of 16",
        "announce exactly the bytes of the boxes",
        Rule.TX_BYTES_MISMATCH,
    )


# -- tiles, fragments, plain accesses ----------------------------------------------------------


def test_tile_alignment_follows_its_swizzle():
    expect(
        lambda k: k.smem_tile("t", (8, 64), "bf16", swizzle=128, align=512),
        "tile 't' is aligned to 512 bytes, its swizzle repeats every 1024",
        "align it to a power of two, at least 1024",
        Rule.ALIGNMENT,
    )
    expect(
        lambda k: k.smem_tile("t", (8, 64), "bf16", align=384),
        "tile 't' is aligned to 384 bytes, its swizzle repeats every 16",
        "align it to a power of two, at least 16",
        Rule.ALIGNMENT,
    )


def test_alignment_of_zero():
    error = error_of(lambda k: k.smem_tile("t", (8, 64), "bf16", align=0))
    assert error.message == "tile 't' has alignment 0"


def test_swizzled_rows_are_as_long_as_the_swizzle():
    expect(
        lambda k: k.smem_tile("t", (8, 64), "f32", swizzle=128),
        "tile 't' has rows of 256 bytes under a 128-byte swizzle",
        "make a row exactly as long as the swizzle",
        Rule.ALIGNMENT,
    )


@pytest.mark.parametrize("registers", [0, 256])
def test_fragment_sizes(registers):
    expect(
        lambda k: k.fragment("x", registers=registers),
        f"fragment 'x' has {registers} registers",
        "a thread has 1 to 255",
    )


@pytest.mark.parametrize(("first", "count"), [(3, 2), (-1, 1), (4, 1), (0, 0)])
def test_fragment_parts(first, count):
    def build(k):
        out = k.global_tensor("out", (64, 4), "f32", output=True)
        x = k.fragment("x", registers=4)
        k.mem.st_global(out.box((k.lane, 0), (1, max(count, 1))), x.part(first, count))

    expect(
        build,
        f"registers {first}..{first + count - 1} of fragment 'x', which has 4",
        "stay in 0..3",
        Rule.OUT_OF_BOUNDS,
    )


def test_views_that_leave_their_tile():
    def build(k, stage, shape):
        x = k.fragment("x", registers=1)
        t = k.smem_tile("t", (4, 1), "f32", stages=2)
        with k.loop(2) as i:
            k.mem.ld_shared(x.all, t[stage].box((i, 0), shape))

    fix = "stages 0..1, shape (4, 1)"
    expect(
        lambda k: build(k, 2, (1, 1)),
        "LdShared: a view of tile 't' leaves it in stage 2",
        fix,
        Rule.OUT_OF_BOUNDS,
    )
    expect(
        lambda k: build(k, 0, (5, 1)),
        "LdShared: a view of tile 't' leaves it in dimension 0",
        fix,
        Rule.OUT_OF_BOUNDS,
    )


def test_box_of_a_plain_access_that_leaves_its_tensor():
    def build(k):
        t = k.global_tensor("t", (8, 8), "f32")
        k.mem.ld_global(k.fragment("x", registers=2).all, t.box((k.block_idx, 7), (1, 2)))

    expect(
        build,
        "LdGlobal: a box of 't' leaves it in dimension 1",
        "its shape is (8, 8)",
        Rule.OUT_OF_BOUNDS,
    )


def test_loads_and_stores_move_bits():
    def build(k, registers, dtype):
        out = k.global_tensor("out", (64, 4), "f32", output=True)
        x = k.fragment("x", registers=registers, dtype=dtype)
        k.mem.st_global(out.box((k.lane, 0), (1, 2)), x.all)

    expect(
        lambda k: build(k, 4, "f32"),
        "StGlobal of 2 elements and 4 registers",
        "a lane moves one element a register",
    )
    expect(
        lambda k: build(k, 2, "u32"),
        "StGlobal of f32 elements and u32 registers",
        "ld and st move bits: convert in a compute, or give both the same type",
    )


# -- cp.async ----------------------------------------------------------------------------------


def cp_async(k, *, dst=(0, 0), src=(0, 0), shape=(1, 4), bytes=16, dtype="f32", **kw):
    tile = k.smem_tile("tile", (64, 32), "f32")
    source = k.global_tensor("source", (64, 33) if kw.pop("odd", False) else (64, 32), dtype)
    k.cp_async.copy(tile[0].box(dst, shape), source.box(src, shape), bytes=bytes, **kw)


def test_cp_async_copies_exactly_its_bytes():
    expect(
        lambda k: cp_async(k, shape=(1, 8)),
        "cp.async of 16 bytes with a box of 32 bytes in 'tile'",
        "one instruction of a lane copies exactly its bytes",
    )


def test_cp_async_keeps_the_type():
    expect(
        lambda k: cp_async(k, dtype="u32"),
        "cp.async from u32 'source' to f32 'tile'",
        "give both the same type",
    )


def test_cp_async_keeps_at_most_its_bytes():
    expect(
        lambda k: cp_async(k, src_bytes=20),
        "cp.async with src_bytes 20 of 16",
        "keep 0 to 16 bytes; the rest is zero",
        Rule.OUT_OF_BOUNDS,
    )


def test_cp_async_boxes_are_one_run():
    expect(
        lambda k: cp_async(k, shape=(2, 2)),
        "cp.async: the box in 'tile' is not one run of bytes",
        "copy along the innermost dimension",
        Rule.ALIGNMENT,
    )


FIX = "start at a multiple of the size, or copy fewer bytes"


def test_cp_async_addresses_that_are_never_aligned():
    expect(
        lambda k: cp_async(k, dst=(k.lane, 2)),
        "cp.async of 16 bytes: the address in 'tile' is never a multiple of 16",
        FIX,
        Rule.ALIGNMENT,
    )
    expect(
        lambda k: cp_async(k, src=(k.lane * 4, 4 * k.block_idx % 8 + 1), odd=True),
        "cp.async of 16 bytes: the address in 'source' is never a multiple of 16",
        FIX,
        Rule.ALIGNMENT,
    )


def test_cp_async_addresses_that_may_be_aligned_are_not_accused():
    k = ScheduleBuilder("good")
    cp_async(k, src=(k.block_idx, k.lane), dst=(k.lane, 4 * k.warp_in_role))
    k.finish()


# -- tensor maps -------------------------------------------------------------------------------


def tensor_map(k, shape=(64, 64), box=(8, 32), dtype="f32", strides=None, **kw):
    return k.tensor_map("m", k.global_tensor("t", shape, dtype, strides=strides), box=box, **kw)


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"box": (8,)}, "box of 1 dimensions, tensor of 2", "make them equal"),
        ({"shape": (2,) * 6, "box": (2,) * 6}, "rank 6", "a map has 1 to 5 dimensions"),
        ({"strides": (1, 64)}, "inner stride 64", "the innermost dimension must be contiguous"),
        ({"strides": (66, 1)}, "stride of 264 bytes", "strides are multiples of 16 bytes"),
        (
            {"strides": (1 << 38, 1)},
            "stride of 1099511627776 bytes",
            "strides are positive and below 2^40 bytes",
        ),
        ({"strides": (0, 1)}, "stride of 0 bytes", "strides are positive and below 2^40 bytes"),
        ({"box": (257, 4), "shape": (512, 4)}, "box (257, 4)", "each extent is at most 256"),
        ({"box": (8, 3)}, "inner extent of 12 bytes", "it must be a multiple of 16 bytes"),
        (
            {"box": (8, 64), "swizzle": 128},
            "inner extent of 256 bytes over the 128-byte swizzle",
            "split the box or widen the swizzle",
        ),
        (
            {"dtype": "u32", "oob_fill": OobFill.NAN},
            "NaN fill for u32",
            "integers can be filled with zero only",
        ),
        (
            {"l2_promotion_bytes": 100},
            "L2 promotion of 100 bytes",
            "use 0, 64, 128 or 256",
        ),
        (
            {"shape": ((1 << 32) + 1, 4), "box": (8, 4)},
            "tensor of shape (4294967297, 4)",
            "each extent is at most 2^32",
        ),
    ],
)
def test_tensor_map_constraints(options, what, fix):
    expect(lambda k: tensor_map(k, **options), f"tensor map 'm': {what}", fix, Rule.TENSOR_MAP)


def test_element_strides_of_a_map():
    k = ScheduleBuilder("strides")
    tensor_map(k)
    s = k.finish()
    decls = tuple(
        replace(d, element_strides=(1, 9)) if isinstance(d, TensorMap) else d for d in s.decls
    )
    with pytest.raises(ScheduleError) as caught:
        validate(replace(s, decls=decls, _by_name={}))
    assert caught.value.message == "tensor map 'm': element strides (1, 9)"
    assert caught.value.fix == "each is 1 to 8"


def load(k, *, tile=(8, 32), at=None, box=(8, 32), swizzle=0, map_swizzle=0, dtype="f32"):
    m = tensor_map(k, box=box, swizzle=map_swizzle)
    s = k.smem_tile("s", tile, dtype, swizzle=swizzle)
    view = s[0] if at is None else s[0].box(at, box)
    k.tma.load(view, m, (0, 0), barrier(k)[0])


def test_box_and_view_agree():
    expect(
        lambda k: load(k, tile=(16, 32)),
        "s view of shape (16, 32) f32, map 'm' has a box of (8, 32) f32",
        "make view and box equal",
        Rule.TENSOR_MAP,
    )
    expect(
        lambda k: load(k, dtype="u32"),
        "s view of shape (8, 32) u32, map 'm' has a box of (8, 32) f32",
        "make view and box equal",
        Rule.TENSOR_MAP,
    )


def test_swizzle_of_tile_and_map_agree():
    expect(
        lambda k: load(k, swizzle=128),
        "tile 's' has swizzle 128, map 'm' 0",
        "give both the same swizzle",
        Rule.TENSOR_MAP,
    )


def test_box_is_written_without_gaps():
    expect(
        lambda k: load(k, tile=(8, 64), at=(0, 0)),
        "box of (8, 32) inside tile 's' of (8, 64): a tensor copy writes it without gaps",
        "give it whole rows of the tile, or a tile of its own",
        Rule.TENSOR_MAP,
    )


def test_box_starts_where_the_swizzle_does():
    expect(
        lambda k: load(k, tile=(16, 32), at=(4, 0), swizzle=128, map_swizzle=128),
        "a tensor copy at an address in tile 's' that is never a multiple of 1024 bytes",
        "start at a row whose offset is a multiple of 1024 bytes",
        Rule.ALIGNMENT,
    )
    k = ScheduleBuilder("good")
    load(k, tile=(16, 32), at=(8, 0), swizzle=128, map_swizzle=128)
    k.finish()


def test_store_is_checked_like_a_load():
    def build(k):
        k.tma.store(tensor_map(k), (0, 0), k.smem_tile("s", (8, 32), "f32", swizzle=128)[0])

    assert error_of(build).message == "tile 's' has swizzle 128, map 'm' 0"


# -- wgmma -------------------------------------------------------------------------------------


def mma(k, *, roles=(("math", 4),), a=(0, 0), b=(0, 0), n=64, dtype="bf16", swizzle=128, acc=None):
    step = 32 // DType(dtype).bytes
    columns = swizzle // DType(dtype).bytes or 64
    ta = k.smem_tile("ta", (128, columns), dtype, swizzle=swizzle)
    tb = k.smem_tile("tb", (256, columns), dtype, swizzle=swizzle)
    d = acc(k) if acc else k.accumulator("d", n=n)
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


@pytest.mark.parametrize("dtype", ["i8", "u8", "f32"])
def test_wgmma_types(dtype):
    expect(
        lambda k: mma(k, dtype=dtype),
        f"wgmma of {dtype} and {dtype}",
        "fp32 accumulators take f16, bf16 or tf32 pairs, or e4m3 and e5m2",
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
def test_wgmma_types_that_exist(dtype):
    k = ScheduleBuilder("good")
    mma(k, dtype=dtype)
    k.finish()


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
        "wgmma operand 'ta' starts at a row that is never a multiple of 8",
        "the swizzle pattern repeats every 8 rows: start there",
        Rule.ALIGNMENT,
    )
    expect(
        lambda k: mma(k, b=(0, 8)),
        "wgmma operand 'tb' starts inside a k-slice of 32 bytes",
        "start at a multiple of 16 elements",
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
    assert caught.value.message == "wgmma with n = 4"


def test_errors_point_at_the_declaration_or_the_op():
    error = error_of(lambda k: k.smem_tile("t", (8, 64), "f32", swizzle=128))
    assert error.loc.file == __file__
    assert str(error) == (
        "tile 't' has rows of 256 bytes under a 128-byte swizzle "
        f"(at test_validate.py:{error.loc.line}); make a row exactly as long as the swizzle"
    )


def test_declarations_keep_their_defaults():
    assert SmemTile(name="t", shape=(4,), dtype=DType.F32).stage_stride == 128
    assert Fragment(name="x", registers=1, dtype=DType.F32).layout.value == "per_thread"
