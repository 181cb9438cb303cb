"""docs/accuracy.md: made from what is stored; the other predictors, asked exactly."""

from __future__ import annotations

import sys
from fractions import Fraction
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.errors import UsageError
from asyncsim.hw.beside import attention, fp8, heuristics
from asyncsim.hw.beside.heuristics import Asked, asked, estimate_us, load_estimates
from asyncsim.hw.beside.page import PAGE, PICTURE, Facts, with_tables
from asyncsim.hw.beside.picture import drawing
from asyncsim.hw.beside.roofline import Gemm, gemm, roofline_cycles
from asyncsim.hw.beside.rows import PREDICTORS, beside, stored_comparison_rows
from asyncsim.hw.compare import ComparedRow
from asyncsim.machine import load_machine

STALE = "run python -m asyncsim.hw.beside"


def built(scenario: str, **given: int) -> tuple[Any, dict[str, int]]:
    found = find_scenario(scenario)
    params = {**found.params, **given}
    return found.build(params), params


# -- the page -------------------------------------------------------------------------------------


def test_page_and_picture_are_what_is_stored() -> None:
    facts = Facts()
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables(text, facts) == text, STALE
    assert PICTURE.read_text(encoding="utf-8") == drawing(facts.beside), STALE


def test_a_page_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError) as error:
        with_tables("# Accuracy\n")
    assert str(error.value) == "docs/accuracy.md: 0 marks goals; need one"


# -- the roofline ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "given", "problem", "cycles"),
    [
        # 4096 FLOP a cycle on each of 132 SMs
        (
            "ws_gemm",
            {},
            Gemm(flop=2 * 4096**3, bytes=2**27, operand_bytes=2, result_bytes=4),
            Fraction(2 * 4096**3, 4096 * 132),
        ),
        # one CTA: one SM
        (
            "ws_gemm",
            {"m": 128, "n": 128, "k": 4096},
            Gemm(flop=2**27, bytes=2**21 + 2**16, operand_bytes=2, result_bytes=4),
            Fraction(2**27, 4096),
        ),
        # few products: 2342 bytes a cycle of DRAM
        (
            "ws_gemm",
            {"k": 64},
            Gemm(flop=2**31, bytes=2**20 + 2**26, operand_bytes=2, result_bytes=4),
            Fraction(2**20 + 2**26, 2342),
        ),
        # 4 x 32 FFMA in 1.006 cycles
        (
            "sgemm_cp_async",
            {},
            Gemm(flop=2**37, bytes=3 * 2**26, operand_bytes=4, result_bytes=4),
            Fraction(2**37, 132 * 256) * Fraction("1.006"),
        ),
        # 4 x m16n8k16 in 6.02 cycles
        (
            "mma_gemm",
            {},
            Gemm(flop=2**37, bytes=2**27, operand_bytes=2, result_bytes=4),
            Fraction(2**37, 132 * 4 * 4096) * Fraction("6.02"),
        ),
        # the groups have 2048 to 1448 rows of results, and four B
        (
            "grouped_gemm",
            {},
            Gemm(
                flop=2 * 6992 * 4096 * 4096,
                bytes=2 * 4096 * (2 * 6992 + 16384),
                operand_bytes=2,
                result_bytes=2,
            ),
            Fraction(2 * 6992 * 4096, 132),
        ),
    ],
)
def test_roofline(scenario: str, given: dict[str, int], problem: Gemm, cycles: Fraction) -> None:
    schedule, params = built(scenario, **given)
    assert gemm(schedule, params) == problem
    machine = load_machine("h200")
    assert roofline_cycles(schedule, problem, machine) == pytest.approx(float(cycles), rel=1e-12)


def test_no_roofline_without_a_product() -> None:
    assert gemm(*built("tma_ring")) is None


# -- nvMatmulHeuristics ---------------------------------------------------------------------------

WS = Asked(
    target="CUTLASS3",
    precision="TSS",
    mnk=(4096, 4096, 4096),
    tile=(128, 128),
    instruction=(64, 8, 16),
    cluster=(1, 1),
    split=1,
)


def test_what_it_is_asked() -> None:
    assert asked(*built("ws_gemm")) == WS
    clusters = asked(*built("multicast_gemm"))
    assert clusters is not None
    assert (clusters.precision, clusters.tile, clusters.cluster) == ("TST", (128, 256), (2, 1))
    bytes_ = asked(*built("fp8_gemm"))
    assert bytes_ is not None
    assert (bytes_.precision, bytes_.instruction) == ("QQTST", (64, 8, 32))
    pairs = [asked(*built(name)) for name in ("mma_gemm", "sgemm_cp_async")]
    assert [(p.target, p.precision, p.tile, p.instruction) for p in pairs if p] == [
        ("CUTLASS", "TSS", (128, 128), (16, 8, 16)),
        ("CUTLASS", "SSS", (128, 128), (1, 1, 1)),
    ]
    split = asked(*built("split_k"))
    assert split is not None and split.split == 16


def test_what_it_cannot_be_asked() -> None:
    assert asked(*built("grouped_gemm")) is None
    assert asked(*built("cooperative_gemm", ctas=60)) is None
    assert asked(*built("flash_attention")) is None


