"""ldmatrix, stmatrix and mma.sync: evaluated against NumPy, rendered, compiled, and on a GPU
against evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.render import kernel_text, render
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.hw.matrix_scenarios import PAIRS

FILE = str(Path(__file__).parent / "matrix_scenarios.py")
SIZES = [
    *(
        ("through_registers", {"num": num, "load_trans": load, "store_trans": store})
        for num in (1, 2, 4)
        for load in (0, 1)
        for store in (0, 1)
    ),
    ("through_registers", {"warps": 1, "swizzle": 0, "load_trans": 1}),
    *(("products", {"pair": i}) for i in range(len(PAIRS))),
    ("products", {"steps": 1, "warps": 4}),
]


def build(name: str, params: dict[str, int]) -> Schedule:
    return find_scenario(f"{FILE}:{name}").build(params)


def transposed(x: Any) -> Any:
    """Each 8x8 block as its transpose."""
    rows, columns = x.shape
    return x.reshape(rows // 8, 8, columns // 8, 8).transpose(0, 3, 2, 1).reshape(x.shape)


@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_evaluates_to_numpy_and_is_clean(name: str, params: dict[str, int]) -> None:
    schedule = build(name, params)
    inputs = make_inputs(schedule, seed=3)
    out = evaluate(schedule, inputs)["out"]
    if name == "products":
        a, b = (inputs[x].astype(np.float64) for x in "ab")
        rows = a.reshape(-1, 16, a.shape[1]), b.reshape(-1, 8, b.shape[1])
        assert np.abs(out).max() > 0
        assert (out == np.einsum("wmk,wnk->wmn", *rows).reshape(out.shape)).all()
    else:
        turns = params.get("load_trans", 0) ^ params.get("store_trans", 0)
        source = inputs["source"]
        assert (out == (transposed(source) if turns else source)).all()
        assert not turns or (out != source).any()
    assert check(schedule).verdict is Verdict.CLEAN


def test_text() -> None:
    text = kernel_text(render(build("through_registers", {"num": 2, "store_trans": 1})))
    row = "swizzled<48>(warp_in_role * 512 + (lane & 7) * 64 + ((lane >> 3) & 1) * 16)"
    assert f"ldmatrix_x2(f_blocks, smem_base + {row} + at_before);" in text
    assert f"stmatrix_x2_trans(smem_base + {row} + at_after, f_blocks);" in text
    source = render(build("products", {"pair": PAIRS.index(("u8", "i8"))})).source
    assert "mma_m16n8k32_s32_u8_s8(f_acc, f_fa, f_fb, f_acc);" in source
    assert "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 " in source


@pytest.mark.hw
@pytest.mark.skipif(find_spec("cuda") is None, reason="needs the hw extra")
@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_compiles(
    name: str, params: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    resources = compile_schedule(build(name, params)).resources
    assert resources.spill_store_bytes == 0 and resources.advisories == ()


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as c:
        yield c


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing())
@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_on_a_gpu(child: Child, name: str, params: dict[str, int]) -> None:
    r = run_schedule(build(name, params), child=child, launches=0)
    assert r.verification is not None and r.verification.ok, str(r.verification)
