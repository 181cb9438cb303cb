"""Whether the SMs of a GPC are in step, as far as one CTA can tell.

CTAs start together, so their loads of the same lines meet and are fetched once. An SM that has
data in hand for less time than landings are late at times stalls now and then; stalls of its own
drive it away from its neighbours, and lines are fetched again. See docs/model-notes.md.
"""

from __future__ import annotations

from collections import deque

SETTLING = 2  # waits without a longer margin before a short one counts, or ample ones to return


class Pace:
    """What the waits of one consumer say. ``late``: by how many ticks landings are late at times.

    Changes carry the tick from which they hold: consumers run ahead of the loads that ask.
    """

    __slots__ = ("_ample", "_apart", "_best", "_changes", "_known", "_late", "_since")

    def __init__(self, late: int) -> None:
        self._late = late
        self._best: int | None = None
        self._since = self._ample = 0  # short margins that did not grow, ample ones in a row
        self._known = self._apart = False  # as of the last wait, as of the last question
        self._changes: deque[tuple[int, bool]] = deque()

    def waited(self, margin: int, time: int) -> None:
        """A wait passed at ``time``; its data had landed ``margin`` ticks before it would have
        been missed (negative: a stall)."""
        apart = self._known
        margin = min(margin, self._late)  # ample is ample
        self._ample = min(self._ample, SETTLING) + 1 if margin >= self._late else 0
        if self._ample > (SETTLING if apart else 0):
            apart, self._since = False, 0
        elif self._best is None or margin > self._best:
            self._best, self._since = margin, 0
        else:
            self._since = min(self._since + 1, SETTLING)
            apart = apart or self._since >= SETTLING
        if apart is not self._known:
            self._known = apart
            self._changes.append((time, apart))

    def state(self) -> tuple[object, list[int]]:
        """What decides later answers, and its ticks."""
        told = self._best, self._since, self._ample, self._known, self._apart
        return (*told, *(apart for _, apart in self._changes)), [t for t, _ in self._changes]

    def apart(self, time: int) -> bool:
        """Whether lines are fetched again at ``time``; times must not fall."""
        changes = self._changes
        while changes and changes[0][0] < time:
            self._apart = changes.popleft()[1]
        return self._apart
