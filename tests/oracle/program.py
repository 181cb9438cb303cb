"""Small schedules for the oracle: threads over barriers and cells, and how to build them.

A thread is a warp: its elected lane, and the other lanes for the ops that all lanes execute; each
cell is a 16-byte tile stage. Generic accesses are
followed by a proxy fence: the explorer knows no proxies.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from asyncsim import ScheduleBuilder
from asyncsim.build.handles import StateHandle
from asyncsim.ir.schedule import Schedule
from tests.check.written import written

UNIT = 16  # bytes of a cell, of a copy, and of one unit of expect


@dataclass(frozen=True)
class Op:
    """kind: arrive expect arrive_expect copy wait wait_state read write sync bar_arrive cp_async
    commit wait_group init meet. ``n``: arrivals, units, parity, threads or N; ``tag``: row of the
    source; ``wide``: executed by all 32 lanes (arrive, wait, read); ``others``: by the lanes that
    were not elected, in one election with an elected op just before; ``keep``: an arrive that keeps
    its state."""

    kind: str
    b: int = -1
    n: int = 1
    cell: int = -1
    tag: int | None = None
    wide: bool = False
    others: bool = False
    keep: bool = False

    def __str__(self) -> str:
        who = "*" if self.wide else "'" if self.others else ""
        parts = [self.kind + who + ("!" if self.keep else "")]
        if self.b >= 0:
            parts.append(f"b{self.b}")
        if self.kind not in ("read", "write", "copy", "cp_async", "commit", "meet", "wait_state"):
            parts.append(str(self.n))
        if self.cell >= 0:
            parts.append(f"cell{self.cell}")
        if self.tag is not None:
            parts.append(f"row{self.tag}")
        return " ".join(parts)


@dataclass(frozen=True)
class Case:
    """``counts``: of each mbarrier. ``late``: mbarriers that a thread initialises itself."""

    counts: tuple[int, ...]
    cells: int
    threads: tuple[tuple[Op, ...], ...]
    late: frozenset[int] = field(default_factory=frozenset)

    def __str__(self) -> str:
        lines = [f"counts {self.counts} cells {self.cells} late {sorted(self.late)}"]
        lines += [f"T{i}: " + "; ".join(map(str, t)) for i, t in enumerate(self.threads)]
        return "\n".join(lines)

    def with_thread(self, i: int, ops: tuple[Op, ...]) -> Case:
        return replace(self, threads=(*self.threads[:i], ops, *self.threads[i + 1 :]))


def elections(thread: tuple[Op, ...]) -> list[int | None]:
    """Of each op, the number of its election; None if all lanes of the warp execute it."""
    found: list[int | None] = []
    count = 0
    for i, op in enumerate(thread):
        if op.wide or op.kind in ("meet", "sync", "bar_arrive"):
            found.append(None)
            continue
        together = i > 0 and found[-1] is not None and op.others and not thread[i - 1].others
        count += not together
        found.append(count)
    return found


def build(case: Case) -> Schedule:
    """The schedule of a case: one role of one warp a thread."""
    k = ScheduleBuilder("oracle")
    source = k.global_tensor("source", (64, 4), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 4))
    buf = k.smem_tile("buf", (1, 4), "f32", stages=max(1, case.cells))
    bars = [k.mbarriers(f"b{i}", count=n) for i, n in enumerate(case.counts)]
    reg = written(k, "reg", registers=4)
    meetings = {(o.b, o.n) for t in case.threads for o in t if o.kind in ("sync", "bar_arrive")}
    named = {(b, n): k.named_barrier(f"n{b}_{n}", id=b + 1, threads=n) for b, n in sorted(meetings)}
    early = [b for i, b in enumerate(bars) if i not in case.late]
    with k.elect_thread():
        if early:
            k.mbarrier.init_all(*early)
            k.fence.mbarrier_init()
    k.bar.sync()

    states = [k.mbarrier_state(f"s{i}") for i in range(len(case.threads))]

    def emit(op: Op, state: StateHandle) -> None:
        kept = state if op.keep else None
        cell = buf[op.cell] if op.cell >= 0 else None
        match op.kind:
            case "init":
                k.mbarrier.init(bars[op.b][0], op.n)
                k.fence.mbarrier_init()
            case "arrive":
                k.mbarrier.arrive(bars[op.b][0], op.n, state=kept)
            case "expect":
                k.mbarrier.expect_tx(bars[op.b][0], UNIT * op.n)
            case "arrive_expect":
                k.mbarrier.arrive_expect_tx(bars[op.b][0], UNIT * op.n, state=kept)
            case "copy":
                k.tma.load(cell, source_map, (op.tag, 0), bars[op.b][0])
            case "wait":
                k.mbarrier.wait(bars[op.b][0], op.n)
            case "wait_state":
                k.mbarrier.wait_state(bars[op.b][0], state)
            case "read":
                view = cell if op.tag is None else cell.expecting(source.box((op.tag, 0), (1, 4)))
                k.mem.ld_shared(reg.all, view)
                k.fence.proxy_async()
            case "write":
                k.mem.st_shared(cell, reg.all)
                k.fence.proxy_async()
            case "cp_async":
                k.cp_async.copy(cell, source.box((op.tag, 0), (1, 4)))
            case "commit":
                k.cp_async.commit_group()
            case "wait_group":
                k.cp_async.wait_group(op.n)
                k.fence.proxy_async()
            case _:
                raise AssertionError(op.kind)

    with k.specialize():
        for i, thread in enumerate(case.threads):
            with k.role(f"t{i}", warps=1):
                numbers = elections(thread)
                for at, op in enumerate(thread):
                    if op.kind == "sync":
                        k.bar.sync(named[op.b, op.n])
                    elif op.kind == "bar_arrive":
                        k.bar.arrive(named[op.b, op.n])
                    elif op.kind == "meet":
                        k.bar.warp_sync()
                    elif op.wide:
                        emit(op, states[i])
                    elif op.others:
                        if at == 0 or numbers[at] != numbers[at - 1]:
                            with k.elect():
                                pass
                        with k.others():
                            emit(op, states[i])
                    else:
                        with k.elect():
                            emit(op, states[i])
    return k.finish()
