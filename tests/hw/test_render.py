"""The CUDA text of the scenarios, and what must or must not stand in it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, ScheduleError, Work
from asyncsim.catalog import builtin_scenarios
from asyncsim.hw.render import ParameterKind, Variant, kernel_text, render
from asyncsim.ir.op import Compute
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm

SCENARIOS = {s.name: s for s in builtin_scenarios()}
SMALL = {
    "cluster_sum": {"cluster": 2},
    "dispatch": {"stages": 2, "width": 64},
    "tma_im2col": {"stages": 2, "block_n": 8, "height": 13},
    "tma_reduce": {"stages": 2, "op": 1},
    "tma_ring": {"stages": 2, "tile_bytes": 1024, "consumers": 2, "ffma": 4},
    "ws_gemm": {"stages": 2, "block_m": 64, "block_n": 8, "block_k": 16},
    "atomic_gemm": {"stages": 2, "block_n": 64, "block_k": 16, "buffers": 1, "ctas": 4},
    "cooperative_gemm": {"stages": 2, "block_n": 64, "block_k": 16, "buffers": 1, "ctas": 4},
    "bw_block_scaled": {"stages": 2, "kind": 2, "buffers": 1, "ctas": 4},
    "bw_gemm": {"stages": 2, "block_n": 64, "block_k": 16, "buffers": 1, "ctas": 4},
    "bw_gemm_2cta": {"stages": 2, "block_n": 64, "block_k": 16, "buffers": 1, "ctas": 4},
    "bw_persistent_clc": {"stages": 2, "block_n": 64, "block_k": 16, "buffers": 1},
    "cp_async_multistage": {"stages": 2, "tile_bytes": 2048, "ffma": 4},
    "fp8_gemm": {"stages": 2, "block_n": 64, "block_m": 128, "buffers": 1, "ctas": 4},
    "grouped_gemm": {"stages": 2, "block_n": 64, "block_k": 16, "buffers": 1, "groups": 2},
    "split_k": {"stages": 2, "block_n": 64, "block_k": 16},
    "multicast_gemm": {"stages": 2, "block_n": 64, "block_k": 16, "buffers": 1, "cluster_n": 2},
    "mma_gemm": {"stages": 2, "n": 1000},
    "pingpong_gemm": {"stages": 2, "block_n": 64, "block_k": 16, "buffers": 1, "ctas": 4},
    "sgemm_cp_async": {"stages": 2, "beta": 2},
    "sync_copy": {"tile_bytes": 4096, "ffma": 4},
    "tma_copy": {"m": 64, "n": 64},
    "flash_attention": {"hdim": 64, "block_n": 16, "causal": 1},
}


def without_lines(text: str) -> str:
    """Scenario files move; their line numbers are no part of the golden text."""
    return re.sub(r"\.py:\d+\)", ".py)", text)


@pytest.mark.parametrize("name", SCENARIOS)
def test_golden_text(name: str, golden: Callable[[str, str], None]) -> None:
    schedule = SCENARIOS[name].build(SMALL[name])
    arch = "sm_90a" if "sm_90a" in schedule.archs else schedule.archs[0]
    rendered = render(schedule, arch)
    golden(f"{name}.cu", without_lines(kernel_text(rendered)))


def test_every_op_is_commented_with_its_id_and_line() -> None:
    schedule = tma_ring.build({})
    text = kernel_text(render(schedule))
    for op in schedule.ops():
        name = f"Compute {op.defn.name}" if isinstance(op, Compute) else type(op).__name__
        assert f"// #{op.id} {name} ({op.loc})" in text
        assert str(op.loc).startswith("tma_ring.py:") or "families" not in str(op.loc)


def test_problem_sizes_are_arguments() -> None:
    """One text for each shape family: problem sizes, tile counts and the grid do not show in it."""
    big, small = ws_gemm.build({}), ws_gemm.build({"m": 512, "n": 256, "k": 1024})
    assert render(big).source == render(small).source
    one, many = tma_ring.build({"ctas": 1, "tiles": 3}), tma_ring.build({})
    assert render(one).source == render(many).source
    assert render(big).source != render(ws_gemm.build({"stages": 3})).source


def test_clipped_stores_ask_for_each_vector_that_lies_inside_or_outside_as_a_whole() -> None:
    even = kernel_text(render(ws_gemm.build({"m": 200, "n": 130, "block_n": 8})))
    assert even.count("(u32)extent_c_0 && (u32)(") == even.count("store_vector(t_c") == 4
    assert re.search(
        r"if \(\(u32\)\(.*\) < \(u32\)extent_c_1\) store_vector\(t_c.*f_acc0\[0\], f_", even
    )
    odd = kernel_text(render(ws_gemm.build({"m": 200, "n": 131, "block_n": 8})))
    assert odd.count("(u32)extent_c_0 && (u32)(") == odd.count("store_vector(t_c") == 8
    whole = render(ws_gemm.build({"block_n": 8}))
    assert "extent" not in kernel_text(whole)
    kinds = [(p.kind, p.name, p.dim) for p in render(ws_gemm.build({"m": 200})).parameters]
    assert kinds[3:6] == [
        (ParameterKind.STRIDE, "c", 0),
        (ParameterKind.EXTENT, "c", 0),
        (ParameterKind.EXTENT, "c", 1),
    ]


def test_parameters_in_order() -> None:
    kinds = [(p.kind, p.name, p.bytes) for p in render(ws_gemm.build({})).parameters]
    assert kinds == [
        (ParameterKind.TENSOR_MAP, "a_map", 128),
        (ParameterKind.TENSOR_MAP, "b_map", 128),
        (ParameterKind.TENSOR, "c", 8),
        (ParameterKind.STRIDE, "c", 4),
        (ParameterKind.ARG, "steps", 4),
        (ParameterKind.REPORT, "", 8),
        (ParameterKind.CLOCKS, "", 8),
    ]


def test_hooks_are_build_variants() -> None:
    schedule = tma_ring.build({})
    plain, delayed, stamped = (
        kernel_text(render(schedule, "sm_90a", v))
        for v in (Variant(), Variant(delays=True), Variant(stamps=True))
    )
    assert "delay(" not in plain and "stamp" not in plain
    assert "delay(delays, " in delayed and "stamp(" not in delayed
    assert "stamp(stamps, " in stamped and "delay(" not in stamped


def test_only_waits_cost_a_guard() -> None:
    """A kernel without mbarriers cannot give up, so nothing in it asks whether it has."""
    assert "guard.aborted" not in kernel_text(render(cp_async_multistage.build({})))
    ring = kernel_text(render(tma_ring.build({})))
    assert "if (!mbar_wait(guard" in ring  # the elected producer leaves its region
    assert "  mbar_wait(guard" in ring  # whole consumer warps run on


def test_an_architecture_that_is_not_declared() -> None:
    with pytest.raises(ScheduleError) as error:
        render(ws_gemm.build({}), "sm_100a")
    assert str(error.value) == "ws_gemm is not written for sm_100a; it declares sm_90a"


def divided(divisor_is_argument: bool) -> Schedule:
    k = ScheduleBuilder("divide", archs=("sm_90a",))
    n = k.arg("n", 3)
    result = k.global_tensor("result", (64, 32), "u32", output=True)
    value = k.fragment("value", registers=1, dtype="u32")
    k.grid(4)
    k.block(1)
    k.mem.compute(ZERO, value.all)
    row = (k.block_idx * 7 + 1) // (n if divisor_is_argument else 3)
    k.mem.st_global(result.box((row, k.lane), (1, 1)), value.all)
    return k.finish()


ZERO = ComputeDef(
    name="zero",
    operands=(ComputeOperand(name="value", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=1),
    cuda="value[0] = 0u;",
    numpy=lambda value, **_: value.fill(0),
)


def test_division_by_a_run_time_value_is_refused() -> None:
    with pytest.raises(ScheduleError) as error:
        render(divided(True))
    assert str(error.value) == (
        "a division by a run-time value cannot be rendered: it costs dozens of instructions; "
        "divide by a compile-time integer, or count with a var (pipeline_state)"
    )
    assert "floor_div<3>(block_x * 7 + 1)" in kernel_text(render(divided(False)))


def joined() -> Schedule:
    """A fragment from before the roles, a role that ends in elect, and statements after them."""
    k = ScheduleBuilder("joined", archs=("sm_90a",))
    result = k.global_tensor("result", (64,), "u32", output=True)
    value = k.fragment("value", registers=1, dtype="u32")
    full = k.mbarriers("full", count=1)
    k.mem.compute(ZERO, value.all)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("waiter", warps=1):
            k.mbarrier.wait(full[0], 0)
            k.mem.compute(ADD_ONE, value.all)
        with k.role("arriver", warps=1), k.elect():
            k.mbarrier.arrive(full[0])
    k.bar.sync()
    k.mem.st_global(result.box((k.thread_in_role,), (1,)), value.all)
    return k.finish()


ADD_ONE = ComputeDef(
    name="add_one",
    operands=(ComputeOperand(name="value", kind="fragment", mode=AccessMode.READ_WRITE),),
    work=lambda: Work(alu=1),
    cuda="value[0] += 1u;",
    numpy=lambda value, **_: value.__iadd__(1),
)


def test_statements_after_the_roles() -> None:
    text = kernel_text(render(joined(), "sm_90a", Variant(stamps=True)))
    assert text.count("u32 f_value[1];") == 1  # not shadowed inside the role
    assert text.count("stamp(stamps, 0xffffffffu);") == 1  # no warp leaves with its role
    end = f"clock_mark(clocks, {joined().warps}, 1 + warp);"
    assert text.count(end) == 1
    assert "if (!guard.aborted) store_vector(t_result" in text  # a role may have given up
    assert text.index(end) > text.index("store_vector(t_result")