def test_it_is_asked_through_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = SimpleNamespace(cta=[0] * 3, warp=[0] * 3, instr=[0] * 3, cluster=[0] * 2)
    seen: list[Any] = []

    class Model:
        handle, hardware_descriptor = "handle", "h200"

        def __init__(self, backend: int, gpu: int) -> None:
            seen.append((backend, gpu))

        def loadInternalDiscoverySet(self, layout: int, precision: str) -> None:
            seen.append((layout, precision))

        def makeNvMatmulHeuristicsProblem(self, m: int, n: int, k: int, layout: int) -> Any:
            seen.append((m, n, k))
            return heuristics.ctypes.c_int(0)

        def nvmmhKernelConfiguration(self) -> Any:
            return kernel

        def nvMatmulHeuristicsEstimateRuntime(self, *given: Any) -> float:
            seen.append((given[0], given[1], given[5]))
            return 2e-4

    fake: Any = ModuleType("nvMatmulHeuristics")
    fake.NvMatmulHeuristicsTarget = {"CUTLASS3": 4}
    fake.NvMatmulHeuristicsMatmulLayout = SimpleNamespace(NT_ROW_MAJOR=1)
    fake.NvMatmulHeuristicsNvidiaGpu = {"H200_SXM": 9003}
    fake.NvMatmulHeuristicsInterfaceEx = Model
    monkeypatch.setitem(sys.modules, "nvMatmulHeuristics", fake)
    monkeypatch.setattr(heuristics.ctypes, "byref", lambda thing: thing)
    assert estimate_us(WS) == pytest.approx(200.0)
    assert seen == [(4, 9003), (1, "TSS"), (4096, 4096, 4096), ("handle", b"TSS", "h200")]
    assert (kernel.cta, kernel.warp, kernel.instr) == ([128, 128, 64], [64, 64, 64], [64, 8, 16])
    assert (kernel.cluster, kernel.splitK) == ([1, 1], 1)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvMatmulHeuristics", None)
    with pytest.raises(UsageError) as error:
        estimate_us(WS)
    assert str(error.value) == (
        "nvidia-matmul-heuristics is not installed; pip install 'asyncsim[beside]'"
    )


def test_what_is_stored_of_it() -> None:
    """Estimates of a version that is named, each of a stored row that can be asked."""
    stored = load_estimates()
    assert stored.version == "0.1.0.27"
    rows = {r.key: r for r in stored_comparison_rows()}
    assert set(stored.us) <= set(rows) and len(stored.us) >= 118
    kinds = {(r.scenario, r.params.get("cluster_m")): r for k, r in rows.items() if k in stored.us}
    assert all(asked(*built(r.scenario, **r.params)) for r in kinds.values())
    assert stored.us[_default("ws_gemm")] == 193.3596


def _default(scenario: str) -> Any:
    return scenario, tuple(sorted(find_scenario(scenario).params.items())), "cold"


def test_times_are_held_against_times() -> None:
    """200 cycles in 10 us; an estimate of 12 us is 20 % too long."""
    params = find_scenario("ws_gemm").params
    r = ComparedRow(
        scenario="ws_gemm",
        params=params,
        l2="cold",
        boards=1,
        measured=200.0,
        time_us=10.0,
        spread_pct=1.0,
        predicted=210.0,
    )
    by = beside([r], {r.key: 12.0}, load_machine("h200"))
    assert tuple(by) == PREDICTORS
    errors = [by[name][0].error_pct for name in PREDICTORS]
    assert errors[:2] == [5.0, pytest.approx(20.0)]
    assert beside([r], {}, load_machine("h200"))["asyncsim"] == ()


# -- attention and 8-bit GEMM ---------------------------------------------------------------------


def test_attention_takes_the_tiles_of_flashattention_3() -> None:
    kinds = {(c.hdim, c.causal): (c.params["block_n"], c.params["consumers"]) for c in _cases()}
    assert kinds == {(64, 0): (192, 3), (64, 1): (128, 3), (128, 0): (176, 2), (128, 1): (128, 2)}
    first = _cases()[0].params
    assert (first["seq"], first["heads"], first["f16"]) == (512, 512, 1)


def _cases() -> tuple[attention.Case, ...]:
    return attention.cases()


def test_their_own_error_is_what_their_rows_give() -> None:
    """20 large cases: mean 5.26 %, at most 8.58 %, as the table of claims has it."""
    large = [c for c in _cases() if c.batch * c.seq > 16 * 512]
    errors = [100 * abs(c.theirs_us / c.measured_us - 1) for c in large]
    claim = attention.published()["claims"][0]
    mean = round(sum(errors) / len(errors), 2)
    assert (len(errors), mean, round(max(errors), 2)) == (20, 5.26, 8.58)
    assert (claim["mean_pct"], claim["max_pct"]) == (5.26, 8.58)


def test_dram_keeps_its_time_at_another_clock() -> None:
    h100 = load_machine("h100")
    slow = attention.at_clock(h100, 1500)
    assert slow.dram.read_bytes_per_cycle == h100.dram.read_bytes_per_cycle * Fraction(1980, 1500)
    assert slow.l2 == h100.l2 and slow.tma == h100.tma


def test_answers_are_those_of_the_model() -> None:
    """The cheapest case, within 1 %: the others were computed with it."""
    stored = attention.load_answers()
    assert len(stored) == len(_cases()) and all(a.clean for a in stored)
    at = next(i for i, c in enumerate(_cases()) if (c.hdim, c.causal, c.batch) == (128, 0, 16))
    now = attention.answer(_cases()[at])
    assert now.cycles == pytest.approx(stored[at].cycles, rel=0.01), f"{STALE} --update"
    assert (now.ctas, now.waves, now.clean) == (1024, 7.76, True)


def test_every_8_bit_row_has_a_time() -> None:
    assert len(fp8.load_times()) == len(fp8.measured())
