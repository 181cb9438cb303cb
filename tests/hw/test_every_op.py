"""Every op of the union is rendered, compiles, and computes what evaluate says (on a GPU)."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.render import kernel_text, render
from asyncsim.ir.op import Op
from asyncsim.predict.result import Verdict
from asyncsim.scenarios.ws_gemm import ws_gemm
from tests.check.tcgen05_schedules import gemm
from tests.evaluate.tcgen05_schedules import moves, through_registers
from tests.hw.program_scenarios import pair
from tests.tile_schedules import cancelled, counted

CLUSTERS = Path(__file__).parent / "cluster_scenarios.py"
BULK = Path(__file__).parent / "bulk_scenarios.py"
MATRICES = Path(__file__).parent / "matrix_scenarios.py"
MAPS = Path(__file__).parent / "map_scenarios.py"
TENSOR_MEMORY = (gemm(), moves("128x256b", 128, 32, shift=True), through_registers())
ZOO = find_scenario(str(Path(__file__).parent / "zoo_scenario.py"))


def test_every_op_is_rendered() -> None:
    names = [f"{CLUSTERS}:neighbours", f"{CLUSTERS}:mailbox"]
    names += [f"{BULK}:{n}" for n in ("bulk_copy", "all_to_all", "into_first", "prefetched")]
    names += [f"{BULK}:fenced", f"{MAPS}:moving"]
    names += [f"{MATRICES}:through_registers", f"{MATRICES}:products"]
    others = [find_scenario(name).build({}) for name in names]
    schedules = [ZOO.build({}), ws_gemm.build({}), *others, *TENSOR_MEMORY, *pair().kernels]
    schedules += [counted(3), cancelled(3), cancelled(3, peers=2)]
    used = {type(op) for s in schedules for op in s.ops()}
    assert {c.__name__ for c in used} == {c.__name__ for c in get_args(Op)}
    for s in schedules:
        text = kernel_text(render(s, s.archs[0]))
        assert all(f"// #{op.id} {type(op).__name__} " in text for op in s.ops())


def test_swizzle_vectors_and_strides() -> None:
    text = kernel_text(render(ZOO.build({})))
    place = "(float*)(smem + swizzled<112>(thread_in_role * 128 + v_i * 16) + at_tile)"
    assert f"store_vector({place}, f_wide[0], f_wide[1], f_wide[2], f_wide[3]);" in text
    assert "load_vector(t_halves + " in text and "f_short[0], f_short[1], f_short[2]" in text
    assert "cp_async<4>(" in text and "cp_async<8>(" in text
    assert re.search(r"mbar_expect_tx\(smem_base \+ \(v_i\w* & 1\) \* 8 \+ at_full, 256\);", text)
    assert 'asm volatile("bar.arrive 3, 128;"' in text and 'asm volatile("bar.sync 3, 128;"' in text
    assert "bulk_wait_read<0>();" in text and "mbar_inval(" in text


@pytest.mark.hw
@pytest.mark.skipif(find_spec("cuda") is None, reason="needs the hw extra")
def test_zoo_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    assert compile_schedule(ZOO.build({})).resources.registers > 0


def test_zoo_is_what_it_says() -> None:
    """The host's result, so that a GPU is compared with something that has been looked at."""
    schedule = ZOO.build({"turns": 3})
    assert check(schedule).verdict is Verdict.CLEAN
    inputs = make_inputs(schedule)
    outputs = evaluate(schedule, inputs)
    words = inputs["words"]
    expected = words.copy()
    expected.reshape(-1, 8, 4)[:, :, 1:3] *= 3
    assert (outputs["out"] == expected).all()
    assert (outputs["copied"] == inputs["cube"]).all()
    assert (outputs["padded"][:, 0:2] == words[:, 0:2]).all()
    assert (outputs["padded"][:, 2:4] == 0).all() and (outputs["padded"][0::2, 6] == 0).all()
    assert (outputs["padded"][1::2, 4:7] == words[1::2, 4:7]).all()
    assert (outputs["scaled"] == expected[:, 8:12]).all()
