"""Whether the SMs of a GPC are in step, as far as one CTA can tell.

CTAs start together, so their loads of the same lines meet and are fetched once. An SM that has
data in hand for less time than landings are spread stalls now and then; stalls of its own drive
it away from its neighbours, and lines are fetched again. See docs/model-notes.md.
"""

from __future__ import annotations

from collections import deque

SETTLING = 2  # waits without a longer margin before a short one counts


class Pace:
    """What the waits of one consumer say. ``spread``: of landings, in ticks.

    Changes carry the tick from which they hold: consumers run ahead of the loads that ask.
    """

    __slots__ = ("_apart", "_best", "_changes", "_known", "_since", "_spread")

    def __init__(self, spread: int) -> None:
        self._spread = spread
        self._best: int | None = None
        self._since = 0
        self._known = self._apart = False  # as of the last wait, as of the last question
        self._changes: deque[tuple[int, bool]] = deque()

    def waited(self, margin: int, time: int) -> None:
        """A wait passed at ``time``; its data had landed ``margin`` ticks before it would have
        been missed (negative: a stall)."""
        apart = self._known
        if margin >= self._spread:
            apart, self._since = False, 0
        elif self._best is None or margin > self._best:
            self._best, self._since = margin, 0
        else:
            self._since += 1
            apart = apart or self._since >= SETTLING
        if apart is not self._known:
            self._known = apart
            self._changes.append((time, apart))

    def apart(self, time: int) -> bool:
        """Whether lines are fetched again at ``time``; times must not fall."""
        changes = self._changes
        while changes and changes[0][0] < time:
            self._apart = changes.popleft()[1]
        return self._apart
