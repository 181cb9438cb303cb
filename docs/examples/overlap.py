"""overlap: rows go from a to b and on to c by two kernels, the second of which starts early."""

from __future__ import annotations

from asyncsim import Program, Rule, ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Twin, scenario

TWINS = (
    Twin(
        name="no_wait",
        rule=Rule.PDL_ORDER,
        summary="the second kernel reads b without waiting for the first",
    ),
)


def step(name: str, source: str, result: str, ctas: int, *, waits: bool) -> Schedule:
    k = ScheduleBuilder(name)
    k.grid(ctas)
    k.block(1)
    place = ((k.block_idx, k.lane), (1, 1))
    row = k.global_tensor(source, (ctas, 32), "u32").box(*place)
    out = k.global_tensor(result, (ctas, 32), "u32", output=True).box(*place)
    x = k.fragment("x", registers=1, dtype="u32")
    if waits:
        k.griddepcontrol.wait()
    k.mem.ld_global(x.all, row)
    k.griddepcontrol.launch_dependents()
    k.mem.st_global(out, x.all)
    return k.finish()


@scenario(summary="two kernels by programmatic dependent launch", twins=TWINS)
def overlap(*, ctas: int = 132, twin: str = "") -> Program:
    return Program(
        step("first", "a", "b", ctas, waits=False),
        step("second", "b", "c", ctas, waits=twin != "no_wait"),
    )
