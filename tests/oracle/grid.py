"""The explorer on all clusters of a grid, of one CTA mostly: each by itself, and
what they write in common."""

from __future__ import annotations

from itertools import product

from asyncsim.ir.schedule import Schedule
from tests.oracle import weak
from tests.oracle.leaving import uneven
from tests.oracle.states import Explorer, explore
from tests.oracle.translate import global_elements, translate


class Grid:
    """The machines of all clusters. Raises Untranslated, and ScheduleError as the streams do."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        blocks = product(*map(range, schedule.grid))
        self.clusters = [schedule.cluster_of(b) for b in blocks if schedule.rank(b) == 0]
        self.machines = [translate(schedule, cluster[0]) for cluster in self.clusters]

    def explore(self, max_states: int, *, warnings: bool) -> set[str]:
        """The first trouble of any CTA, or "overlap". Raises TooLarge."""
        for machine in self.machines:
            if machine.weak:
                found = weak.explore(machine, max_states)
            else:
                found = explore(machine, max_states, warnings=warnings)
            if found:
                return found
        return {"overlap"} if len(self.clusters) > 1 and self._overlap() else set()

    def lets_ends_order(self) -> bool:
        """Whether a block barrier may go on without warps that have ended: what these did last
        comes before what follows in each interleaving, and yet nothing orders it (decision 0011).
        """
        return any(uneven(Explorer(m, 0, warnings=False, reduced=True)) for m in self.machines)

    def _overlap(self) -> bool:
        touched: dict[tuple[str, int], set[int]] = {}
        written: dict[tuple[str, int], set[int]] = {}
        for number, cluster in enumerate(self.clusters):
            for block in cluster:
                for name, elements, write in global_elements(self.schedule, block):
                    for element in elements:
                        touched.setdefault((name, element), set()).add(number)
                        if write:
                            written.setdefault((name, element), set()).add(number)
        return any(len(touched[at]) > 1 for at in written)
