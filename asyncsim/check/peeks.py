"""What a peek can change besides the wait that it may replace.

Between a peek that passes and its wait, an observer already knows what the wait would tell it. If
it does nothing there, it makes no difference to the order of events whether the peek passes: two
executions that agree in what the wait saw have one graph. The search counts them as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from asyncsim.ir import op as ops
from asyncsim.ir.op import Scope
from asyncsim.stream.program import Event

_BY_ALL = frozenset({Scope.ALL_LANES, Scope.WARP, Scope.WARPGROUP})


@dataclass(slots=True)
class Peeks:
    """Positions in one observer's stream. ``quiet``: peeks from which it goes to their wait, and
    does nothing before. ``unused``: peeks whose token nobody reads. ``last``: waits after which
    nobody reads what the token holds."""

    quiet: set[int] = field(default_factory=set)
    unused: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)


def peeks_of(stream: Sequence[Event], own: Scope) -> Peeks:
    """Read backwards: ``reads`` are the tokens that are read next, ``near`` those of them that are
    read before anything else happens."""
    found, reads, near = Peeks(), set[str](), set[str]()
    for pos in range(len(stream) - 1, -1, -1):
        op = stream[pos][0].op
        if op.scope is not own and op.scope not in _BY_ALL:
            continue
        match op:
            case ops.MbarrierTestWait(token=token):
                if token in near:
                    found.quiet.add(pos)
                if token not in reads:
                    found.unused.add(pos)
                reads.discard(token)
                near.discard(token)
            case ops.MbarrierWait(peek=None):
                pass
            case ops.MbarrierWait(peek=str(token)):
                if token not in reads:
                    found.last.add(pos)
                reads.add(token)
                near.add(token)
            case _:
                near.clear()
    return found
