"""What the laws of power have to meet: watts and clocks of long runs.  See docs/power.md."""

__all__ = ["COLUMNS", "drawn", "held", "peaks"]

from collections.abc import Callable, Iterator

import numpy as np

from .points import SMS, Params, Point
from .rows import Row, Rows

KB = 1024
COLUMNS = (
    *("mhz", "awake", "f16", "f8", "tf32", "f16_zeros", "f8_zeros", "mma", "smem", "smem_zeros"),
    *("fill", "l2", "moved_zeros", "dram", "dram_zeros", "store", "dram_write"),
    *("ffma", "alu", "mufu"),
)
"""Of a point's x: the clock in MHz, the share of the SMs that are awake, and for each of the others
how many million million of them happen in a second."""

_K = {"bf16": 16, "e4m3": 32, "tf32": 8}
_KIND = {"bf16": "f16", "e4m3": "f8", "tf32": "tf32"}
_SHARED = 16.5  # SMs of a GPC, whose loads of the same lines are fetched once
_POWER_CAP = 4  # NVML's bit
_OWN_ERROR = 0.01  # of a reading: meters, and the temperature that a load has reached
_HEURISTIC = 40.0  # watts: how far a rule of the firmware's that nobody has written down may be off
_LIMITED = 0.97  # of the limit: from there on it is the limit that holds the clock down


def drawn(rows: Rows) -> Iterator[Point | None]:
    """Every long run but those whose operands are neither random nor zeros."""
    for params, of in _runs(rows):
        if params["load"] != "poll" and params["data"] in ("normal", "zeros"):
            x = _activity(params, of)
            watts, error = _watts(of)
            yield Point(tuple(x[name] for name in COLUMNS), watts, error, _series(params))


def peaks(rows: Rows) -> Iterator[Point | None]:
    """Tensor loads that the power cap slows though they draw less than the limit: x = clock,
    flops of 16 and of 8 bits, operand bytes, bytes loaded (10^12 in a second); y = watts."""
    for params, of in _runs(rows):
        if (
            params["load"] not in ("wgmma", "together")
            or not int(of["reasons"]["median"]) & _POWER_CAP
        ):
            continue
        watts, error = _watts(of)
        if of["driver_watts"]["median"] < _LIMITED * of["limit"]["median"]:
            x = _activity(params, of)
            f16, f8 = (x[kind] + x.get(f"{kind}_zeros", 0.0) for kind in ("f16", "f8"))
            smem = x["smem"] + x["smem_zeros"]
            error = float(np.hypot(error, _HEURISTIC))
            loaded = x["fill"] + x["moved_zeros"]
            yield Point((x["mhz"], f16, f8, smem, loaded), watts, error, str(params["data"]))


def held(rows: Rows) -> list[float]:
    """The share of the limit that the board draws where the limit holds its clock down."""
    return [
        of["driver_watts"]["median"] / of["limit"]["median"]
        for _, of in _runs(rows)
        if int(of["reasons"]["median"]) & _POWER_CAP
        and of["driver_watts"]["median"] >= _LIMITED * of["limit"]["median"]
    ]


def _runs(rows: Rows) -> Iterator[tuple[Params, dict[str, Row]]]:
    """The rows of each long run by metric."""
    found: dict[tuple[tuple[str, int | str], ...], dict[str, Row]] = {}
    for row in rows.all("power"):
        found.setdefault(tuple(row["params"].items()), {})[row["metric"]] = row
    for row in rows.all("power_together"):
        params = {"load": "together", "ctas": SMS, "kind": "bf16", "rs": 0, **row["params"]}
        found.setdefault(tuple(params.items()), {})[row["metric"]] = row
    for key, of in found.items():
        if "watts" in of and "driver_watts" in of:
            yield dict(key), of


def _watts(of: dict[str, Row]) -> tuple[float, float]:
    """The board's energy counter, and how far the driver's own mean is from it."""
    counted, driver = (of[name]["median"] for name in ("watts", "driver_watts"))
    return counted, float(np.hypot((counted - driver) / 2, _OWN_ERROR * counted))


def _series(params: Params) -> str:
    if params["load"] == "together":
        return f"wgmma and loads, {params['data']}"
    if params["load"] != "wgmma":
        return "memory" if "depth" in params or "store" in str(params["load"]) else "SM"
    return f"wgmma, {params['data']}"


def _activity(params: Params, of: dict[str, Row]) -> dict[str, float]:
    x = dict.fromkeys(COLUMNS, 0.0)
    if params["load"] == "nothing":
        return x | {"mhz": 1.0}  # of no importance: nothing is scaled by it
    ctas = int(params["ctas"])
    x |= {"mhz": of["mhz"]["median"], "awake": ctas / SMS}
    cycles = of["cycles"]["median"]
    turns = int(params["turns"]) * ctas * x["mhz"] * 1e6 / cycles / 1e12
    load, _, level = str(params["load"]).partition(" ")
    if load == "together":
        x = _wgmma(x, params, turns, "")
        boxes = of["boxes"]["median"] * ctas * x["mhz"] * 1e6 / cycles / 1e12
        return _load(x, params, boxes, "l2_private")
    return _EACH.get(load, _sm)(x, params, turns, level)


Each = Callable[[dict[str, float], Params, float, str], dict[str, float]]


def _wgmma(x: dict[str, float], params: Params, turns: float, level: str) -> dict[str, float]:
    """A turn is a group of four instructions of each of two warpgroups."""
    n, count = int(params["n"]), 8 * turns
    zeros = "_zeros" if params["data"] == "zeros" else ""
    kind = str(params["kind"])
    x[_KIND[kind] + zeros] = count * 2 * 64 * n * _K[kind]
    x[f"smem{zeros}"] = count * 32 * (n + (0 if params["rs"] else 64))
    return x


def _load(x: dict[str, float], params: Params, turns: float, level: str) -> dict[str, float]:
    moved = turns * 16 * KB
    fetched = moved / _SHARED if level == "l2_shared" else moved
    zeros = params["data"] == "zeros"
    x |= {"moved_zeros": moved} if zeros else {"fill": moved, "l2": fetched}
    if level == "dram":
        x["dram_zeros" if zeros else "dram"] = moved
    return x


def _store(x: dict[str, float], params: Params, turns: float, level: str) -> dict[str, float]:
    x["store"] = turns * 16 * KB
    x["dram_write"] = x["store"] if level == "dram" else 0.0
    return x


def _sm(x: dict[str, float], params: Params, turns: float, level: str) -> dict[str, float]:
    warps = turns * int(params.get("warps", 0))
    match params["load"]:
        case "ffma" | "lop3" | "ex2" as op:
            x[{"ffma": "ffma", "lop3": "alu", "ex2": "mufu"}[op]] = 512 * warps
        case "lds":
            x["smem"] = 32 * 512 * warps
        case "mma":
            x["mma"] = 32 * 2 * 16 * 8 * 16 * warps
    return x


_EACH: dict[str, Each] = {"wgmma": _wgmma, "load": _load, "store": _store}
