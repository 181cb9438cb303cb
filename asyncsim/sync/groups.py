"""Commit/wait groups: a FIFO of groups of one issuer.

One machine serves cp.async, bulk and wgmma; the issuer differs (thread, thread, warpgroup).
PTX ISA, cp.async.commit_group / wait_group, wgmma.commit_group / wait_group.
"""

from __future__ import annotations

from collections.abc import Callable


class GroupQueue:
    """The groups of one issuer. Members are the reader's own objects (ids, records).

    ``open``: issued, not committed. ``committed``: every committed group in order, from
    ``retired`` on; groups before that have been waited for.
    """

    __slots__ = ("committed", "open", "retired")

    def __init__(self) -> None:
        self.open: list[object] = []
        self.committed: list[tuple[object, ...]] = []
        self.retired = 0

    def issue(self, member: object) -> None:
        """An asynchronous op of this issuer that the next commit will cover."""
        self.open.append(member)

    def commit(self) -> int:
        """Close the group of everything issued so far (it may be empty); its index."""
        self.committed.append(tuple(self.open))
        self.open.clear()
        return self.retired + len(self.committed) - 1

    def covered(self, n: int) -> tuple[tuple[object, ...], ...]:
        """The groups that wait_group ``n`` waits for: all but the ``n`` most recent."""
        return tuple(self.committed[: max(0, len(self.committed) - n)])

    def pending(self) -> tuple[tuple[object, ...], ...]:
        """The committed groups that nobody has waited for."""
        return tuple(self.committed)

    def forget(self, over: Callable[[object], bool]) -> None:
        """The oldest groups, as long as all their members are ``over``, leave the queue."""
        while self.committed and all(map(over, self.committed[0])):
            del self.committed[0]
            self.retired += 1

    def retire(self, n: int) -> tuple[tuple[object, ...], ...]:
        """wait_group ``n`` has passed: the groups it covered, which leave the queue."""
        done = self.covered(n)
        del self.committed[: len(done)]
        self.retired += len(done)
        return done
