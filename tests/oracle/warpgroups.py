"""Registers of one warp and wgmma: they are private, so one pass in program order decides."""

from __future__ import annotations

from asyncsim.ir import op as ops
from asyncsim.ir.op import FragmentRef, GroupKind, OpBase


class Registers:
    """Follows the ops of a warp; says what is wrong at one of them."""

    def __init__(self) -> None:
        self.fenced = False
        self.touched: set[tuple[str, int]] = set()
        self.shapes: dict[str, tuple[int, int]] = {}
        self.open: set[tuple[str, int]] = set()
        self.groups: list[set[tuple[str, int]]] = []

    def step(self, op: OpBase) -> str:
        match op:
            case ops.WgmmaFence():
                self.fenced = True
                self.touched.clear()
                self.shapes.clear()
            case ops.WgmmaMmaAsync(d=d, a=a, n=n, k=k):
                registers = _registers(d) | (_registers(a) if isinstance(a, FragmentRef) else set())
                shape = self.shapes.setdefault(d.name, (n, k))
                self.open |= registers
                if not self.fenced or self.touched & registers or shape != (n, k):
                    return "wgmma fence"
            case ops.CommitGroup(kind=GroupKind.WGMMA):
                self.groups.append(self.open)
                self.open = set()
            case ops.WaitGroup(kind=GroupKind.WGMMA, n=n):
                self.groups = self.groups[max(0, len(self.groups) - n) :] if n else []
            case _:
                registers = self._touched(op)
                self.touched |= registers
                if registers & self.open or any(registers & g for g in self.groups):
                    return "registers in flight"
        return ""

    def _touched(self, op: OpBase) -> set[tuple[str, int]]:
        match op:
            case ops.LdGlobal(dst=ref) | ops.LdShared(dst=ref):
                return _registers(ref)
            case ops.StGlobal(src=ref) | ops.StShared(src=ref):
                return _registers(ref)
            case ops.Compute(operands=operands):
                refs = [o for o in operands if isinstance(o, FragmentRef)]
                return set().union(*map(_registers, refs)) if refs else set()
            case _:
                return set()

    @property
    def in_flight(self) -> bool:
        return bool(self.open or any(self.groups))


def _registers(ref: FragmentRef) -> set[tuple[str, int]]:
    return {(ref.name, r) for r in range(ref.first, ref.first + ref.count)}
