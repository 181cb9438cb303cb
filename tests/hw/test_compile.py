"""Every scenario compiles for every architecture it declares; what ptxas says, what SASS holds."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.catalog import builtin_scenarios, find_scenario
from asyncsim.hw.compile import (
    CompileError,
    compile_rendered,
    compile_schedule,
    nvrtc_version,
    parse_log,
)
from asyncsim.hw.reference_sgemm import STAGES, compile_reference
from asyncsim.hw.render import Variant, render
from asyncsim.ir.op import Compute
from asyncsim.scenario import Scenario
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.sgemm_cp_async import sgemm_cp_async
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm

PACKAGES = find_spec("cuda") is not None and find_spec("cuda.core") is not None
pytestmark = [
    pytest.mark.hw,
    pytest.mark.skipif(not PACKAGES, reason="needs the hw extra: pip install 'asyncsim[hw]'"),
]


def launched(scenario: Scenario) -> str:
    """The architecture on which delays and stamps are of use, that of measurements if it can."""
    return "sm_90a" if "sm_90a" in scenario.archs else scenario.archs[-1]


VARIANTS = [Variant(), Variant(delays=True), Variant(stamps=True)]
CASES = [
    (scenario, arch, variant)
    for scenario in builtin_scenarios()
    for arch in scenario.archs
    for variant in (VARIANTS if arch == launched(scenario) else VARIANTS[:1])
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    yield tmp_path


@pytest.mark.parametrize(
    ("scenario", "arch", "variant"),
    CASES,
    ids=[f"{s.name}-{a}-{'d' * v.delays}{'s' * v.stamps or 'plain'}" for s, a, v in CASES],
)
def test_no_spills_no_local_memory_no_advisories(
    scenario: Scenario, arch: str, variant: Variant
) -> None:
    compiled = compile_schedule(scenario.build({}), arch, variant)
    r = compiled.resources
    assert (r.stack_bytes, r.spill_store_bytes, r.spill_load_bytes) == (0, 0, 0)
    assert r.advisories == ()
    assert 0 < r.registers <= 65536 // scenario.build({}).threads
    assert compiled.cubin[:4] == b"\x7fELF"


@pytest.mark.parametrize(
    "params",
    [
        {"stages": 1, "lag": 0},
        {"block_m": 64, "block_n": 256},
        {"block_m": 64, "block_n": 64, "block_k": 32, "stages": 6},
        {"block_k": 16, "stages": 8},
        {"consumers": 2, "block_m": 256},
        {"consumers": 2, "block_n": 256},
        {"consumers": 2, "block_m": 256, "k_order": 1, "stages": 3},
        {"k_order": 1},
        {"m": 200, "n": 130, "k": 72},
        {"m": 300, "n": 131, "k": 72, "consumers": 2, "block_m": 256},
    ],
    ids=str,
)
def test_gemm_shapes(params: dict[str, int]) -> None:
    r = compile_schedule(ws_gemm.build(params)).resources
    assert r.advisories == () and r.stack_bytes == r.spill_store_bytes == 0


@pytest.mark.parametrize("stages", [3, 4, 5])
def test_sgemm_keeps_two_ctas(stages: int) -> None:
    r = compile_schedule(sgemm_cp_async.build({"stages": stages, "beta": 2})).resources
    assert r.registers <= 128 and r.spill_store_bytes == 0


@pytest.mark.parametrize("stages", STAGES)
def test_the_yardstick_of_sgemm_is_compiled_as_well(stages: int) -> None:
    r = parse_log(compile_reference(stages)[1].replace("\0", ""))
    assert 0 < r.registers <= 128 and r.stack_bytes == r.spill_store_bytes == 0


def test_sass_of_sgemm_is_that_of_its_yardstick() -> None:
    """Two loads of A a row, two of B a step, 64 FFMA a step, in one straight loop body."""
    text = sass(sgemm_cp_async)
    assert len(re.findall(r" FFMA ", text)) == 64 * 8
    assert len(re.findall(r" LDS\.128 ", text)) == 2 * 8 + 2 * 8
    assert not re.findall(r" LDS(?:\.64)? R\d", text)


def sass(scenario: Scenario, **params: int) -> str:
    tools = sorted(Path(p) for p in _nvdisasm())
    if not tools:
        pytest.skip("needs the nvidia-cuda-nvdisasm package")
    path = compile_schedule(scenario.build(params)).path
    done = subprocess.run([tools[0], "-c", path], capture_output=True, text=True, check=True)
    return done.stdout


def _nvdisasm() -> Iterator[str]:
    spec = find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        yield from map(str, Path(root).glob("**/bin/nvdisasm"))


def opcodes(text: str) -> set[str]:
    return {
        m[1]
        for m in re.finditer(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+ )?\s*([A-Z0-9_.]+)", text, re.M)
    }


def test_two_consumer_warpgroups_move_descriptors_once() -> None:
    """Their rows depend on the warp; the loop adds to uniform registers all the same."""
    text = sass(ws_gemm, consumers=2, block_m=256)
    assert text.count("HGMMA.64x128x16") == 8
    assert len(re.findall(r" R2UR ", text)) == 1


def test_sass_of_the_ring() -> None:
    """Copies stand bare, not in a loop over lanes; nothing is in local memory; no division."""
    text = sass(tma_ring)
    found = opcodes(text)
    assert "UTMALDG.2D" in found
    assert any(o.startswith("SYNCS.PHASECHK.TRANS64.TRYWAIT") for o in found)
    assert not {o for o in found if o.startswith(("LDL", "STL", "I2F", "MUFU.RCP", "VOTE"))}
    assert "BRA.U.ANY" not in text  # the loop over lanes around a copy


def test_sass_of_the_gemm() -> None:
    text = sass(ws_gemm)
    found = opcodes(text)
    assert "HGMMA.64x128x16.F32.BF16" in re.findall(r"HGMMA\.[0-9x.A-Z]+", text)
    assert text.count("HGMMA.64x128x16") == 8  # two halves of four k-slices, straight line
    assert text.count("UTMALDG.2D") == 2
    assert text.count("WARPGROUP.DEPBAR") == 2  # the schedule's waits and no other
    assert "R2UR" not in found  # descriptors and addresses live in uniform registers
    assert not {o for o in found if o.startswith(("LDL", "STL", "I2F", "MUFU.RCP"))}


def test_sass_of_the_multistage() -> None:
    found = opcodes(sass(cp_async_multistage))
    assert any(o.startswith("LDGSTS") for o in found)
    assert not {o for o in found if o.startswith(("LDL", "STL", "I2F", "MUFU.RCP"))}


def test_a_twin_that_ptxas_repairs() -> None:
    """ptxas sees the missing wait and injects one: not what the schedule says, so an error."""
    schedule = ws_gemm.build({}, "no_final_wait")
    with pytest.raises(CompileError) as error:
        compile_schedule(schedule)
    assert str(error.value) == (
        "asyncsim_ws_gemm for sm_90a: ptxas advises C7517: it changed the order that the schedule "
        "means; fix: wait for wgmma before registers are touched"
    )
    compiled = compile_schedule(schedule, allow_advisories=True)
    assert compiled.resources.advisories == ("C7517",)


ROTATE = ComputeDef(
    name="rotate",
    operands=(ComputeOperand(name="v", kind="fragment", mode=AccessMode.READ_WRITE),),
    work=lambda: Work(ffma=192),
    cuda="""
        #pragma unroll
        for (int i = 0; i < 192; ++i) v[i] = v[i] * v[(i + 97) % 192] + 1.0f;
    """,
    numpy=lambda v, **_: None,
)


def test_registers_over_the_launch_bound_are_refused() -> None:
    k = ScheduleBuilder("wide", archs=("sm_90a",))
    result = k.global_tensor("result", (1024, 192), "f32", output=True)
    source = k.global_tensor("source", (1024, 192), "f32")
    values = k.fragment("values", registers=192)
    k.block(32)  # 1024 threads: 64 registers each
    row = k.thread_in_role
    for i in range(0, 192, 4):
        k.mem.ld_global(values.part(i, 4), source.box((row, i), (1, 4)))
    with k.loop(k.arg("turns", 3)):
        k.mem.compute(ROTATE, values.all)
    for i in range(0, 192, 4):
        k.mem.st_global(result.box((row, i), (1, 4)), values.part(i, 4))
    with pytest.raises(CompileError) as error:
        compile_schedule(k.finish())
    assert re.fullmatch(
        r"asyncsim_wide for sm_90a: \d+ bytes of stack, \d+ spilled; "
        r"fix: use smaller fragments or fewer CTAs per SM",
        str(error.value),
    )


def test_broken_cuda_of_a_compute_is_one_line() -> None:
    rendered = render(tma_ring.build({}))
    source = rendered.source.replace("__fmaf_rn", "fmaf_is_not_here")
    broken = replace(rendered, source=source)
    with pytest.raises(CompileError) as error:
        compile_rendered(broken)
    compute = [o for o in tma_ring.build({}).ops() if isinstance(o, Compute)][-1]
    assert str(error.value) == (
        'asyncsim_tma_ring for sm_90a: error: identifier "fmaf_is_not_here" is undefined '
        f"(at {compute.loc})"
    )


def test_cache_keeps_the_cubin_and_what_ptxas_said(own_cache: Path) -> None:
    first = compile_schedule(tma_ring.build({}))
    again = compile_schedule(tma_ring.build({"tiles": 7}))  # tiles are an argument
    assert (first.cached, again.cached) == (False, True)
    assert first.sha256 == again.sha256 and first.resources == again.resources
    assert sorted(p.suffix for p in own_cache.iterdir()) == [".cubin", ".json"]
    assert first.nvrtc == nvrtc_version()


def test_log_parsing() -> None:
    log = """ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async serialized
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size"""
    r = parse_log(log)
    assert (r.registers, r.stack_bytes, r.spill_store_bytes, r.spill_load_bytes) == (40, 16, 12, 8)
    assert r.advisories == ("C7511",)


def test_equal_programs_of_several_threads_are_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    schedules = [find_scenario("sync_copy").build({"tiles": n}) for n in (64, 65, 66, 67)]
    with ThreadPoolExecutor(4) as threads:
        compiled = list(threads.map(compile_schedule, schedules))
    assert sorted(c.cached for c in compiled) == [False, True, True, True]
    assert len({c.resources.registers for c in compiled}) == 1
    assert compiled[0].resources.registers > 0
