"""Compare what the GPU wrote with what ``evaluate`` says, exactly, for some or all CTAs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.op import StGlobal, StoreOp
from asyncsim.ir.program import Program as Dependence
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox
from asyncsim.stream import Program

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """``ctas`` of ``of_ctas`` were computed on the host; ``elements`` of them were compared and
    ``wrong`` differ. ``first``: the first that does, in words, or why nothing was compared."""

    ctas: int
    of_ctas: int
    elements: int
    wrong: int
    first: str = ""

    @property
    def ok(self) -> bool:
        return self.wrong == 0 and self.elements > 0

    def __str__(self) -> str:
        if not self.elements:
            return f"not compared: {self.first or 'nothing is written'}"
        scope = f"{self.elements} elements of {self.ctas} of {self.of_ctas} CTAs"
        return f"{scope} equal" if self.ok else f"{self.wrong} of {scope} differ: {self.first}"


def chosen_ctas(schedule: Schedule, most: int) -> tuple[int, ...]:
    """At most ``most`` CTAs, the first and the last among them, evenly spread; all of a schedule
    that reduces into global memory, where every CTA may have its part in an element."""
    n = schedule.ctas
    if n <= most or any(isinstance(o, StoreOp) and o.reduce for o in schedule.ops()):
        return tuple(range(n))
    return tuple(sorted({round(i * (n - 1) / (most - 1)) for i in range(most)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the outputs of a schedule, or of both kernels of a program, hold after these CTAs:
    ``values`` where ``masks`` are True, within ``near`` where that has a tolerance."""

    values: Mapping[str, Array]
    masks: Mapping[str, Array]
    near: Mapping[str, float]
    ctas: int
    of_ctas: int

    def compare(self, outputs: Mapping[str, Array]) -> Verification:
        return compare_elements(
            self.masks,
            self.values,
            outputs,
            near=self.near,
            ctas=self.ctas,
            of_ctas=self.of_ctas,
        )


def expected_of(
    subject: Schedule | Dependence, inputs: Mapping[str, Array], most_ctas: int
) -> Expected:
    """Evaluate ``most_ctas`` of the CTAs on the host; all of a program. Raises as ``evaluate``."""
    from asyncsim.evaluate import evaluate

    if isinstance(subject, Schedule):
        ctas = chosen_ctas(subject, most_ctas)
        return Expected(
            values=expected_outputs(subject, inputs, ctas),
            masks=written(subject, ctas),
            near=tolerances(subject),
            ctas=len(ctas),
            of_ctas=subject.ctas,
        )
    masks: dict[str, Array] = {}
    near: dict[str, float] = {}
    for kernel in subject.kernels:
        near |= tolerances(kernel)
        for name, mask in written(kernel, tuple(range(kernel.ctas))).items():
            masks[name] = masks[name] | mask if name in masks else mask
    ctas_of_both = sum(kernel.ctas for kernel in subject.kernels)
    return Expected(
        values=evaluate(subject, dict(inputs)),
        masks=masks,
        near=near,
        ctas=ctas_of_both,
        of_ctas=ctas_of_both,
    )


def expected_outputs(
    schedule: Schedule, inputs: Mapping[str, Array], ctas: tuple[int, ...]
) -> dict[str, Array]:
    from asyncsim.evaluate import evaluate

    return evaluate(schedule, dict(inputs), ctas=ctas)


def verify_outputs(
    schedule: Schedule,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    ctas: tuple[int, ...],
) -> Verification:
    """Compute the CTAs on the host and compare; a schedule that evaluate cannot run (a deadlock, an
    access out of bounds) is not compared."""
    from asyncsim.evaluate import EvaluateError

    try:
        expected = expected_outputs(schedule, inputs, ctas)
        return compare_outputs(schedule, expected, outputs, ctas)
    except (EvaluateError, ScheduleError) as error:
        return Verification(
            ctas=len(ctas), of_ctas=schedule.ctas, elements=0, wrong=0, first=str(error)
        )


def compare_outputs(
    schedule: Schedule,
    expected: Mapping[str, Array],
    outputs: Mapping[str, Array],
    ctas: tuple[int, ...],
) -> Verification:
    """Compare the elements that the CTAs write: bit for bit, or within a tensor's tolerance."""
    masks, near = written(schedule, ctas), tolerances(schedule)
    of = schedule.ctas
    return compare_elements(masks, expected, outputs, near=near, ctas=len(ctas), of_ctas=of)


def tolerances(schedule: Schedule) -> dict[str, float]:
    """Of the outputs that are not exact."""
    outputs = [t for t in schedule.of_kind(GlobalTensor) if t.output]
    return {t.name: t.tolerance for t in outputs if t.tolerance}


def compare_elements(
    masks: Mapping[str, Array],
    expected: Mapping[str, Array],
    outputs: Mapping[str, Array],
    *,
    near: Mapping[str, float],
    ctas: int,
    of_ctas: int,
) -> Verification:
    """Compare the elements that the masks select: bit for bit, unless ``near`` has a tolerance; not
    a number is as good as any other."""
    import numpy as np

    elements = wrong = 0
    first = ""
    for name, mask in masks.items():
        have, want = outputs[name], expected[name]
        differ = _apart(have, want, near.get(name, 0.0)) & mask
        elements += int(mask.sum())
        count = int(differ.sum())
        if count and not first:
            at = tuple(int(i) for i in np.argwhere(differ)[0])
            first = f"{name}{list(at)} is {have[at]}, expected {want[at]}"
        wrong += count
    return Verification(ctas=ctas, of_ctas=of_ctas, elements=elements, wrong=wrong, first=first)


def _apart(have: Array, want: Array, tolerance: float) -> Array:
    """Which elements differ."""
    import numpy as np

    if tolerance:
        a, b = have.astype(np.float32), want.astype(np.float32)
        far = ~(np.abs(a - b) <= tolerance * np.maximum(1, np.abs(b)))
    else:
        bits = np.dtype(f"u{have.itemsize}")
        far = np.ascontiguousarray(have).view(bits) != np.ascontiguousarray(want).view(bits)
    apart: Array = far & ~((have != have) & (want != want))
    return apart


def written(schedule: Schedule, ctas: tuple[int, ...]) -> dict[str, Array]:
    """For each output tensor the mask of the elements that these CTAs write."""
    import numpy as np

    masks = {t.name: np.zeros(t.shape, bool) for t in schedule.of_kind(GlobalTensor) if t.output}
    program = Program(schedule)
    writers = {o.id for o in schedule.ops() if isinstance(o, StGlobal | StoreOp)}
    x, y, _ = schedule.grid
    for cta in ctas:
        block = (cta % x, cta // x % y, cta // (x * y))
        for warp in range(schedule.warps):
            for dyn, _ in program.stream(block, warp):
                if dyn.op.id in writers:
                    _mark(masks, dyn.accesses)
    return masks


def _mark(masks: dict[str, Array], accesses: tuple[Any, ...]) -> None:
    for access in accesses:
        if not access.write:
            continue
        for box in access.lanes or (access.region,):
            if isinstance(box, GlobalBox):
                at = tuple(slice(a, a + n) for a, n in zip(box.start, box.shape, strict=True))
                masks[box.tensor][at] = True
