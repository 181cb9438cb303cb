"""The CTAs of a cluster in one machine: who runs, who has exited, and the cluster's barrier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.acts import Act, Fault

if TYPE_CHECKING:
    from tests.oracle.states import Explorer, State

Round = tuple[int, int, tuple[int, ...]]
"""Rounds of the cluster barrier that are over, the warps that have arrived for the open one (a
mask), and per warp the round that it has arrived for and not waited for, -1: none."""


def begin(warps: int) -> Round:
    return (0, 0, (-1,) * warps)


def arrive(now: Round, warp: int) -> Round:
    done, arrived, owed = now
    if owed[warp] >= 0:
        raise Fault
    return (done, arrived | 1 << warp, (*owed[:warp], done, *owed[warp + 1 :]))


def passes(now: Round, warp: int) -> bool:
    """Whether a warp may go on at its wait."""
    done, _, owed = now
    if owed[warp] < 0:
        raise Fault
    return done > owed[warp]


def waited(now: Round, warp: int) -> Round:
    done, arrived, owed = now
    return (done, arrived, (*owed[:warp], -1, *owed[warp + 1 :]))


def settled(x: Explorer, pcs: tuple[int, ...], now: Round) -> Round:
    """A round is over when all warps have arrived that have not ended."""
    done, arrived, owed = now
    if not arrived:
        return now
    for w in range(len(pcs) // 2):
        if not arrived >> w & 1 and not all(pcs[i] == len(x.chains[i]) for i in (2 * w, 2 * w + 1)):
            return now
    return (done + 1, 0, owed)


def exited(x: Explorer, pcs: list[int] | tuple[int, ...]) -> int:
    """The CTAs, a mask of ranks, that have nothing left to do."""
    found = (1 << x.m.ctas) - 1
    for i, pc in enumerate(pcs):
        if pc < len(x.chains[i]):
            found &= ~(1 << x.rank_of[i])
    return found


def running(x: Explorer, pcs: tuple[int, ...]) -> int:
    """The CTAs that have done something."""
    found = 0
    for i, pc in enumerate(pcs):
        if pc:
            found |= 1 << x.rank_of[i]
    return found


def reaches(x: Explorer, state: State, act: Act) -> None:
    """Faults if the act goes to a CTA that does not run: not yet, or no more."""
    pcs = state[0]
    if act.peers and (act.peers & ~running(x, pcs) or act.peers & exited(x, pcs)):
        raise Fault
