"""Run both kernels of a program: verified, then timed, with and without what lets them overlap."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncsim.errors import ScheduleError
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.launch.child_process import Child
from asyncsim.hw.launch.diagnosis import Diagnosis, diagnose
from asyncsim.hw.launch.prepare import make_spec, read_output
from asyncsim.hw.launch.protocol import RunReply, RunSpec
from asyncsim.hw.launch.timing import Timing, timing_of
from asyncsim.hw.launch.verify import Verification, expected_of
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.program import Program

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """``gpu``: its facts. ``verification``: of all that both kernels write; ``timing``: from the
    first CTA of the first kernel to the last of the dependent one; ``diagnosis``: where a launch
    was abandoned.
    """

    gpu: dict[str, Any]
    verification: Verification | None = None
    timing: Timing | None = None
    diagnosis: Diagnosis | None = None


def run_program(
    program: Program,
    *,
    child: Child | None = None,
    arch: str = "sm_90a",
    launches: int = 20,
    warmups: int = 3,
    l2: str = "cold",
    seed: int = 0,
    timeout_s: float = 60.0,
) -> ProgramResult:
    """Verify one launch of both kernels, then time ``launches`` (0: do not). Raises as
    ``run_schedule``."""
    with nullcontext(child) if child else Child() as owner:
        return _run(program, owner, arch, launches, warmups, l2, seed, timeout_s)


def _run(
    program: Program,
    child: Child,
    arch: str,
    launches: int,
    warmups: int,
    l2: str,
    seed: int,
    timeout_s: float,
) -> ProgramResult:
    from asyncsim.evaluate import make_inputs

    inputs = make_inputs(program, seed=seed)
    reply, outputs = _launch(program, child, arch, inputs, 1, 0, "warm", timeout_s)
    stopped = diagnose(program.kernels[reply.kernel], reply.report)
    if stopped is not None:
        return ProgramResult(gpu=reply.gpu, diagnosis=stopped)
    verification = _verified(program, inputs, outputs)
    if not launches:
        return ProgramResult(gpu=reply.gpu, verification=verification)
    ctas = sum(kernel.ctas for kernel in program.kernels)
    inputs = make_inputs(program, seed=seed, purpose="timing")
    reply, _ = _launch(program, child, arch, inputs, launches, warmups, l2, timeout_s)
    stopped = diagnose(program.kernels[reply.kernel], reply.report)
    timing = None if stopped else timing_of(reply, ctas=ctas, l2=l2)
    return ProgramResult(gpu=reply.gpu, verification=verification, timing=timing, diagnosis=stopped)


def _verified(
    program: Program, inputs: dict[str, Array], outputs: dict[str, Array]
) -> Verification:
    from asyncsim.evaluate import EvaluateError

    try:
        return expected_of(program, inputs, 0).compare(outputs)
    except (EvaluateError, ScheduleError) as error:
        ctas = sum(kernel.ctas for kernel in program.kernels)
        return Verification(ctas=ctas, of_ctas=ctas, elements=0, wrong=0, first=str(error))


def _launch(
    program: Program,
    child: Child,
    arch: str,
    inputs: dict[str, Array],
    launches: int,
    warmups: int,
    l2: str,
    timeout_s: float,
) -> tuple[RunReply, dict[str, Array]]:
    with tempfile.TemporaryDirectory(prefix="asyncsim-") as folder:
        specs: list[RunSpec] = []
        for number, kernel in enumerate(program.kernels):
            own, names = Path(folder) / str(number), {t.name for t in kernel.of_kind(GlobalTensor)}
            own.mkdir()
            specs.append(
                make_spec(
                    kernel,
                    compile_schedule(kernel, arch),
                    {name: data for name, data in inputs.items() if name in names},
                    own,
                    launches=launches,
                    warmups=warmups,
                    l2=l2,
                    read_outputs=launches == 1,
                )
            )
        first, second = specs
        if overlapping := {n for n, t in second.tensors.items() if t.output} & set(first.tensors):
            raise ScheduleError(
                f"both kernels have {', '.join(sorted(overlapping))}, and the second writes it",
                fix="let the dependent kernel write tensors of its own",
            )
        reply = child.run(replace(first, dependent=second), timeout_s=timeout_s)
        outputs = {
            t.name: read_output(t, spec.tensors[t.name].output)
            for kernel, spec in zip(program.kernels, specs, strict=True)
            for t in kernel.of_kind(GlobalTensor)
            if t.output and launches == 1 and not reply.report
        }
    return reply, outputs
