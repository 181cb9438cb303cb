"""Allocations of tensor memory in an execution: made before they are used, freed after.

An allocation is known by the word of shared memory that its address was written to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.describe import op_text
from asyncsim.check.model import Agent, Chain, Step
from asyncsim.check.report import Breach, Condition, Fault
from asyncsim.ir import op as ops
from asyncsim.memory.region import TmemRegion
from asyncsim.rules import Rule
from asyncsim.sync.tmem import TMEM_COLUMNS, TmemAllocator


@dataclass(slots=True, eq=False)
class Allocation:
    """``made`` and ``gone``: what a later op must know to be after its alloc, its dealloc."""

    step: Step
    first: int
    columns: int
    made: int
    freed: Step | None = None
    gone: int = 0


class Allocations:
    """The allocations of the CTAs of a cluster, each of which has an SM's tensor memory alone."""

    def __init__(
        self,
        layout: ClockLayout,
        fault: Callable[[Fault], None],
        breach: Callable[[Breach], None],
    ) -> None:
        self._layout, self._fault, self._breach = layout, fault, breach
        self._control = layout.guards[Section.CONTROL]
        self._memory: dict[int, TmemAllocator] = {}
        self.by_word: dict[tuple[int, str], Allocation] = {}
        self.all: dict[int, list[Allocation]] = {}
        self._relinquished: dict[int, Step] = {}
        self.blocked: list[Agent] = []
        self.most: dict[int, int] = {}  # columns that may be allocated at a time

    def alloc(self, chain: Chain, step: Step, word: str) -> bool:
        """Whether there was room; ``chain`` speaks for the warp."""
        rank, columns, clock = step.warp.place.rank, step.dyn.value, chain.now(step.pos)
        memory = self._memory.setdefault(rank, TmemAllocator())
        if rank in self._relinquished:
            self._report(
                Rule.TMEM_ALLOC,
                f"{op_text(step.dyn)} comes after tcgen05.relinquish_alloc_permit of its CTA",
                step,
                self._relinquished[rank],
            )
        before = self.all.setdefault(rank, [])
        self._room(before, columns, clock, step, rank)
        first = memory.alloc(0, columns)
        if first is None:
            return False
        larger = [a for a in before if a.columns < columns]
        if larger:
            self._report(
                Rule.TMEM_ALLOC_ORDER,
                f"{op_text(step.dyn)} is larger than the {larger[-1].columns} columns that its CTA "
                "allocated before",
                step,
                larger[-1].step,
                warning=True,
            )
        made = (step.pos + 1) << chain.shift_control
        found = Allocation(step, first, columns, made)
        before.append(found)
        self.by_word[rank, word] = found
        return True

    def _room(
        self, before: list[Allocation], columns: int, clock: int, step: Step, rank: int
    ) -> None:
        """Condition M: what may be allocated in any execution leaves room."""
        live = sum(a.columns for a in before if not (a.gone and self._known(clock, a.gone)))
        self.most[rank] = max(self.most.get(rank, 0), live + columns)
        if live + columns > TMEM_COLUMNS:
            self._breach(
                Breach(
                    condition=Condition.M,
                    barrier="tensor memory",
                    array="tensor memory",
                    generation=live,
                    step=step,
                )
            )

    def dealloc(self, chain: Chain, step: Step, word: str) -> Allocation | None:
        """The allocation that is freed; None if there is none."""
        op = step.dyn.op
        assert isinstance(op, ops.Tcgen05Dealloc)
        rank, columns = step.warp.place.rank, step.dyn.value
        found = self.by_word.get((rank, word))
        wrong, other = "", found.step if found else None
        if found is None:
            wrong = f"whose address no tcgen05.alloc has written to {word}"
        elif found.freed is not None:
            wrong, other = "which has been freed before", found.freed
        elif op.offset:
            wrong = f"at {op.offset} columns after the address of the allocation"
        elif found.columns != columns:
            wrong = f"of an allocation of {found.columns}"
        if wrong or found is None:
            self._report(
                Rule.TMEM_DEALLOC, f"{op_text(step.dyn)} of {columns} columns {wrong}", step, other
            )
            return None
        self._memory[rank].dealloc(0, found.first, columns)
        found.freed, found.gone = step, (step.pos + 1) << chain.shift_control
        return found

    def used(self, rank: int) -> int:
        """Columns that are allocated in a CTA."""
        return self._memory[rank].used

    def relinquish(self, chain: Chain, step: Step) -> None:
        rank, clock = step.warp.place.rank, chain.now(step.pos)
        self._relinquished.setdefault(rank, step)
        for a in self.all.get(rank, ()):
            if a.step.warp is not step.warp and not self._known(clock, a.made):
                self._report(
                    Rule.TMEM_ALLOC,
                    f"{op_text(step.dyn)} may come before {op_text(a.step.dyn)} by another warp",
                    step,
                    a.step,
                )

    def use(self, chain: Chain, step: Step, region: TmemRegion) -> bool:
        """Whether an op touches memory that is allocated, of its own CTA or of the peer's."""
        rank, owner = step.warp.place.rank, region.owner
        found = self.by_word.get((owner, region.address))
        of = f" of CTA {owner}" if owner != rank else ""
        if found is None:
            what = f"uses {region.name}{of}: no tcgen05.alloc has written {region.address}{of}"
            self._report(Rule.TMEM_ALLOC, f"{op_text(step.dyn)} {what}", step, None)
            return False
        if found.freed is not None:
            what = f"uses {region.name}{of} after its allocation was freed"
            self._report(Rule.TMEM_ALLOC, f"{op_text(step.dyn)} {what}", step, found.freed)
            return False
        if region.first + region.columns > found.columns:
            what = f"uses {region}{of} of an allocation of {found.columns} columns"
            self._report(Rule.OUT_OF_BOUNDS, f"{op_text(step.dyn)} {what}", step, found.step)
            return False
        mine = self.by_word.get((rank, region.address))
        known = chain.now(step.pos)
        # the two allocs of a pair are one: who is after its own is after the peer's
        if owner != rank and not any(a and self._known(known, a.made) for a in (found, mine)):
            what = f"uses {region.name}{of}, which may not have allocated it"
            self._report(Rule.TMEM_ALLOC, f"{op_text(step.dyn)} {what}", step, found.step)
            return False
        return True

    def check_exit(self, ctas_per_sm: int, launched: int) -> None:
        """Nothing may stay allocated; CTAs of one SM share its columns."""
        for every in self.all.values():
            for a in every:
                if a.freed is None:
                    message = f"{op_text(a.step.dyn)} is never freed"
                    self._report(Rule.TMEM_LEAK, message, a.step, None)
        most = max(self.most.values(), default=0)
        together = min(ctas_per_sm, launched)
        if together > 1 and together * most > TMEM_COLUMNS:
            step = next(iter(self.all.values()))[0].step
            message = (
                f"{together} CTAs of an SM want {most} columns each, of {TMEM_COLUMNS}: the later "
                "ones wait in tcgen05.alloc until an earlier one has freed its own"
            )
            self._report(Rule.TMEM_CAPACITY, message, step, None, warning=True)

    def _known(self, clock: int, epoch: int) -> bool:
        return self._layout.covers(clock, epoch, self._control)

    def _report(
        self, rule: Rule, message: str, step: Step, other: Step | None, *, warning: bool = False
    ) -> None:
        self._fault(Fault(rule=rule, message=message, step=step, other=other, warning=warning))
