"""Bulk copies without a tensor map, red.async, prefetches and fences: evaluated against NumPy,
rendered, compiled, and on a GPU against evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.render import render
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict

FILE = str(Path(__file__).parent / "bulk_scenarios.py")
U32, I32, F32, BF16, F16, U8 = range(6)
ADD, MIN, MAX, AND, OR, XOR = range(6)
SIZES = [
    ("bulk_copy", {}),
    ("bulk_copy", {"type": U8, "width": 16, "rows": 1}),
    ("bulk_copy", {"type": BF16, "stages": 3, "ctas": 7, "width": 1032}),
    ("bulk_reduce", {}),
    ("bulk_reduce", {"type": I32, "op": MIN, "ctas": 300}),
    ("bulk_reduce", {"type": F32, "op": ADD, "rows": 1}),
    ("bulk_reduce", {"type": BF16, "op": ADD}),
    ("bulk_reduce", {"type": F16, "op": ADD, "ctas": 9}),
    ("bulk_reduce", {"type": BF16, "op": MIN}),
    ("bulk_reduce", {"type": F16, "op": MAX}),
    *(("bulk_reduce", {"op": op}) for op in (MAX, AND, OR, XOR)),
    ("all_to_all", {"cluster": 2, "width": 4}),
    ("all_to_all", {}),
    ("all_to_all", {"cluster": 8, "clusters": 3, "width": 1024}),
    *(("into_first", {"op": op}) for op in range(6)),
    *(("into_first", {"op": op, "send": 1, "cluster": 3}) for op in range(6)),
    ("into_first", {"cluster": 8, "clusters": 5, "send": 1}),
    ("bulk_multicast", {}),
    ("bulk_multicast", {"cluster": 8, "clusters": 1}),
    ("bulk_multicast", {"cluster": 4, "clusters": 5}),
    *(("prefetched", {"rank": rank}) for rank in (1, 2, 3, 4, 5)),
    ("prefetched", {"ahead": 0, "tiles": 1}),
    *(("fenced", {"scope": scope, "sc": sc}) for scope in range(3) for sc in (0, 1)),
]
ORDERS = [Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=5)]


def build(name: str, params: dict[str, int]) -> Schedule:
    return find_scenario(f"{FILE}:{name}").build(params)


def combine(op: int, parts: list[Any]) -> Any:
    """Elements of ``parts`` one after the other."""
    name = ("add", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor")[op]
    return reduce(getattr(np, name), parts)


def expected(schedule: Schedule, params: dict[str, int], source: Any) -> Any:
    """What the kernels are meant to compute, in plain NumPy."""
    size, op = schedule.cluster_ctas, params.get("op", 0)
    match schedule.name:
        case "bulk_reduce":
            parts = source.reshape(schedule.ctas, -1, 32)
            return combine(op, [np.zeros_like(parts[0]), *parts])
        case "all_to_all":
            return np.repeat(source.reshape(-1, size, source.shape[1]), size, axis=0).reshape(
                -1, source.shape[1]
            )
        case "into_first":
            parts = source.reshape(-1, size, 32)
            return np.stack([combine(op, list(part)) for part in parts])
        case "bulk_multicast":
            return np.repeat(source, size, axis=0)
        case "fenced":
            return source[:, ::-1]
        case "prefetched" if source.ndim > 2:
            # the box is at 1 in the middle dimensions, and two long in the last of them
            wanted = np.zeros_like(source)
            wanted[:, *(1,) * (source.ndim - 3), 1:] = source[:, *(1,) * (source.ndim - 3), 1:]
            return wanted
        case _:
            return source


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
@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_compiles(
    name: str, params: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    resources = compile_schedule(build(name, params)).resources
    assert resources.registers > 0 and resources.spill_store_bytes == 0


@pytest.mark.parametrize(
    ("name", "params", "texts"),
    [
        (
            "bulk_copy",
            {},
            (
                "bulk_load(smem_base + v_stage * 256 + at_ring, t_source + block_x * 448 + ",
                "far_6 = settled((void*)(t_out + block_x * 448 + v_i * 64));",
                "near_6 = settled(smem_base + v_stage * 256 + at_ring);",
                "bulk_store(far_6, near_6, 256);",
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1]",
                "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;",
            ),
        ),
        (
            "bulk_reduce",
            {"type": BF16},
            ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;",),
        ),
        (
            "bulk_reduce",
            {"type": F32},
            ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 ",),
        ),
        ("bulk_reduce", {"op": XOR}, ("bulk_group.xor.b32 ", "bulk_reduce_xor_b32(t_out + 0, ")),
        (
            "all_to_all",
            {},
            (
                "bulk_send(cluster_address(smem_base + ",
                "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
            ),
        ),
        ("into_first", {"op": MIN}, ("complete_tx::bytes.min.s32 [%0], %1, [%2];",)),
        ("into_first", {"op": AND}, ("complete_tx::bytes.and.b32 [%0], %1, [%2];",)),
        ("into_first", {"op": MAX, "send": 1}, ("complete_tx::bytes.max.s32 [%0], [%1], %2, [",)),
        ("bulk_multicast", {}, ("bulk_load_multicast(", ".multicast::cluster")),
        (
            "prefetched",
            {"rank": 3},
            (
                "cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];",
                "tma_prefetch_map(m_source_map);",
            ),
        ),
        ("prefetched", {}, ("bulk_prefetch(t_source + ",)),
        ("fenced", {}, ("fence.acq_rel.cta;",)),
        ("fenced", {"scope": 1}, ("fence.acq_rel.cluster;",)),
        ("fenced", {"scope": 2, "sc": 1}, ("fence.sc.gpu;",)),
    ],
    ids=str,
)
def test_instructions(name: str, params: dict[str, int], texts: tuple[str, ...]) -> None:
    source = render(build(name, params)).source
    assert [t for t in texts if t not in source] == []


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as owner:
        yield owner


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_data_are_right(child: Child, name: str, params: dict[str, int]) -> None:
    schedule = build(name, params)
    r = run_schedule(schedule, child=child, launches=0, verify_ctas=schedule.ctas)
    assert r.verification is not None and r.verification.ok, str(r.verification)
