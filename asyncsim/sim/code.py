"""What generated code costs around the ops of a schedule.

A warp that computes waits for its conditions and variables one after the other. Among products of
mma.sync all of them are only issued, and so are addresses: there each takes something from the
tensor core of its sub-partition. See docs/model-notes.md.
"""

from __future__ import annotations

from asyncsim.ir import op as ops
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule
from asyncsim.sim.instructions import addresses, counted
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.turns import turn_costs


class Code:
    """Instructions of a schedule that are no ops, and what they cost."""

    def __init__(self, schedule: Schedule) -> None:
        self._turns = turn_costs(schedule)
        self._counted = counted(schedule)
        self._products = any(isinstance(op, ops.MmaSync) for op in schedule.ops())
        self._addresses = addresses(schedule) if self._products else {}

    def before(self, op: int, numbers: Numbers) -> int:
        """Ticks before an op: a loop's turn or an election, and what is computed first."""
        turn = sum(numbers.ticks(key) for key in self._turns.get(op, ()))
        if self._products or op not in self._counted:
            return turn
        return turn + self._counted[op] * numbers.ticks("alu.alu_latency")

    def among(self, op: OpBase, numbers: Numbers) -> int:
        """Ticks that the products of a warp lose to an op and to what is computed for it."""
        if not self._products:
            return 0
        count = self._counted.get(op.id, 0) + self._addresses.get(op.id, 0)
        lost = count * numbers.ticks("mma.beside_alu")
        if isinstance(op, ops.LdMatrix):
            lost += numbers.ticks("mma.beside_ldmatrix")
        elif isinstance(op, ops.CpAsync):
            lost += numbers.ticks("mma.beside_cp_async")
        return lost
