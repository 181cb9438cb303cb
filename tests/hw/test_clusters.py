"""Clusters: rendered, compiled, evaluated against NumPy, and on a GPU against evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.evaluate.order import Landing, Order
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.render import kernel_text, render
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict

FILE = str(Path(__file__).parent / "cluster_scenarios.py")
SIZES = [
    ("neighbours", {"cluster": 2}),
    ("neighbours", {"cluster": 8, "relaxed": 1}),
    ("mailbox", {"cluster": 2, "clusters": 5}),
    ("mailbox", {"cluster": 8}),
    ("multicast_ring", {"cluster": 2, "stages": 3}),
    ("multicast_ring", {"cluster": 4, "clusters": 3, "narrow": 1}),
    ("multicast_ring", {"cluster": 2, "stages": 1, "tiles": 1}),
    *(("reduce_all", {"op": op}) for op in range(6)),
]
ORDERS = [Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=5)]


def build(name: str, params: dict[str, int]) -> Schedule:
    return find_scenario(f"{FILE}:{name}").build(params)


def expected(schedule: Schedule, params: dict[str, int], source: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """What the kernels are meant to compute, in plain NumPy."""
    size = schedule.cluster_ctas
    match schedule.name:
        case "neighbours":
            cells = source.reshape(-1, size, 64)
            before = np.roll(cells, 1, axis=1)
            return (before + cells.sum(1, keepdims=True, dtype=np.uint32)).reshape(-1, 64)
        case "mailbox":
            cells = source.reshape(-1, size, 128)
            return cells.sum(1, dtype=np.uint32)[:, :32]
        case "multicast_ring":
            rows, clusters = 8 * size, schedule.ctas // size
            tiles = source.reshape(clusters, -1, rows, 32)[:, :, rows - 1]
            total = source[0] + tiles.sum(1, dtype=np.uint32)
            return np.repeat(total, size, axis=0)
        case _:
            name = ("add", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor")
            combine = getattr(np, name[params["op"]])
            parts = [np.zeros((8, 32), np.uint32), *source.reshape(-1, 8, 32)]
            return reduce(combine, parts)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_evaluate_computes_what_is_meant(name: str, params: dict[str, int]) -> None:
    schedule = build(name, params)
    assert check(schedule).verdict is Verdict.CLEAN
    inputs = make_inputs(schedule, seed=3)
    wanted = expected(schedule, params, inputs["source"])
    for order in ORDERS:
        assert np.array_equal(evaluate(schedule, inputs, order=order)["out"], wanted)


@pytest.mark.hw
@pytest.mark.skipif(find_spec("cuda") is None, reason="needs the hw extra")
@pytest.mark.parametrize(("name", "params"), SIZES[1::2], ids=str)
def test_compiles(
    name: str, params: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    resources = compile_schedule(build(name, params)).resources
    assert resources.registers > 0 and resources.spill_store_bytes == 0


def test_instructions() -> None:
    def text(name: str, **params: int) -> str:
        return render(build(name, params)).source

    assert "__cluster_dims__(4, 1, 1)" in text("neighbours")
    assert "cluster_pointer((u32*)(smem + " in text("neighbours")
    assert "barrier.cluster.arrive.relaxed.aligned;" in text("neighbours", relaxed=1)
    assert "barrier.cluster.arrive.release.aligned;" in text("neighbours")
    assert "st_async<u32>(cluster_address(smem_base + " in text("mailbox")
    assert "ParityAcquireCluster{(u32)(0)}" in text("mailbox")
    ring = text("multicast_ring")
    assert "tma_load_multicast_2d(" in ring and ".multicast::cluster [%0]" in ring
    assert "mbarrier.arrive.release.cluster.shared::cluster.b64" in ring
    assert "mbarrier.arrive.release.cta.shared::cluster.b64" in text("multicast_ring", narrow=1)
    assert "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile" in text("reduce_all", op=2)
    plain = kernel_text(render(find_scenario("tma_ring").build({})))
    assert "cta_rank" not in plain and "__cluster_dims__" not in plain


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as owner:
        yield owner


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_data_are_right(child: Child, name: str, params: dict[str, int]) -> None:
    schedule = build(name, params)
    for launches in (0, 20):
        r = run_schedule(schedule, child=child, launches=launches, verify_ctas=schedule.ctas)
        assert r.verification is not None and r.verification.ok, str(r.verification)
