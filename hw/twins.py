"""What the GPU shows of broken twins: guarded runs, and delays that provoke what timing hides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.errors import ScheduleError
from asyncsim.hw.compile import CompileError
from asyncsim.hw.launch import Child, RunResult, run_schedule
from asyncsim.hw.launch.child_process import LaunchFailed
from asyncsim.ir import op as ops
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.scenario import Scenario, Twin

DELAY_CYCLES = 20_000
_SIZES = {"m": 256, "n": 256, "k": 1024, "ctas": 8, "tiles": 24}

Row = dict[str, Any]


def measure_twins(child: Child, names: Iterable[str]) -> list[Row]:
    """A row for every twin: its rule, and how it shows on the GPU, if at all."""
    rows = []
    for name in names:
        scenario = find_scenario(name)
        rows += [_twin_row(child, scenario, twin) for twin in scenario.twins]
    return rows


def _twin_row(child: Child, scenario: Scenario, twin: Twin) -> Row:
    row: Row = {"scenario": scenario.name, "twin": twin.name, "rule": twin.rule.name}
    if not twin.launch:
        return {**row, "shown": False, "how": "never launched"}
    sizes = {n: v for n, v in _SIZES.items() if n in scenario.params and n not in twin.params}
    try:
        schedule = scenario.build(sizes, twin.name)
        shown, how, advisories = show(child, schedule)
    except (ScheduleError, CompileError) as error:
        return {**row, "shown": False, "how": str(error)}
    return {**row, "shown": shown, "how": how, "advisories": advisories}


def show(child: Child, schedule: Schedule) -> tuple[bool, str, list[str]]:
    """Whether a broken schedule shows on the GPU, how, and what ptxas advised.

    First without delays; then one op after the other is delayed, until the data are wrong, a wait
    times out, or the GPU raises an exception.
    """
    tries: list[tuple[str, dict[int | tuple[int, int], int]]] = [("", {})]
    for role in schedule.roles():
        last = role.first_warp + role.warps - 1
        for op in (s for s in statements(role.body) if isinstance(s, OpBase)):
            if not _may_matter(op):
                continue
            what = f"with op #{op.id} ({type(op).__name__}, {op.loc}) delayed"
            tries.append((f"{what}: ", {op.id: DELAY_CYCLES}))
            if role.warps > 1:
                tries.append((f"{what} in warp {last}: ", {(op.id, last): DELAY_CYCLES}))
    advisories: list[str] = []
    how = ""
    for where, delays in tries:
        try:
            r = run_schedule(schedule, child=child, launches=0, delays=delays, broken=True)
        except LaunchFailed as error:
            return True, f"{where}{error}", advisories
        advisories = list(r.compiled.resources.advisories)
        how = how or _outcome(r)
        if _shows(r):
            return True, where + _outcome(r), advisories
    return False, how, advisories


def _may_matter(op: OpBase) -> bool:
    return not isinstance(
        op, ops.MbarrierInit | ops.FenceMbarrierInit | ops.WgmmaMmaAsync | ops.StGlobal
    )


def _shows(r: RunResult) -> bool:
    return r.diagnosis is not None or not (r.verification is None or r.verification.ok)


def _outcome(r: RunResult) -> str:
    return str(r.diagnosis or r.verification)
