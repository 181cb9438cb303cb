"""Global stores by the sectors of 32 bytes that the instructions of a warp write.

Sectors that lie side by side are a run: a row of a tile, or a part of one. A sector that is written
whole costs least, the first of a run that is written in part most, a further one in between: a row
that straddles two sectors costs less than two rows of half a sector. See docs/model-notes.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from operator import mul
from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.ir.vectors import vector_elements
from asyncsim.machine import ticks
from asyncsim.sim.numbers import Numbers

if TYPE_CHECKING:
    from asyncsim.sim.steps import Bound
    from asyncsim.stream.operands import Values

SECTOR = 32
ROWS = 8  # of the stores that the numbers of the machine file come from
KEPT = 1024  # patterns of lanes; the stores of an epilogue have one


@dataclass(frozen=True, slots=True)
class Sectors:
    """Sectors of a warp's store: whole ones, first partial ones of their runs, further ones."""

    accesses: int
    whole: int
    first: int
    further: int

    def issue(self, n: Numbers) -> int:
        """Ticks of the SM's store port."""
        whole, first = n.exact("gst.issue") / ROWS, n.exact("gst.partial_issue") / ROWS
        further = n.exact("gst.straddle_issue") / ROWS - first
        return ticks(self.whole * whole + self.first * first + self.further * further)

    def device_bytes(self, n: Numbers) -> int:
        """What the store is worth in bytes of whole sectors, for all SMs together."""
        half = SECTOR // 2 * n.rate("gst.device")  # rows of half a sector's bytes
        first = half / n.rate("gst.partial_device")
        further = half / n.rate("gst.straddle_device") - first
        return round(self.whole * SECTOR + self.first * first + self.further * further)


def sectors_of(b: Bound, op: ops.StGlobal, starts: list[Values]) -> Sectors:
    """The sectors of an execution, of which each lane starts somewhere; elements that a clipped
    store leaves out count as well."""
    schedule, view = b.model.schedule, op.dst
    tensor = schedule.tensor(view.tensor)
    size = tensor.dtype.bytes
    n = vector_elements(schedule, view, clip=op.clip)
    lanes = [size * sum(map(mul, start, tensor.strides)) for start in starts[: b.lanes]]
    steps = [range(extent) for extent in view.shape[:-1]] + [range(0, view.shape[-1], n)]
    offsets = tuple(size * sum(map(mul, at, tensor.strides)) for at in product(*steps))
    base = lanes[0] // SECTOR * SECTOR
    return _sectors(tuple([lane - base for lane in lanes]), offsets, n * size)


@lru_cache(KEPT)
def _sectors(lanes: tuple[int, ...], offsets: tuple[int, ...], width: int) -> Sectors:
    """Of lanes that write so many bytes from where they start, once for each offset."""
    whole = first = further = 0
    for offset in offsets:
        for run in _runs((lane + offset, width) for lane in lanes):
            partial = sum(filled < SECTOR for filled in run)
            whole += len(run) - partial
            first += bool(partial)
            further += max(0, partial - 1)
    return Sectors(len(offsets), whole, first, further)


def _runs(pieces: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Bytes that are written of each sector, by runs of sectors that lie side by side."""
    filled: dict[int, int] = {}
    for start, size in set(pieces):
        while size:
            sector = start // SECTOR
            part = min(size, (sector + 1) * SECTOR - start)
            filled[sector] = filled.get(sector, 0) + part
            start, size = start + part, size - part
    run: list[int] = []
    before = None
    for sector in sorted(filled):
        if run and sector != before:
            yield run
            run = []
        run.append(filled[sector])
        before = sector + 1
    if run:
        yield run
