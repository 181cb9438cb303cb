"""The JSON of ``check``, ``predict`` and ``run``: one shape, null where a part does not apply."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from asyncsim.cli.subject import Subject
from asyncsim.predict.result import Prediction, Sustained, Verdict
from asyncsim.rules import Finding, Place


def report_json(
    subject: Subject,
    *,
    machine: str | None,
    verdict: Verdict,
    findings: tuple[Finding, ...],
    prediction: Prediction | None = None,
    measured: dict[str, Any] | None = None,
    error_pct: float | None = None,
) -> dict[str, Any]:
    """The object of the contract; its keys are always all there."""
    params: dict[str, Any] = dict(subject.params)
    if subject.twin:
        params["twin"] = subject.twin
    return {
        "scenario": subject.scenario.name,
        "params": params,
        "machine": machine,
        "verdict": verdict.value,
        "findings": [_timed_json(f, prediction) for f in findings],
        **_prediction_json(prediction),
        "measured": measured,
        "error_pct": None if error_pct is None else round(error_pct, 3),
    }


def _prediction_json(p: Prediction | None) -> dict[str, Any]:
    if p is None:
        keys = ["cycles", "time_us", "clock_mhz", "bound_by", "occupancy", "engines"]
        return dict.fromkeys([*keys, "l2_read_bytes", "sustained", "stalls"])
    return {
        "cycles": p.cycles,
        "time_us": round(p.time_us, 4),
        "clock_mhz": p.clock_mhz,
        "bound_by": p.bound_by,
        "occupancy": {
            "ctas_per_sm": p.occupancy.ctas_per_sm,
            "waves": p.occupancy.waves,
            "smem_bytes": p.occupancy.smem_bytes,
            "limited_by": p.occupancy.limited_by,
        },
        "engines": {name: round(share, 4) for name, share in p.engines.items()},
        "l2_read_bytes": p.l2_read_bytes,
        "sustained": _sustained_json(p.sustained),
        "stalls": [
            {
                "role": s.role,
                "what": s.what,
                "where": s.where,
                "cycles": round(s.cycles, 2),
                "count": s.count,
            }
            for s in p.stalls
        ],
    }


def _sustained_json(s: Sustained | None) -> dict[str, Any] | None:
    if s is None:
        return None
    return {
        "cycles": s.cycles,
        "time_us": round(s.time_us, 4),
        "clock_mhz": round(s.clock_mhz, 1),
        "watts": round(s.watts, 1),
        "limit_w": s.limit_w,
        "operands": s.operands,
        "because": s.because,
        "tflops": round(s.tflops, 1),
    }


def _timed_json(f: Finding, prediction: Prediction | None) -> dict[str, Any]:
    """A finding, and whether it shows in the predicted run where that can be said."""
    value = finding_json(f)
    if prediction is not None:
        from asyncsim.predict.manifest import showing

        shown = showing(f, prediction)
        if shown is not None:
            value["timing"] = {"manifest": shown.manifest, "slack_cycles": shown.slack}
    return value


def finding_json(f: Finding) -> dict[str, Any]:
    """A finding; the missing edge is part of the message, details follow the witness."""
    missing = f"; missing: {f.missing}" if f.missing else ""
    return {
        "rule": f.rule.name,
        "severity": f.severity.value,
        "message": f.message + missing,
        "where": [_place_json(p) for p in f.where],
        "witness": [*map(str, f.witness), *f.detail],
        "repair": f.repair,
    }


def _place_json(p: Place) -> dict[str, Any]:
    return {
        "at": str(p.loc) if p.loc else None,
        "file": PurePath(p.loc.file).as_posix() if p.loc else None,
        "line": p.loc.line if p.loc else None,
        "what": p.what,
        "who": p.who,
    }
