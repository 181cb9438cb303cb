"""The trials of a sweep as rows: for Parquet, and for JSON. docs/advise.md has the columns."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from asyncsim.advise.result import Advice
from asyncsim.advise.trial import Trial
from asyncsim.errors import EnvironmentError_

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = {
    "scenario": "string",
    "machine": "string",
    "l2": "string",
    "version": "string",
    "verdict": "string",
    "why": "string",
    "cycles": "double",
    "time_us": "double",
    "clock_mhz": "double",
    "sustained_us": "double",
    "bound_by": "string",
    "ctas_per_sm": "int64",
    "limited_by": "string",
    "waves": "double",
    "smem_bytes": "int64",
    "measured_cycles": "double",
    "measured_us": "double",
}
"""Name and Arrow type; a column ``p_NAME`` of int64 for each parameter comes behind them."""


def row(advice: Advice, trial: Trial) -> dict[str, Any]:
    """A trial by column; what it has not is None."""
    p, m = trial.prediction, trial.measured
    return {
        "scenario": advice.scenario,
        "machine": advice.machine,
        "l2": advice.l2,
        "version": trial.version,
        "verdict": trial.status.value,
        "why": trial.why,
        "cycles": p.cycles if p else None,
        "time_us": p.time_us if p else None,
        "clock_mhz": p.clock_mhz if p else None,
        "sustained_us": p.sustained.time_us if p and p.sustained else None,
        "bound_by": p.bound_by if p else None,
        "ctas_per_sm": p.occupancy.ctas_per_sm if p else None,
        "limited_by": p.occupancy.limited_by if p else None,
        "waves": p.occupancy.waves if p else None,
        "smem_bytes": p.occupancy.smem_bytes if p else None,
        "measured_cycles": m.cycles if m else None,
        "measured_us": m.time_us if m else None,
        **{f"p_{name}": value for name, value in trial.params.items()},
    }


def needs_pyarrow() -> None:
    """Raises EnvironmentError_ where there is no pyarrow."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise EnvironmentError_(
            "a Parquet file needs pyarrow; install it: pip install 'asyncsim[advise]'"
        ) from None


def table(advice: Advice) -> pa.Table:
    """All trials as an Arrow table. Raises EnvironmentError_ without pyarrow."""
    needs_pyarrow()
    import pyarrow as pa

    types = COLUMNS | {f"p_{name}": "int64" for name in advice.space.params}
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in types.items()])
    return pa.Table.from_pylist([row(advice, t) for t in advice.trials], schema=schema)


def parquet(advice: Advice) -> bytes:
    """The content of a Parquet file with all trials. Raises EnvironmentError_ without pyarrow."""
    rows = table(advice)
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(rows, file)
    return file.getvalue()
