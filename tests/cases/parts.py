"""What the small schedules of the cases have in common: threads, barriers, cells of 16 bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from asyncsim import ScheduleBuilder, Severity
from asyncsim.build.handles import MbarrierArray
from asyncsim.build.value import Index
from asyncsim.check import check
from asyncsim.ir.op import MbarrierRef
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.written import written


def found(schedule: Schedule) -> list[str]:
    """The rules that a schedule breaks, once each; a warning with its severity. [] is clean."""
    result = check(schedule)
    assert result.verdict is not Verdict.INCOMPLETE, result.note
    names = [
        f.rule.name + (" warning" if f.severity is Severity.WARNING else "")
        for f in result.findings
    ]
    errors = any(f.severity is Severity.ERROR for f in result.findings)
    assert (result.verdict is Verdict.FINDINGS) == errors
    return list(dict.fromkeys(names))


class Case:
    """A block whose roles are single threads, over mbarriers and cells of 16 bytes.

    Row r of ``source`` is what a copy brings and what a read means.
    """

    def __init__(self, *, cells: int = 1, rows: int = 64) -> None:
        self.k = k = ScheduleBuilder("case")
        self.source = k.global_tensor("source", (rows, 4), "f32")
        self.map = k.tensor_map("source_map", self.source, box=(1, 4))
        self.buf = k.smem_tile("buf", (1, 4), "f32", stages=cells)
        self.reg = written(k, "reg", registers=4)
        self._bars: list[MbarrierArray] = []

    def bars(self, name: str, count: int = 1, stages: int = 1) -> MbarrierArray:
        """An array of mbarriers that ``start`` initialises."""
        array = self.k.mbarriers(name, count=count, stages=stages)
        self._bars.append(array)
        return array

    def start(self) -> None:
        """One thread initialises all barriers, and publishes them."""
        with self.k.elect_thread():
            self.k.mbarrier.init_all(*self._bars)
            self.k.fence.mbarrier_init()
        self.k.bar.sync()

    @contextmanager
    def thread(self, name: str) -> Iterator[None]:
        """A role of one warp, of which one lane runs the body."""
        with self.k.role(name, warps=1), self.k.elect():
            yield

    def copy(self, bar: MbarrierRef, row: Index, cell: Index = 0) -> None:
        """A TMA load of 16 bytes that count on ``bar``."""
        self.k.tma.load(self.buf[cell], self.map, (row, 0), bar)

    def load(self, bar: MbarrierRef, row: Index, cell: Index = 0) -> None:
        """Announce the bytes with an arrival, and copy."""
        self.k.mbarrier.arrive_expect_tx(bar, 16)
        self.copy(bar, row, cell)

    def read(self, row: Index, cell: Index = 0) -> None:
        """An ordinary read of a cell that means row ``row``."""
        view = self.buf[cell].expecting(self.source.box((row, 0), (1, 4)))
        self.k.mem.ld_shared(self.reg.all, view)

    def release(self, bar: MbarrierRef) -> None:
        """Tell a producer that copies by TMA that what was read may go."""
        self.k.fence.proxy_async("shared")
        self.k.mbarrier.arrive(bar)
