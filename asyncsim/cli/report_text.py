"""What ``predict`` and ``run`` print: verdict, prediction, measurement, findings."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsim.cli.findings_text import findings_text, verdict_line
from asyncsim.cli.output import emit, wrap
from asyncsim.cli.subject import Subject
from asyncsim.machine import Machine
from asyncsim.predict.result import CheckResult, Prediction


def _showings(result: CheckResult, prediction: Prediction | None) -> dict[int, str]:
    """Whether each finding shows under the predicted timing, where timing decides it."""
    from asyncsim.predict.manifest import showing

    shown = {i: showing(f, prediction) for i, f in enumerate(result.findings)}
    return {i: wrap(str(s), first="  ", indent="      ") for i, s in shown.items() if s is not None}


def emit_report(
    subject: Subject,
    machine: Machine,
    result: CheckResult,
    prediction: Prediction | None,
    *,
    strict: bool,
    measured: Sequence[str] = (),
) -> None:
    """Print a report; a prediction stands under its verdict."""
    from asyncsim.cli.predict_text import prediction_text, stalls_text

    emit(wrap(subject.title, indent="    "))
    emit(wrap(verdict_line(result, strict=strict), first="verdict    "))
    if prediction is None:
        emit("cycles     none: what does not end, or was not built, has no time")
    else:
        emit(prediction_text(prediction, machine))
    for line in measured:
        emit(line)
    if prediction is not None and prediction.stalls:
        emit("\n" + stalls_text(prediction))
    findings = findings_text(result, _showings(result, prediction))
    if findings:
        emit("\n" + findings)
