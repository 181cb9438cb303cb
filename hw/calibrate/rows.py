"""Look-up of raw rows by benchmark and parameters.  See docs/machine.md."""

__all__ = ["MissingRowError", "Rows"]

from typing import Any


class MissingRowError(LookupError):
    """No row of that benchmark with those parameters."""


class Rows:
    """The rows of one raw file.

    `counted` says which style of wait the machine file shall describe: 1 bounded by tries, 0 by the
    clock; it is the parameter of that name of the loop benchmarks.
    """

    def __init__(self, rows: list[dict[str, Any]], counted: int = 1) -> None:
        self.counted = counted
        self._by_bench: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            if "error" not in row:
                self._by_bench.setdefault(row["bench"], []).append(row)

    def row(self, bench: str, metric: str = "cycles", **params: int | str) -> dict[str, Any]:
        """The first row with that metric and at least those parameters."""
        for row in self._by_bench.get(bench, []):
            if row["metric"] == metric and params.items() <= row["params"].items():
                return row
        raise MissingRowError(f"{bench} {metric} {params}")

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
