"""The tables in docs/blackwell.md: published figures of the B200 beside what is predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import TICKS_PER_CYCLE, load_machine
from asyncsim.scenarios.bw_gemm import bw_gemm
from asyncsim.scenarios.bw_gemm_2cta import bw_gemm_2cta
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.sim import simulate
from asyncsim.sim.do_tcgen05 import completion
from asyncsim.sim.numbers import Numbers
from tests.docs.blackwell_features import FEATURES
from tests.docs.nodes import link
from tests.docs.pages import ROOT
from tests.sim.test_tcgen05 import COMPLETIONS, instruction

BLACKWELL_PAGE = ROOT / "docs" / "blackwell.md"
MARK, TESTS_MARK, END = "<!-- predicted -->\n", "<!-- tests -->\n", "<!-- end -->\n"

# Cycles an instruction with a commit and a wait after each ``depth``, A in tensor memory, m = 128.
CHAINS = {
    256: {1: 243, 2: 186, 3: 166, 4: 157, 5: 151, 10: 140},
    128: {1: 180, 2: 122, 3: 103, 4: 93, 5: 87},
    64: {1: 152, 2: 90, 3: 70, 4: 61, 5: 55},
}
# Cycles a box of a loop that streams HBM on every SM, by bytes and stages.
BOXES = {
    512: {1: 900, 2: 467, 4: 257},
    1024: {1: 927, 2: 483, 4: 270},
    2048: {1: 968, 2: 508, 4: 282},
    4096: {1: 1038, 2: 546, 4: 314},
    8192: {1: 1258, 2: 663, 4: 406},
    16384: {1: 1405, 2: 826, 4: 659},
    32768: {1: 1757, 2: 1328, 4: 1364},
    65536: {1: 2698, 2: 2671},
}
PEAK_TFLOPS = 2250  # bf16, dense: NVIDIA B200 datasheet
LADDER = {"m": 4096, "n": 8192, "k": 4096}
CUBE = {"m": 4096, "n": 4096, "k": 4096}


@dataclass(frozen=True, slots=True)
class Row:
    """``text``: what; ``published`` and ``predicted`` in the same unit."""

    text: str
    published: float
    predicted: float

    @property
    def error(self) -> float:
        """In percent of what is published."""
        return 100 * (self.predicted / self.published - 1)


def chain(depth: int, n: int, *, rounds: int = 64) -> Schedule:
    """Rounds of ``depth`` instructions, a commit, and its wait by the issuing thread."""
    k = ScheduleBuilder("chain", archs=("sm_100a",))
    b = k.smem_tile("b", (n, 64), "bf16", swizzle=128)
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=n, address=word)
    a = k.tmem_tile("a", columns=32, dtype="bf16", address=word, column=256)
    done = k.mbarriers("done", count=1)
    last = k.mbarriers("last", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(done, last)
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 512)
    k.bar.sync()
    with k.specialize():
        with k.role("other", warps=1):
            k.mbarrier.wait(last[0], 0)
            k.tcgen05.dealloc(word[0], 512)
        with k.role("issuer", warps=1), k.elect():
            with k.loop(rounds) as i:
                for j in range(depth):
                    k.tcgen05.mma(
                        acc[0],
                        a[0].box((0, j % 4 * 8), (128, 8)),
                        b[0].box((0, j % 4 * 16), (n, 16)),
                    )
                k.tcgen05.commit(done[0])
                k.mbarrier.wait(done[0], i & 1)
            k.tcgen05.commit(last[0])
    return k.finish()


def _cycles(schedule: Schedule) -> float:
    return simulate(schedule, load_machine("b200"), certified=True).cycles


def _microseconds(schedule: Schedule) -> float:
    """At the clock of long tensor load, which repeated runs have."""
    machine = load_machine("b200")
    clock = float(machine.clock.tensor_sustained_mhz)
    return simulate(schedule, machine, certified=True, clock_mhz=clock).time_us


def chain_rows() -> Iterator[Row]:
    for n, by_depth in CHAINS.items():
        for depth, published in by_depth.items():
            more = _cycles(chain(depth, n, rounds=96)) - _cycles(chain(depth, n, rounds=32))
            yield Row(f"m128n{n}, commit and wait every {depth}", published, more / (64 * depth))


def completion_rows() -> Iterator[Row]:
    """One instruction alone: from its issue until the wait for its commit returns."""
    for (m, group, in_tensor_memory), by_n in COMPLETIONS.items():
        source = "tensor" if in_tensor_memory else "shared"
        for n, published in by_n.items():
            op = instruction(m, n, group, in_tensor_memory)
            predicted = completion(Numbers(load_machine("b200")), op) / TICKS_PER_CYCLE
            ctas = "a pair of CTAs" if group == 2 else "one CTA"
            yield Row(f"m{m}n{n}, {ctas}, A in {source} memory", published, predicted)


def box_rows() -> Iterator[Row]:
    for size, by_stages in BOXES.items():
        for stages, published in by_stages.items():
            params = {"tile_bytes": size, "stages": stages, "ctas": 148, "ffma": 0}
            few, many = (tma_ring.build({**params, "tiles": tiles}) for tiles in (32, 96))
            predicted = (_cycles(many) - _cycles(few)) / 64
            yield Row(
                f"{size / 1024:g} KB, {stages} stage{'s' * (stages > 1)}", published, predicted
            )


def gemm_rows() -> Iterator[Row]:
    """The steps of a tutorial as far as the scenarios say them, in percent of the peak."""
    one = {**LADDER, "ctas": 0, "slots": 1, "band": 1, "block_n": 128}
    pairs = {**LADDER, "band": 1}
    steps = (
        ("tiled epilogue", 55.8, bw_gemm, one),
        ("CTA pairs", 59.4, bw_gemm_2cta, {**pairs, "ctas": 0, "slots": 1}),
        ("persistent", 61.5, bw_gemm_2cta, {**pairs, "slots": 1}),
        ("epilogue under the next tile", 63.4, bw_gemm_2cta, pairs),
        ("raster order", 69.4, bw_gemm_2cta, {**pairs, "band": 8}),
    )
    flop = 2 * LADDER["m"] * LADDER["n"] * LADDER["k"]
    for text, published, scenario, params in steps:
        used = _microseconds(scenario.build(params))
        yield Row(f"{text}, % of peak", published, 100 * flop / used / 1e6 / PEAK_TFLOPS)
    yield Row("4096^3 with ReLU, us", 92.6, _microseconds(bw_gemm_2cta.build(CUBE)))


@cache
def made(rows: Callable[[], Iterator[Row]]) -> tuple[Row, ...]:
    """The rows of a table, simulated once."""
    return tuple(rows())


def table(rows: tuple[Row, ...]) -> str:
    lines = ["| | published | predicted | difference |", "| --- | --- | --- | --- |"]
    for row in rows:
        figures = f"{row.published:g} | {row.predicted:.1f} | {row.error:+.0f} %"
        lines.append(f"| {row.text} | {figures} |")
    return "\n".join(lines) + "\n"


def with_figures(text: str) -> str:
    """The page with its tables made anew, in order."""
    parts = text.split(MARK)
    tables = (completion_rows, chain_rows, box_rows, gemm_rows)
    page = [_with_tests(parts[0])]
    for rows, part in zip(tables, parts[1:], strict=True):
        page.append(f"{MARK}{table(made(rows))}{END}{part.split(END, 1)[1]}")
    return "".join(page)


def _with_tests(text: str) -> str:
    before, rest = text.split(TESTS_MARK)
    lines = ["| | tests |", "| --- | --- |"]
    for feature, nodes in FEATURES.items():
        links = ", ".join(link(node, BLACKWELL_PAGE) for node in nodes)
        lines.append(f"| {feature} | {links} |")
    return f"{before}{TESTS_MARK}" + "\n".join(lines) + f"\n{END}{rest.split(END, 1)[1]}"
