"""Sustained runs, predicted and measured: ``python -m asyncsim.hw.sustained_table [--update]``.

``--update`` writes the table into docs/power.md. The kernels are simulated once for all boards.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.machine import load_machine
from asyncsim.predict.power import sustained
from asyncsim.predict.result import Prediction, Sustained
from asyncsim.sim import simulate

DATA = Path(__file__).parent / "data" / "sustained"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "power.md"  # hw is a link in the package
BEGIN, END = "<!-- sustained: begin -->\n", "<!-- sustained: end -->"
SHOWN = ("m", "seq", "causal", "block_m", "block_n", "consumers", "tiles", "ffma")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """A load: its rows by board, and what is predicted; ``gap_us`` between launches is added."""

    rows: dict[str, Row]
    predicted: Sustained
    gap_us: float

    def errors(self, board: str) -> tuple[float, float]:
        """Of time and of clock, percent."""
        row = self.rows[board]
        time = (self.predicted.time_us + self.gap_us) / row["time_us"]
        return 100 * (time - 1), 100 * (self.predicted.clock_mhz / row["clock_mhz"] - 1)


def load_rows() -> dict[str, list[Row]]:
    """The rows of each board, in one order."""
    found: dict[str, list[Row]] = {}
    for path in sorted(DATA.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        found[document["provenance"]["board"]] = document["rows"]
    return found


def compared() -> Iterator[Compared]:
    machine, boards = load_machine("h200"), load_rows()
    runs: dict[str, Prediction] = {}
    for rows in zip(*boards.values(), strict=True):
        first = rows[0]
        schedule = find_scenario(first["scenario"]).build(first["params"])

        def at(mhz: float | None, schedule: Any = schedule) -> Prediction:
            return simulate(schedule, machine, certified=True, l2="warm", clock_mhz=mhz)

        key = f"{first['scenario']} {first['params']}"
        run = runs[key] = runs.get(key) or at(None)
        found = sustained(run, machine, operands=first["operands"], cycles_at=at)
        assert found is not None
        gap = float(machine.launch.next_cycles) / found.clock_mhz
        yield Compared(dict(zip(boards, rows, strict=True)), found, gap)


def table(loads: list[Compared]) -> str:
    """As markdown, with the mean absolute errors of each board."""
    boards = list(loads[0].rows)
    of = [f"us, {b} | MHz | time | clock" for b in boards]
    lines = [
        f"| | operands | predicted us | MHz | {' | '.join(of)} |",
        "|" + " --- |" * (4 + 4 * len(boards)),
    ]
    for load in loads:
        first = next(iter(load.rows.values()))
        defaults = find_scenario(first["scenario"]).params
        told = [
            f"{n}={v}"
            for n, v in first["params"].items()
            if n in SHOWN and (n in ("m", "seq", "tiles") or v != defaults[n])
        ]
        cells = [f"`{first['scenario']}` {' '.join(told)}", first["operands"]]
        cells += [f"{load.predicted.time_us + load.gap_us:,.1f}"]
        cells += [f"{load.predicted.clock_mhz:,.0f}"]
        for board, row in load.rows.items():
            time, clock = load.errors(board)
            cells += [f"{row['time_us']:,.1f}", f"{row['clock_mhz']:,.0f}"]
            cells += [f"{time:+.1f} %", f"{clock:+.1f} %"]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    for board in boards:
        errors = [load.errors(board) for load in loads]
        lines.append(
            f"Board {board}: mean error of the time {mean(abs(t) for t, _ in errors):.1f} %, "
            f"of the clock {mean(abs(c) for _, c in errors):.1f} %."
        )
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    text = table(list(compared()))
    print(text)
    if argv == ["--update"]:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(before + BEGIN + text + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
