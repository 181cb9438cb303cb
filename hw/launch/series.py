"""Many launches of one kernel, each with its own delays, until one of them goes wrong."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncsim.hw.compile import Compiled, compile_schedule
from asyncsim.hw.launch.child_process import Child, LaunchFailed, NoAnswer
from asyncsim.hw.launch.diagnosis import diagnose
from asyncsim.hw.launch.prepare import Image, make_spec, read_output
from asyncsim.hw.launch.verify import (
    chosen_ctas,
    compare_elements,
    expected_outputs,
    tolerances,
    written,
)
from asyncsim.hw.render import Variant
from asyncsim.ir.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


class Form(Enum):
    """How a launch goes wrong: a wait times out, CUDA raises an exception, or the data differ."""

    HANG = "hang"
    EXCEPTION = "exception"
    WRONG_DATA = "wrong data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """``what``: one line, the diagnosis, CUDA's message or the first element that differs."""

    form: Form
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a kernel is meant to compute: values of its outputs where ``ctas`` CTAs write them."""

    images: dict[str, Image]
    ctas: int
    of_ctas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """``done`` launches ended as they should; the one after them is the ``failure``, if any."""

    compiled: Compiled
    done: int
    failure: Failure | None = None
    gpu: dict[str, Any] = field(default_factory=dict)


def meaning_of(schedule: Schedule, most_ctas: int) -> Meaning:
    """What ``evaluate`` gives for at most so many CTAs, on the inputs of ``run_series``."""
    from asyncsim.evaluate import make_inputs

    ctas = chosen_ctas(schedule, most_ctas)
    values = expected_outputs(schedule, make_inputs(schedule), ctas)
    masks = written(schedule, ctas)
    images = {n: Image(values=values[n], compared=mask) for n, mask in masks.items()}
    return Meaning(images=images, ctas=len(ctas), of_ctas=schedule.ctas)


def run_series(
    schedule: Schedule,
    meaning: Meaning,
    child: Child,
    *,
    tables: Array | None = None,
    launches: int = 1,
    l2: str = "warm",
    arch: str = "sm_90a",
    broken: bool = False,
    timeout_s: float = 60.0,
) -> Series:
    """Launches up to the first that fails; after each the outputs are compared with ``meaning``.

    ``tables``: a launch of the delay build for each of these delay tables (launch, op id, warp;
    cycles); without them ``launches`` of the plain build, which has no hooks that cost time. Raises
    CompileError, EnvironmentError_ (no GPU), and LaunchFailed for what fails before the first
    launch.
    """
    from asyncsim.evaluate import make_inputs

    variant = Variant(delays=tables is not None)
    compiled = compile_schedule(schedule, arch, variant, allow_advisories=broken)
    with tempfile.TemporaryDirectory(prefix="asyncsim-") as folder:
        spec = make_spec(
            schedule,
            compiled,
            make_inputs(schedule),
            Path(folder),
            launches=launches if tables is None else len(tables),
            warmups=0,
            l2=l2,
            read_outputs=True,
            tables=tables,
            expected=meaning.images,
        )
        try:
            reply = child.run(spec, timeout_s=timeout_s)
        except LaunchFailed as error:
            if not error.launched:
                raise
            form = Form.HANG if isinstance(error, NoAnswer) else Form.EXCEPTION
            failure = Failure(form=form, what=str(error))
            return Series(compiled=compiled, done=error.done, failure=failure)
        stopped = diagnose(schedule, reply.report)
        found: Failure | None = None
        if stopped is not None:
            found = Failure(form=Form.HANG, what=str(stopped))
        elif reply.differs:
            outputs = {
                n: read_output(schedule.tensor(n), spec.tensors[n].output) for n in meaning.images
            }
            found = Failure(form=Form.WRONG_DATA, what=_difference(schedule, meaning, outputs))
    return Series(compiled=compiled, done=reply.done, failure=found, gpu=reply.gpu)


def _difference(schedule: Schedule, meaning: Meaning, outputs: dict[str, Array]) -> str:
    masks = {n: i.compared for n, i in meaning.images.items()}
    values = {n: i.values for n, i in meaning.images.items()}
    near = tolerances(schedule)
    of = meaning.of_ctas
    return str(compare_elements(masks, values, outputs, near=near, ctas=meaning.ctas, of_ctas=of))
