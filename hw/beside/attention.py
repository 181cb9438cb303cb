"""The public table of FlashAttention-3 on an H100, beside what predict says of `flash_attention`.

Nothing is fitted to it: the H100's machine file holds published numbers, and those of the H200
where none is published.  Our schedule takes the tiles of FlashAttention-3 and its warpgroups; what
differs is listed in docs/accuracy.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.hw.store import FOLDER
from asyncsim.machine import Machine, load_machine

PUBLISHED = FOLDER.parent / "beside" / "published.json"
STORED = FOLDER.parent / "beside" / "attention.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A row of the table: sizes, the measured time, and what its authors' simulator says."""

    batch: int
    seq: int
    heads: int
    hdim: int
    causal: int
    measured_us: float
    theirs_us: float

    @property
    def params(self) -> dict[str, int]:
        """Of `flash_attention`: FlashAttention-3's tiles (hopper/tile_size.h), three warpgroups for
        heads of 128, four for heads of 64. Its batches are more heads to ours."""
        wide = {64: 192, 128: 176}[self.hdim]
        return {
            "seq": self.seq,
            "heads": self.batch * self.heads,
            "hdim": self.hdim,
            "causal": self.causal,
            "block_n": 128 if self.causal else wide,
            "consumers": 3 if self.hdim == 64 else 2,
            "f16": 1,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What check and simulate say of a case. ``tensor``: how busy the tensor cores are, 0 to 1."""

    cycles: float
    clean: bool
    bound_by: str
    ctas: int
    waves: float
    tensor: float


def published(path: Path = PUBLISHED) -> Any:
    """The published rows and figures, each with its source."""
    return json.loads(path.read_text(encoding="utf-8"))


def cases() -> tuple[Case, ...]:
    """The rows of the table, in its order."""
    table = published()["attention"]
    return tuple(Case(**dict(zip(table["columns"], row, strict=True))) for row in table["rows"])


def at_clock(machine: Machine, mhz: int) -> Machine:
    """The machine with its SMs at another clock than its boost: DRAM keeps its time."""
    by = Fraction(machine.clock.boost_mhz) / mhz
    dram, gst = machine.dram, machine.gst
    return replace(
        machine,
        dram=replace(
            dram,
            read_bytes_per_cycle=dram.read_bytes_per_cycle * by,
            write_bytes_per_cycle=dram.write_bytes_per_cycle * by,
        ),
        gst=replace(gst, device_bytes_per_cycle=gst.device_bytes_per_cycle * by),
    )


def table_machine() -> Machine:
    """The H100 at the clock of the table."""
    return at_clock(load_machine("h100"), published()["attention"]["clock_mhz"])


def answer(case: Case) -> Answer:
    """Simulate one case with the licence of a proof: seconds, a minute for long sequences.

    The proof is of one head, which stands for all: they run the same on data of their own.
    """
    from asyncsim.check import check
    from asyncsim.sim import simulate

    scenario = find_scenario("flash_attention")
    params = {**scenario.params, **case.params}
    certified = check(scenario.build({**params, "heads": 1})).certified
    schedule = scenario.build(params)
    p = simulate(schedule, table_machine(), certified=certified, l2="cold")
    return Answer(
        cycles=round(p.cycles, 2),
        clean=certified,
        bound_by=p.bound_by,
        ctas=schedule.ctas,
        waves=round(p.occupancy.waves, 2),
        tensor=round(p.engines["tensor core"], 3),
    )


def answers() -> tuple[Answer, ...]:
    """Every case anew, in as many processes as there are cores: minutes."""
    longest_first = sorted(cases(), key=lambda case: -case.seq)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = dict(zip(longest_first, pool.map(answer, longest_first), strict=True))
    return tuple(found[case] for case in cases())


def text_of(found: Iterable[Answer]) -> str:
    """The stored form: one case a line, in the order of the table."""
    lines = ",\n".join(f"  {json.dumps(asdict(a))}" for a in found)
    return f'{{"schema": 1, "machine": "h100", "rows": [\n{lines}\n]}}\n'


def load_answers(path: Path = STORED) -> tuple[Answer, ...]:
    """What was stored, in the order of the table."""
    rows: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return tuple(Answer(**row) for row in rows)
