"""Ops that the two CTAs of a pair execute together: alloc and dealloc of cta_group 2."""

from __future__ import annotations

from collections.abc import Callable

from asyncsim.check.model import Agent, Step

Meeting = tuple[int, int]
"""The op, and how many times its CTA has come to it before."""


class PairOps:
    """Each CTA waits at the op until its peer has come to it as often."""

    def __init__(self, wake: Callable[[list[Agent]], None]) -> None:
        self._wake = wake
        self._times: dict[tuple[int, int], int] = {}  # rank, op
        self._meetings: dict[tuple[int, int], Meeting] = {}  # warp, position
        self._there: dict[tuple[int, Meeting], set[int]] = {}
        self._waiting: dict[tuple[int, Meeting], Agent] = {}

    def meet(self, agent: Agent, step: Step, rank: int) -> bool:
        """Whether both are there; else the agent waits for the peer."""
        at, op = (step.warp.index, step.pos), step.dyn.op.id
        meeting = self._meetings.get(at)
        if meeting is None:
            n = self._times.get((rank, op), 0)
            self._times[rank, op] = n + 1
            meeting = self._meetings[at] = op, n
        key = rank // 2, meeting
        there = self._there.setdefault(key, set())
        there.add(rank)
        if len(there) < 2:
            self._waiting[key] = agent
            return False
        if (waiting := self._waiting.pop(key, None)) is not None and waiting is not agent:
            self._wake([waiting])
        return True
