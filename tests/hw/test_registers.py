"""setmaxnreg as ptxas sees it: the launch's register count, and an instruction that it keeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.hw.compile import CompileError, compile_rendered, compile_schedule
from asyncsim.hw.render import Variant, kernel_text, render
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.ws_gemm import ws_gemm
from tests.hw.test_compile import sass

PACKAGES = find_spec("cuda") is not None and find_spec("cuda.core") is not None


def compiles(test: Callable[..., None]) -> Callable[..., None]:
    """A test that needs NVRTC, but no GPU."""
    reason = "needs the hw extra: pip install 'asyncsim[hw]'"
    return pytest.mark.hw(pytest.mark.skipif(not PACKAGES, reason=reason)(test))


ONE = {"setmaxnreg": 1}
TWO = {"setmaxnreg": 1, "consumers": 2, "block_m": 256}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    yield tmp_path


@pytest.mark.parametrize(("params", "counts"), [(ONE, (128, 216)), (TWO, (168, 232))])
def test_text(params: dict[str, int], counts: tuple[int, int]) -> None:
    text = kernel_text(render(ws_gemm.build(params)))
    assert text.startswith(f'extern "C" __global__ void __maxnreg__({counts[0]}) asyncsim_ws_gemm(')
    found = re.findall(r'asm volatile\("(setmaxnreg[^"]*)" ::: "memory"\);', text)
    assert found == [
        f"setmaxnreg.inc.sync.aligned.u32 {counts[1]};",
        "setmaxnreg.dec.sync.aligned.u32 40;",
    ]


def test_one_thread_of_a_role_leaves_with_its_loop_and_the_other_warps_at_once() -> None:
    text = kernel_text(render(ws_gemm.build(TWO)))
    producer = text[text.index("role producer") :].splitlines()
    ends = [i for i, line in enumerate(producer) if "clock_mark" in line]
    assert [producer[i].strip() for i in ends] == [
        "clock_mark(clocks, 12, 1 + warp);",
        "if (elect_one()) clock_mark(clocks, 12, 1 + warp);",
    ]
    assert producer[ends[0] + 1].strip() == "} else if (warp_in_role != 0) {"


@compiles
@pytest.mark.parametrize("variant", [Variant(), Variant(delays=True), Variant(stamps=True)])
@pytest.mark.parametrize("params", [ONE, TWO, {**TWO, "block_m": 128, "block_n": 256}], ids=str)
def test_the_launch_gets_what_is_declared(params: dict[str, int], variant: Variant) -> None:
    schedule = ws_gemm.build(params)
    r = compile_schedule(schedule, variant=variant).resources
    assert (r.registers, r.advisories) == (schedule.maxnreg, ())
    assert r.stack_bytes == r.spill_store_bytes == r.spill_load_bytes == 0


@compiles
def test_sass() -> None:
    found = re.findall(r"USETMAXREG\.(\w+)\.CTAPOOL (?:UP\d, )?(0x\w+)", sass(ws_gemm, **TWO))
    assert sorted(found) == [("DEALLOC", "0x28"), ("TRY_ALLOC", "0xe8")]


@compiles
def test_an_ignored_setmaxnreg_is_an_error() -> None:
    rendered = render(ws_gemm.build(TWO))
    source = rendered.source.replace("__maxnreg__(168) ", "")
    with pytest.raises(CompileError) as error:
        compile_rendered(replace(rendered, source=source))
    assert str(error.value) == (
        "asyncsim_ws_gemm for sm_90a: ptxas ignores setmaxnreg (C7508); fix: give each role one "
        "setmaxnreg, and the launch its registers by k.launch_bounds(..., maxnreg=)"
    )


def one_block(*, maxnreg: int, up: int) -> Schedule:
    k = ScheduleBuilder("one_block")
    k.block(4)
    k.launch_bounds(1, maxnreg=maxnreg)
    k.setmaxnreg.dec(40)
    k.bar.sync()
    k.setmaxnreg.inc(up)
    return k.finish()


@compiles
def test_a_launch_that_ptxas_makes_smaller_is_an_error() -> None:
    assert compile_schedule(one_block(maxnreg=64, up=64)).resources.registers == 64
    with pytest.raises(CompileError) as error:
        compile_schedule(one_block(maxnreg=80, up=64))
    assert str(error.value) == (
        "asyncsim_one_block for sm_90a: ptxas launches 64 registers a thread, the schedule "
        "declares 80: the pool of setmaxnreg would be another; fix: declare what ptxas gives, or "
        "let some role inc above it"
    )
