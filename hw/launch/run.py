"""Run a schedule on the GPU: compile, verify the data, time, stamp. The parent's side."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncsim.errors import ScheduleError
from asyncsim.hw.compile import Compiled, compile_schedule
from asyncsim.hw.launch.child_process import Child
from asyncsim.hw.launch.diagnosis import Diagnosis, diagnose
from asyncsim.hw.launch.prepare import Stamps, make_spec, read_output
from asyncsim.hw.launch.protocol import RunReply
from asyncsim.hw.launch.timing import Timing, timing_of
from asyncsim.hw.launch.verify import Verification, chosen_ctas, verify_outputs
from asyncsim.hw.render import Variant
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.schedule import Schedule
from asyncsim.trace import Trace

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """``timing`` is None if the launch was abandoned (``diagnosis`` says where) or not asked for;
    ``verification`` is None if not asked for. ``trace``: stamped runs only."""

    compiled: Compiled
    gpu: dict[str, Any]
    timing: Timing | None = None
    verification: Verification | None = None
    diagnosis: Diagnosis | None = None
    trace: Trace | None = None
    stamped: Timing | None = None


def run_schedule(
    schedule: Schedule,
    *,
    child: Child | None = None,
    arch: str = "sm_90a",
    launches: int = 20,
    warmups: int = 3,
    l2: str = "cold",
    verify_ctas: int = 8,
    stamps: Stamps | None = None,
    seed: int = 0,
    broken: bool = False,
    blocks_at_hardware_barrier: bool = False,
    timeout_s: float = 60.0,
) -> RunResult:
    """Verify the data of one launch (0 CTAs: do not), then time ``launches`` of them (0: do not).

    ``broken``: a twin; ptxas advisories are accepted. ``blocks_at_hardware_barrier``: what check
    found; such a schedule is refused, since no limit can end that wait. Raises ScheduleError,
    CompileError, EnvironmentError_ (no GPU) and LaunchFailed.
    """
    if blocks_at_hardware_barrier:
        raise ScheduleError(
            f"{schedule.name} can block for ever at a hardware barrier: it is not launched",
            fix="repair what check found first",
        )
    with (
        nullcontext(child) if child else Child() as owner,
        tempfile.TemporaryDirectory(prefix="asyncsim-") as name,
    ):
        runner = _Runner(schedule, owner, arch, Path(name), timeout_s, broken, seed, l2)
        checked = runner.verify(verify_ctas) if verify_ctas else None
        if checked is not None and checked.diagnosis is not None:
            return checked
        timed = runner.time(launches, warmups) if launches else None
        stamped = runner.stamp(stamps) if stamps else None
        last = timed or checked or stamped
        if last is None:
            raise ScheduleError("nothing to run", fix="ask for verify_ctas, launches or stamps")
        return RunResult(
            compiled=last.compiled,
            gpu=last.gpu,
            timing=timed.timing if timed else None,
            verification=checked.verification if checked else None,
            diagnosis=next((r.diagnosis for r in (timed, stamped) if r and r.diagnosis), None),
            trace=stamped.trace if stamped else None,
            stamped=stamped.stamped if stamped else None,
        )


@dataclass(slots=True)
class _Runner:
    schedule: Schedule
    child: Child
    arch: str
    folder: Path
    timeout_s: float
    broken: bool
    seed: int
    l2: str

    def verify(self, ctas: int) -> RunResult:
        """One launch on exact integers, compared with evaluate."""
        from asyncsim.evaluate import make_inputs

        inputs = make_inputs(self.schedule, seed=self.seed, purpose="verify")
        compiled, reply, outputs = self._launch(inputs, Variant(), 1, 0, True)
        diagnosis = diagnose(self.schedule, reply.report)
        verification = None
        if diagnosis is None:
            chosen = chosen_ctas(self.schedule, ctas)
            verification = verify_outputs(self.schedule, inputs, outputs, chosen)
        return RunResult(
            compiled=compiled, gpu=reply.gpu, verification=verification, diagnosis=diagnosis
        )

    def time(self, launches: int, warmups: int) -> RunResult:
        """Launches on random normal data, nothing read back but the clocks."""
        from asyncsim.evaluate import make_inputs

        inputs = make_inputs(self.schedule, seed=self.seed, purpose="timing")
        compiled, reply, _ = self._launch(inputs, Variant(), launches, warmups, False)
        diagnosis = diagnose(self.schedule, reply.report)
        timing = None if diagnosis else timing_of(reply, ctas=self.schedule.ctas, l2=self.l2)
        return RunResult(compiled=compiled, gpu=reply.gpu, timing=timing, diagnosis=diagnosis)

    def stamp(self, stamps: Stamps) -> RunResult:
        """One stamped launch after two warm ones."""
        from asyncsim.evaluate import make_inputs
        from asyncsim.hw.launch.stamps import decode

        if self.schedule.assigned:
            raise ScheduleError(
                "clocks of a kernel whose tiles are handed out while it runs",
                fix="run it without a trace: who gets which tile is not recorded",
            )
        inputs = make_inputs(self.schedule, seed=self.seed, purpose="timing")
        compiled, reply, _ = self._launch(inputs, Variant(stamps=True), 1, 2, False, stamps)
        diagnosis = diagnose(self.schedule, reply.report)
        trace = stamped = None
        if diagnosis is None:
            data = (self.folder / "stamps.bin").read_bytes()
            trace = decode(self.schedule, data, reply, stamps)
            stamped = timing_of(reply, ctas=self.schedule.ctas, l2=self.l2)
        return RunResult(
            compiled=compiled, gpu=reply.gpu, trace=trace, stamped=stamped, diagnosis=diagnosis
        )

    def _launch(
        self,
        inputs: dict[str, Array],
        variant: Variant,
        launches: int,
        warmups: int,
        read: bool,
        stamps: Stamps | None = None,
    ) -> tuple[Compiled, RunReply, dict[str, Array]]:
        s = self.schedule
        compiled = compile_schedule(s, self.arch, variant, allow_advisories=self.broken)
        spec = make_spec(
            s,
            compiled,
            inputs,
            self.folder,
            launches=launches,
            warmups=warmups,
            l2=self.l2,
            read_outputs=read,
            stamps=stamps,
        )
        reply = self.child.run(spec, timeout_s=self.timeout_s)
        outputs = {
            t.name: read_output(t, spec.tensors[t.name].output)
            for t in s.of_kind(GlobalTensor)
            if t.output and read and not reply.report
        }
        return compiled, reply, outputs
