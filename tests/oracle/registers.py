"""The register pool by brute force: warpgroups that trade registers, signal and wait.

Shares no code with the checker. The four warps of a warpgroup run one program; a state is how far
each of them has come.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule

LAUNCH = 64  # registers of a thread at launch
Pcs = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Step:
    """kind: set (``n`` registers from here on), meet (the four warps), arrive, wait (signal n)."""

    kind: str
    n: int = 0


Trade = tuple[tuple[Step, ...], ...]
"""A program for each warpgroup. Each signal is completed by all four warps of one warpgroup."""


def random_trade(rng: Random) -> Trade:
    """Two or three warpgroups; signals that may or may not lead from a dec to an inc."""
    groups = rng.choice([2, 2, 2, 3])
    programs: list[list[Step]] = [[] for _ in range(groups)]
    held = [LAUNCH] * groups
    signal = 0
    for _ in range(rng.randint(2, 7 if groups == 2 else 5)):
        g = rng.randrange(groups)
        if rng.random() < 0.6:
            count = rng.choice([24, 40, 64, 88, 104])
            if any(s.kind == "set" for s in programs[g]):
                programs[g].append(Step("meet"))
            programs[g].append(Step("set", count))
            held[g] = count
        else:
            other = rng.choice([i for i in range(groups) if i != g])
            programs[g].append(Step("arrive", signal))
            programs[other].insert(rng.randint(0, len(programs[other])), Step("wait", signal))
            signal += 1
    return tuple(tuple(p) for p in programs)


def build(trade: Trade) -> Schedule:
    """The schedule: one role of four warps for each program, elected lanes arrive."""
    k = ScheduleBuilder("trade")
    k.launch_bounds(1, maxnreg=LAUNCH)
    signals = sum(s.kind == "arrive" for p in trade for s in p)
    done = k.mbarriers("done", count=4, stages=max(1, signals))
    meetings = [k.named_barrier(f"meet{g}", id=g + 1, threads=128) for g in range(len(trade))]
    with k.elect_thread():
        k.mbarrier.init_all(done)
    k.bar.sync()
    with k.specialize():
        for g, program in enumerate(trade):
            with k.role(f"g{g}", warps=4):
                held = LAUNCH
                for step in program:
                    match step.kind:
                        case "set" if step.n < held:
                            k.setmaxnreg.dec(step.n)
                        case "set":
                            k.setmaxnreg.inc(step.n)
                        case "meet":
                            k.bar.sync(meetings[g])
                        case "arrive":
                            with k.elect():
                                k.mbarrier.arrive(done[step.n])
                        case _:
                            k.mbarrier.wait(done[step.n], 0)
                    held = step.n if step.kind == "set" else held
    return k.finish()


def can_hang(trade: Trade) -> bool:
    """Whether some order of the warps ends with one that waits for ever."""
    start: Pcs = ((0,) * 4,) * len(trade)
    seen, stack = {start}, [start]
    while stack:
        pcs = stack.pop()
        after = _after(trade, pcs)
        if not after and any(pc < len(p) for p, g in zip(trade, pcs, strict=True) for pc in g):
            return True
        for state in after:
            if state not in seen:
                seen.add(state)
                stack.append(state)
    return False


def _after(trade: Trade, pcs: Pcs) -> list[Pcs]:
    free = sum(
        LAUNCH - _held(program, pc)
        for program, group in zip(trade, pcs, strict=True)
        for pc in group
    )
    found = []
    for g, program in enumerate(trade):
        for pc in sorted(set(pcs[g])):
            if pc == len(program):
                continue
            step = program[pc]
            if step.kind == "meet":
                if set(pcs[g]) == {pc}:
                    found.append(_put(pcs, g, (pc + 1,) * 4))
                continue
            if step.kind == "set" and step.n - _held(program, pc) > free:
                continue
            if step.kind == "wait" and not _complete(trade, pcs, step.n):
                continue
            moved = list(pcs[g])
            moved[moved.index(pc)] += 1
            found.append(_put(pcs, g, tuple(sorted(moved))))
    return found


def _put(pcs: Pcs, g: int, group: tuple[int, ...]) -> Pcs:
    return (*pcs[:g], group, *pcs[g + 1 :])


def _held(program: tuple[Step, ...], pc: int) -> int:
    counts = [s.n for s in program[:pc] if s.kind == "set"]
    return counts[-1] if counts else LAUNCH


def _complete(trade: Trade, pcs: Pcs, signal: int) -> bool:
    return any(
        s == Step("arrive", signal) and min(group) > i
        for program, group in zip(trade, pcs, strict=True)
        for i, s in enumerate(program)
    )
