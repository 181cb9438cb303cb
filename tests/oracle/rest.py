"""What each chain may still do, position by position: the basis of the explorer's reduction."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.oracle.acts import Do, Flight, Machine, Mma

ON_BARRIER = frozenset(
    {Do.INIT, Do.INVAL, Do.ARRIVE, Do.EXPECT, Do.WAIT, Do.WAIT_STATE, Do.PEEK, Do.COPY}
)


@dataclass(slots=True)
class Rest:
    """Per pc of one chain. ``bars``: mbarriers used from here on; ``read``, ``write``: atoms
    touched from here on, flights included; ``generic``, ``asynchronous``: through which proxy;
    ``fenced``: atoms that a proxy fence covers. ``flying_*``: atoms of its group copies in flight.
    """

    bars: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    write: list[int] = field(default_factory=list)
    generic: list[int] = field(default_factory=list)
    asynchronous: list[int] = field(default_factory=list)
    fenced: list[int] = field(default_factory=list)
    flying_read: list[int] = field(default_factory=list)
    flying_write: list[int] = field(default_factory=list)


def rest_of(machine: Machine, chain: int) -> Rest:
    """The suffix sums of one chain."""
    acts = machine.chains[chain]
    flights = [f for f in machine.flights if f.chain == chain]
    retired = _retired(machine, chain, flights)
    rest = Rest()
    bars = read = write = generic = asynchronous = fenced = 0
    for pc in range(len(acts), -1, -1):
        if pc < len(acts):
            act = acts[pc]
            uses = [act.use, *retired.get(pc, ())]
            if act.do in ON_BARRIER:
                bars |= 1 << act.target
            for use in uses:
                read |= use.read
                write |= use.write
                if use.is_async:
                    asynchronous |= use.read | use.write
                else:
                    generic |= use.read | use.write
            fenced |= act.space
        for known, value in (
            (rest.bars, bars),
            (rest.read, read),
            (rest.write, write),
            (rest.generic, generic),
            (rest.asynchronous, asynchronous),
            (rest.fenced, fenced),
        ):
            known.append(value)
        flying = [f for f in flights if f.issued < pc]
        rest.flying_read.append(
            _or(f.use.read for f in flying if f.read_until is None or pc <= f.read_until)
        )
        rest.flying_write.append(
            _or(f.use.write for f in flying if f.until is None or pc <= f.until)
        )
    for known in (getattr(rest, name) for name in Rest.__dataclass_fields__):
        known.reverse()
    return rest


def _or(masks) -> int:  # type: ignore[no-untyped-def]
    total = 0
    for mask in masks:
        total |= mask
    return total


def _retired(machine: Machine, chain: int, flights: list[Flight]):  # type: ignore[no-untyped-def]
    """pc: the uses that end there."""
    found: dict[int, list] = {}
    for f in flights:
        for pc in {f.read_until, f.until} - {None}:
            found.setdefault(pc, []).append(f.use)
    warp = chain // 2
    if chain % 2 == 0 and warp in machine.group_of:
        for mma in machine.mmas[machine.group_of[warp]]:
            if warp in mma.waited:
                found.setdefault(mma.waited[warp], []).append(mma.use)
    return found


@dataclass(slots=True)
class Warpgroup:
    """How many of its wgmma have begun, and are over, once one of its warps stands at a pc."""

    warps: list[int]
    mmas: list[Mma]
    begun: dict[int, list[int]]
    over: dict[int, list[int]]


def warpgroups(machine: Machine) -> list[Warpgroup]:
    """One entry a warpgroup."""
    found = []
    for number, mmas in enumerate(machine.mmas):
        warps = [w for w, g in machine.group_of.items() if g == number]
        begun: dict[int, list[int]] = {}
        over: dict[int, list[int]] = {}
        for w in warps:
            length = len(machine.chains[2 * w]) + 1
            issued = [m.issued.get(w, length) for m in mmas]
            waited = [m.waited.get(w, length) for m in mmas]
            begun[w] = [sum(i < pc for i in issued) for pc in range(length)]
            over[w] = [sum(i < pc for i in waited) for pc in range(length)]
        found.append(Warpgroup(warps, mmas, begun, over))
    return found
