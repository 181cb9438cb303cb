"""``check --trace``: the witness of a finding as a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asyncsim.trace import SpanKind, Trace
from asyncsim.trace.chrome_reader import load_chrome
from asyncsim.trace.perfetto_reader import load_pftrace

READERS = {".json": load_chrome, ".pftrace": load_pftrace}


@pytest.mark.parametrize("suffix", READERS)
def test_a_step_is_a_cycle_on_the_track_of_who_does_it(
    cli: Any, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"witness{suffix}"
    run = cli("check", "tma_ring", "--tiles", 4, "--twin", "wrong_tile", "--trace", path)
    assert run.err.endswith(f"wrote {path}; open it at https://ui.perfetto.dev\n")
    (trace,) = READERS[suffix](path)
    assert isinstance(trace, Trace)
    assert (trace.source, trace.schedule) == ("witness of WRONG_TILE", "tma_ring")
    last = sorted(trace.spans, key=lambda s: (s.end, s.start))[-4:]
    assert [(s.track, s.kind, s.end - s.start) for s in last] == [
        ("producer warp 0, elected lane", SpanKind.OP, 1.0),
        ("in flight", SpanKind.FLIGHT, 2.0),
        ("consumer warp 0", SpanKind.OP, 1.0),
        ("consumer warp 0", SpanKind.OP, 1.0),
    ]
    assert [s.name for s in last[1:]] == [
        "TMA load source -> ring on full[0]: the copy lands",
        "mbarrier wait full[0] parity 0",
        "compute tile_hash",
    ]


def test_a_clean_schedule_has_no_witness(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "witness.json"
    run = cli("check", "tma_ring", "--tiles", 4, "--trace", path)
    assert run.err == f"{path} is not written: there is no witness\n"
    assert not path.exists()
