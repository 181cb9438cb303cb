"""The ops of one warp, and with them those of other warps that execute the same."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsim.ir.op import OpBase
from asyncsim.stream.dyn import Dyn
from asyncsim.stream.operands import Values, operand_exprs
from asyncsim.stream.resolve import Resolver
from asyncsim.stream.tables import Maker, same_in_all_warps


class Together:
    """Binds ops for one warp. Where operands depend on the thread's index, what the ``others``
    execute comes with the Dyn, as ``also``; elsewhere it differs in the registers alone."""

    def __init__(self, own: Resolver, others: Sequence[Resolver]) -> None:
        self._own, self._others = own, others

    def bind(self, op: OpBase, warp_in_role: int) -> Maker:
        make = self._own.bind(op, warp_in_role)
        if same_in_all_warps(operand_exprs(op)):
            return make
        more = [r.bind(op, warp_in_role + r.warp - self._own.warp) for r in self._others]

        def all_of(values: Values) -> Dyn:
            dyn = make(values)
            dyn.also = dyn.also or tuple([m(values) for m in more])
            return dyn

        return all_of
