"""The guarded launch from the parent's side, with a fake in the place of the GPU process."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from asyncsim.errors import EnvironmentError_, ScheduleError
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.launch.child_process import LaunchFailed
from asyncsim.hw.launch.diagnosis import diagnose
from asyncsim.hw.launch.prepare import laid_out, read_output
from asyncsim.hw.launch.protocol import (
    RunReply,
    RunSpec,
    decode_reply,
    decode_spec,
    encode,
)
from asyncsim.hw.launch.timing import percentile, timing_of
from asyncsim.hw.launch.verify import (
    chosen_ctas,
    compare_elements,
    compare_outputs,
    expected_outputs,
    verify_outputs,
    written,
)
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import MbarrierWait
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.tma_reduce import tma_reduce
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm

FAKE = str(Path(__file__).parent / "fake_child.py")
needs_nvrtc = pytest.mark.skipif(
    find_spec("cuda") is None, reason="needs the hw extra: pip install 'asyncsim[hw]'"
)


def fake(*mode: str) -> Child:
    return Child((sys.executable, FAKE, *mode))


def ring(**params: int) -> Schedule:
    return tma_ring.build({"ctas": 6, "tiles": 3, "tile_bytes": 1024, **params})


def test_messages_survive_the_line(a_spec: RunSpec) -> None:
    spec = a_spec
    assert decode_spec(encode(spec)) == spec
    reply = RunReply(report=(1, 2), span_ns=(5,), clock_ghz=(1.5,), starts=((1, 2),), gpu={"a": 1})
    assert decode_reply(encode(reply)) == reply


def test_one_child_serves_many_runs(a_spec: RunSpec) -> None:
    with fake("ok") as child:
        first, second = child.run(a_spec), child.run(replace(a_spec, launches=2))
    assert first.span_ns == (1000, 1001, 1002) and second.cta_cycles == (2100, 2101)


def test_a_hanging_child_is_killed(a_spec: RunSpec) -> None:
    begin = time.monotonic()
    with fake("hang") as child, pytest.raises(LaunchFailed) as error:
        child.run(a_spec, timeout_s=0.3)
    assert time.monotonic() - begin < 10
    assert str(error.value) == (
        "the GPU process gave no answer in 0.3 s and was killed; "
        "fix: raise the limit, or look for a wait without a bound"
    )


def test_a_dying_child_is_quoted(a_spec: RunSpec) -> None:
    with fake("die") as child, pytest.raises(LaunchFailed) as error:
        child.run(a_spec)
    assert str(error.value) == "the GPU process died: terminate called after everything"


def test_a_cuda_error_ends_the_child_but_not_the_parent(a_spec: RunSpec) -> None:
    with fake("cuda_error") as child:
        for _ in range(2):  # the second run gets a new child
            with pytest.raises(LaunchFailed, match=r"^CUDAError: LAUNCH_FAILED: An exception\.$"):
                child.run(a_spec)


def test_no_gpu_is_an_environment_error(a_spec: RunSpec) -> None:
    with fake("environment") as child, pytest.raises(EnvironmentError_) as error:
        child.run(a_spec)
    assert str(error.value) == "no usable NVIDIA GPU; fix: get one"


@needs_nvrtc
def test_the_real_child_without_a_gpu(tmp_path: Path, a_spec: RunSpec) -> None:
    from asyncsim.hw.probe import what_is_missing

    if not what_is_missing():
        pytest.skip("this machine has a GPU")
    with Child() as child, pytest.raises(EnvironmentError_) as error:
        child.run(a_spec)
    assert "GPU" in str(error.value) and "fix: " in str(error.value)
    assert "\n" not in str(error.value)


def test_a_hardware_barrier_that_can_block_is_never_launched() -> None:
    with pytest.raises(ScheduleError) as error:
        run_schedule(ring(), child=fake("hang"), blocks_at_hardware_barrier=True)
    assert str(error.value) == (
        "tma_ring can block for ever at a hardware barrier: it is not launched; "
        "repair what check found first"
    )


@pytest.mark.hw
@needs_nvrtc
@pytest.mark.parametrize("ctas", [1, 6])
def test_wrong_data_is_counted_and_timed(ctas: int) -> None:
    with fake("ok") as child:
        r = run_schedule(ring(ctas=ctas), child=child, launches=5)
    assert r.verification is not None and not r.verification.ok
    n = ctas * 128
    assert str(r.verification).startswith(f"{n} of {n} elements of {ctas} of {ctas} CTAs differ: ")
    assert "result[0, 0] is 7, expected " in r.verification.first
    assert r.timing is not None and r.timing.n == 5
    # one CTA: the SM's clock; several: globaltimer times the clock
    assert r.timing.cycles == (2102 if ctas == 1 else 2004)
    assert r.timing.clock_mhz == 2000


def test_what_evaluate_cannot_run_is_not_compared() -> None:
    from asyncsim.evaluate import make_inputs

    schedule = tma_ring.build({"ctas": 1, "tiles": 3}, "producer_phase")
    v = verify_outputs(schedule, make_inputs(schedule), {}, (0,))
    assert not v.ok
    assert str(v).startswith("not compared: deadlock in CTA (0, 0, 0): consumer/0,1,2,3 waits in ")


@pytest.mark.hw
@needs_nvrtc
def test_a_launch_that_gave_up_says_where() -> None:
    schedule = tma_ring.build({})
    wait = next(
        o for o in schedule.ops() if isinstance(o, MbarrierWait) and o.mbarrier.name == "empty"
    )
    with fake("timeout", str(wait.id)) as child:
        r = run_schedule(schedule, child=child)
    assert r.timing is None and r.verification is None
    d = r.diagnosis
    assert d is not None
    assert (d.role, d.warp, d.cta, d.barrier, d.parity, d.index) == (
        "producer",
        4,
        5,
        "empty[1]",
        0,
        5,
    )
    assert d.generation == 0  # the first wait of a producer, at index 1, means generation -1
    assert str(d) == (
        f"producer (warp 4, CTA 5) waited too long at {wait.loc} for empty[1], generation 0 "
        "(parity 0), loop index 5; mbarrier state 0x0000000900000007"
    )
    assert diagnose(schedule, (0,) * 16) is None


def test_chosen_ctas_are_spread() -> None:
    assert chosen_ctas(ring(), 8) == (0, 1, 2, 3, 4, 5)
    assert chosen_ctas(tma_ring.build({}), 4) == (0, 44, 87, 131)
    assert chosen_ctas(tma_reduce.build({"ctas": 9}), 4) == tuple(range(9))  # each adds its part


def test_only_what_the_chosen_ctas_write_is_compared() -> None:
    schedule = ws_gemm.build({"m": 256, "n": 128, "k": 128, "block_n": 64})
    from asyncsim.evaluate import make_inputs

    inputs = make_inputs(schedule)
    mask = written(schedule, (1,))["c"]
    assert mask[128:, :64].all() and mask.sum() == 128 * 64
    expected = expected_outputs(schedule, inputs, (1,))
    good = {"c": np.where(mask, expected["c"], np.float32(np.nan))}
    assert str(compare_outputs(schedule, expected, good, (1,))) == (
        "8192 elements of 1 of 4 CTAs equal"
    )
    good["c"][130, 5] += 1
    bad = compare_outputs(schedule, expected, good, (1,))
    assert (bad.ok, bad.wrong) == (False, 1)
    assert bad.first.startswith("c[130, 5] is ")


def test_inputs_with_strides_of_their_own() -> None:
    """Dense, but in another order than the logical one."""
    tensor = GlobalTensor(name="t", shape=(2, 3, 2), strides=(2, 4, 1), dtype=DType.U32)
    data = np.arange(12, dtype=np.uint32).reshape(2, 3, 2)
    assert laid_out(tensor, data, 12).tolist() == [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]
    plain = GlobalTensor(name="t", shape=(2, 3, 2), strides=(6, 2, 1), dtype=DType.U32)
    assert laid_out(plain, data, 12) is data


def test_an_inexact_output_is_compared_within_its_tolerance() -> None:
    have = np.array([1.0, 3.0, np.nan, 0.0], np.float32)
    want = np.array([1.0625, 3.25, 1.0, 0.125], np.float32)
    masks = {"o": np.ones(4, bool)}
    for near, wrong in ((0.0, 4), (0.0625, 3), (0.1, 2), (0.125, 1)):
        found = compare_elements(
            masks, {"o": want}, {"o": have}, near={"o": near}, ctas=1, of_ctas=1
        )
        assert found.wrong == wrong
    assert found.first == "o[2] is nan, expected 1.0"


def test_outputs_with_strides_of_their_own(tmp_path: Path) -> None:
    tensor = GlobalTensor(name="t", shape=(2, 3), strides=(4, 1), dtype=DType.U32, output=True)
    np.arange(7, dtype=np.uint32).tofile(tmp_path / "t")
    assert read_output(tensor, str(tmp_path / "t")).tolist() == [[0, 1, 2], [4, 5, 6]]


def test_timing_statistics() -> None:
    reply = RunReply(span_ns=(100, 200, 300), cta_cycles=(1, 2, 3), clock_ghz=(1.0, 2.0, 1.0))
    t = timing_of(reply, ctas=2, l2="cold")
    assert (t.cycles, t.cycles_p10, t.cycles_p90, t.n) == (300.0, 140.0, 380.0, 3)
    assert t.time_us == 0.3 and timing_of(reply, ctas=1, l2="cold").cycles == 2.0
    assert percentile([4.0, 1.0], 50) == 2.5


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path / "cubins"))
    yield
