"""A compute that writes shared memory is finished in place, and pays for its work once."""

from __future__ import annotations

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from tests.sim.test_handlers import cycles


def computes(kind: str, n: int, warps: int) -> Schedule:
    """Two roles, so that their warps share the pipes; each computes ``n`` times."""
    k = ScheduleBuilder("in_place", archs=("sm_90a",))
    tile, values = k.smem_tile("tile", (32, 1), "f32", stages=2), k.fragment("values", registers=1)
    defn = ComputeDef(
        name="fill",
        operands=(ComputeOperand(name="to", kind=kind, mode=AccessMode.WRITE),),
        work=lambda: Work(ffma=64, chain_ffma=100),
        cuda="",
        numpy=lambda to, **_: to.fill(0),
    )
    with k.specialize():
        for i in range(2):
            with k.role(f"role{i}", warps=warps):
                for _ in range(n):
                    k.mem.compute(defn, tile[i] if kind == "smem" else values.all)
    return k.finish()


@pytest.mark.parametrize("warps", [4, 8])
def test_it_costs_what_a_compute_on_registers_costs(warps: int) -> None:
    def each(kind: str) -> float:
        return cycles(computes(kind, 3, warps)) - cycles(computes(kind, 2, warps))

    assert each("smem") == each("fragment") > 0
