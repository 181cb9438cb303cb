"""Run a subject on the GPU of this machine, if there is one and it may be launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asyncsim.cli.output import wrap
from asyncsim.cli.subject import Subject
from asyncsim.errors import EnvironmentError_, UsageError
from asyncsim.ir import op as ops
from asyncsim.ir.program import Program
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rules import Finding, Rule

if TYPE_CHECKING:
    from asyncsim.hw.launch import ProgramResult, RunResult
    from asyncsim.trace import Trace

STAMPED_OPS = 4096
# A wait without a bound, or an access that faults: no guard can end these.
NEVER_LAUNCHED = (
    Rule.NAMED_BARRIER_COUNT,
    Rule.NAMED_BARRIER_OVERRUN,
    Rule.OUT_OF_BOUNDS,
    Rule.REGISTER_POOL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``result`` of a launch, or in one line why there is none. ``failed``: the launch broke."""

    result: RunResult | ProgramResult | None = None
    not_run: str = ""
    lacks_gpu: bool = False
    failed: str = ""

    @property
    def trace(self) -> Trace | None:
        """The measured timeline, if one was asked for; programs have none."""
        return getattr(self.result, "trace", None)

    @property
    def trouble(self) -> str:
        """What the GPU showed that a clean schedule cannot show; "" if nothing."""
        if self.failed:
            return self.failed
        if self.result is None:
            return ""
        if self.result.diagnosis is not None:
            return str(self.result.diagnosis)
        checked = self.result.verification
        return str(checked) if checked is not None and not checked.ok else ""


def launch(subject: Subject, proven: CheckResult, *, arch: str, l2: str, stamps: bool) -> Outcome:
    """Verify the data, then time it. Raises UsageError when the CUDA text does not compile."""
    from asyncsim.hw.probe import what_is_missing

    reason = why_not_launched(subject, proven)
    if reason:
        return Outcome(not_run=reason)
    missing = what_is_missing()
    if missing:
        return Outcome(not_run=missing, lacks_gpu=True)
    return _launch(subject, proven, arch=arch, l2=l2, stamps=stamps)


def _launch(subject: Subject, proven: CheckResult, *, arch: str, l2: str, stamps: bool) -> Outcome:
    from asyncsim.hw.compile import CompileError
    from asyncsim.hw.launch import run_program, run_schedule
    from asyncsim.hw.launch.child_process import LaunchFailed
    from asyncsim.hw.launch.prepare import Stamps

    assert subject.schedule is not None
    result: RunResult | ProgramResult
    try:
        if isinstance(subject.schedule, Program):
            result = run_program(subject.schedule, arch=arch, l2=l2)
        else:
            result = run_schedule(
                subject.schedule,
                arch=arch,
                l2=l2,
                stamps=Stamps(capacity=STAMPED_OPS) if stamps else None,
                broken=proven.verdict is not Verdict.CLEAN or bool(subject.twin),
            )
    except EnvironmentError_ as error:
        return Outcome(not_run=str(error), lacks_gpu=True)
    except LaunchFailed as error:
        return Outcome(failed=str(error))
    except CompileError as error:
        raise UsageError(str(error)) from None
    return Outcome(result=result)


def why_not_launched(subject: Subject, proven: CheckResult) -> str:
    """A reason that holds on any machine; "" if the schedule may be launched, guarded."""
    if subject.schedule is None:
        return "there is no schedule to run"
    if subject.twin and not subject.scenario.twin(subject.twin).launch:
        return f"twin {subject.twin} is never launched: it could block or fault on the GPU"
    if proven.verdict is Verdict.INCOMPLETE:
        return "the verdict is incomplete: it could block at a hardware barrier"
    for finding in proven.findings:
        if finding.rule in NEVER_LAUNCHED or _blocks_at_hardware(subject, finding):
            return f"{finding.rule.name} could block or fault on the GPU where no guard reaches"
    return ""


def _blocks_at_hardware(subject: Subject, finding: Finding) -> bool:
    if finding.rule is not Rule.DEADLOCK:
        return False
    places = {p.op_id for p in finding.where}
    every = (o for kernel in subject.kernels for o in kernel.ops())
    return any(o.id in places and isinstance(o, ops.BarSync) for o in every)


def measured_json(outcome: Outcome) -> dict[str, Any] | None:
    """``measured`` of the contract: null when nothing ran."""
    r = outcome.result
    if r is None:
        return None
    t = r.timing
    checked = r.verification
    return {
        "cycles": round(t.cycles, 1) if t else None,
        "cycles_p10": round(t.cycles_p10, 1) if t else None,
        "cycles_p90": round(t.cycles_p90, 1) if t else None,
        "time_us": round(t.time_us, 4) if t else None,
        "clock_mhz": round(t.clock_mhz, 1) if t else None,
        "launches": t.n if t else 0,
        "l2": t.l2 if t else None,
        "verified": checked.ok if checked else None,
        "trouble": outcome.trouble or None,
        "gpu": {key: r.gpu.get(key) for key in ("gpu", "board", "driver", "cuda", "date")},
    }


def measured_text(outcome: Outcome, predicted_cycles: float | None) -> list[str]:
    """Lines of the report: measured cycles, the error, whether the data was right."""
    if outcome.not_run:
        return [wrap(f"not run on a GPU: {outcome.not_run}", first="measured   ")]
    if outcome.failed:
        return [wrap(f"the launch failed: {outcome.failed}", first="measured   ")]
    assert outcome.result is not None
    lines = []
    t = outcome.result.timing
    if t is not None:
        lines.append(
            wrap(
                f"{t.cycles:,.0f} cycles ({t.cycles_p10:,.0f} to {t.cycles_p90:,.0f}), "
                f"{t.time_us:,.3f} us at {t.clock_mhz:,.0f} MHz, median of {t.n} launches, L2 "
                f"{t.l2}, {outcome.result.gpu.get('gpu', 'GPU')}",
                first="measured   ",
            )
        )
        if predicted_cycles is not None:
            error = error_pct(predicted_cycles, t.cycles)
            lines.append(f"error      {error:+.1f} % predicted over measured")
    if outcome.result.diagnosis is not None:
        lines.append(wrap(f"hangs on the GPU: {outcome.result.diagnosis}", first="data       "))
    elif outcome.result.verification is not None:
        lines.append(wrap(str(outcome.result.verification), first="data       "))
    return lines


def error_pct(predicted: float, measured: float) -> float:
    """Signed error of the prediction, in percent of the measurement."""
    return 100 * (predicted - measured) / measured
