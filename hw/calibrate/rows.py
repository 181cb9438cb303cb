"""Look-up of raw rows by benchmark and parameters.  See docs/machine.md."""

__all__ = ["MOVES", "MissingRowError", "Rows", "Used", "standard_error"]

from math import sqrt
from typing import Any

Row = dict[str, Any]
_TENTHS = 2.563  # standard deviations from the 10th to the 90th percentile
_MEDIAN = 1.2533  # how much less than a mean a median says
_CLOCK = 0.0005  # of a value: what the reading of clocks and the code around it leave open


class MissingRowError(LookupError):
    """No row of that benchmark with those parameters."""


class Rows:
    """The rows of one raw file.

    `counted` says which style of wait the machine file shall describe: 1 bounded by tries, 0 by the
    clock; it is the parameter of that name of the loop benchmarks.
    """

    def __init__(self, rows: list[Row], counted: int = 1) -> None:
        self.counted = counted
        self._by_bench: dict[str, list[Row]] = {}
        for row in rows:
            if "error" not in row:
                self._by_bench.setdefault(row["bench"], []).append(row)

    def row(self, bench: str, metric: str = "cycles", **params: int | str) -> Row:
        """The first row with that metric and at least those parameters."""
        for row in self._by_bench.get(bench, []):
            if row["metric"] == metric and params.items() <= row["params"].items():
                return row
        raise MissingRowError(f"{bench} {metric} {params}")

    def all(self, bench: str) -> list[Row]:
        """Every row of a benchmark."""
        return list(self._by_bench.get(bench, []))

    def median(self, bench: str, metric: str = "cycles", **params: int | str) -> float:
        value: float = self.row(bench, metric, **params)["median"]
        return value

    def half_spread(self, bench: str, metric: str = "cycles", **params: int | str) -> float:
        """Half the distance from the 10th to the 90th percentile."""
        row = self.row(bench, metric, **params)
        value: float = (row["p90"] - row["p10"]) / 2
        return value

    def slope(self, bench: str, key: str, low: int, high: int, **params: int | str) -> float:
        """Cycles for one more unit of `key`, between two values of it."""
        ends = [{**params, key: value} for value in (low, high)]
        first, last = (self.row(bench, "cycles", **end)["median"] for end in ends)
        slope: float = (last - first) / (high - low)
        return slope


def standard_error(row: Row) -> float:
    """Of the row's median, from the spread of its samples; never 0."""
    spread = (row["p90"] - row["p10"]) / _TENTHS
    sampled = _MEDIAN * spread / sqrt(max(row["n"], 1))
    return float(max(sampled, _CLOCK * abs(row["median"]), 1e-6))


class Used(Rows):
    """The same rows, noting which are asked for; one of them may be moved by its standard error.

    So a rule tells what it rests on, and how far the error of each row moves its number.
    """

    def __init__(self, rows: list[Row], counted: int = 1) -> None:
        super().__init__(rows, counted)
        self.used: dict[int, Row] = {}
        self.moved: tuple[int, Move] | None = None

    def row(self, bench: str, metric: str = "cycles", **params: int | str) -> Row:
        """The row, or a copy of it that is moved."""
        row = super().row(bench, metric, **params)
        self.used[id(row)] = row
        if self.moved is None or id(row) != self.moved[0]:
            return row
        error = standard_error(row)
        moved = {name: row[name] + by * error for name, by in self.moved[1].items()}
        if "median" in moved and "series" in row:
            moved["series"] = [value + error for value in row["series"]]
        return row | moved


Move = dict[str, float]
MOVES: tuple[Move, ...] = ({"median": 1.0}, {"p10": -1.36, "p90": 1.36})
"""Independent errors of a row, in standard errors of its median: of the middle and of the width."""
