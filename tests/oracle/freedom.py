"""Which next act, or landing, nothing within reach of the others depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle import clusters
from tests.oracle.acts import Act, Do, Use
from tests.oracle.reach import Reach, reach
from tests.oracle.rest import ON_BARRIER

if TYPE_CHECKING:
    from tests.oracle.states import Explorer, State


def independent(x: Explorer, state: State, i: int, act: Act) -> bool:
    """Whether nothing that others can reach before chain i moves depends on its next act."""
    do = act.do
    begins = not clusters.running(x, state[0]) >> x.rank_of[i] & 1
    if begins and x.m.ctas > 1 and reach(x, state, i).peers >> x.rank_of[i] & 1:
        return False  # others may reach its CTA before that runs
    if do in (Do.MEET, Do.MMA_COMMIT, Do.BAR_WAIT, Do.CLUSTER_ARRIVE, Do.CLUSTER_WAIT):
        return True
    if do is Do.BAR_ARRIVE and act.target in x.m.full:
        return True
    pcs = state[0]
    if do in (Do.MMA, Do.MMA_WAIT):
        group = x.groups[x.m.group_of[i // 2]]
        count = group.begun if do is Do.MMA else group.over
        now = max(count[w][pcs[2 * w]] for w in group.warps)
        if count[i // 2][pcs[i] + 1] <= now:
            return True  # another warp has begun it, or has seen its end
    r = reach(x, state, i)
    if act.peers & r.ended:
        return False  # that CTA may exit before
    if do is Do.BAR_ARRIVE:
        return not r.named >> act.target & 1
    if do in ON_BARRIER and not _barrier_free(state, act, r):
        return False
    unfenced = any(bar is not None and bar[4] > 0 for bar in state[1])
    fences = do is Do.FENCE_INIT or act.fences_inits > 0
    if fences and (r.inits or (unfenced and r.copies)):
        return False
    if do is Do.FENCE_PROXY:  # before others' accesses it covers fewer: that is the worse order
        return not act.space & (state[6] | state[7]) & r.asynchronous
    uses = [act.use, *x.ending(i, pcs[i], act)]
    own = _next_fence(x, i, pcs[i])
    return all(_use_free(x, u, r, own) for u in uses)


def _next_fence(x: Explorer, i: int, pc: int) -> int:
    """Atoms that the chain fences right after this act: whoever else fences them adds nothing."""
    after = x.chains[i][pc + 1 : pc + 2]
    return after[0].space if after and after[0].do is Do.FENCE_PROXY else 0


def _barrier_free(state: State, act: Act, r: Reach) -> bool:
    b = act.target
    bar = state[1][b]
    if bar is None or r.inits >> b & 1 or act.do is Do.INVAL:
        used = (
            b in r.arrivals
            or b in r.landing
            or (r.expects | r.copies | r.old_waits | r.inits) >> b & 1
        )
        return act.do is Do.INIT and not used and not r.fences_inits
    pending = bar[2]
    match act.do:
        case Do.WAIT | Do.WAIT_STATE | Do.PEEK:
            return not r.complete >> b & 1
        case Do.COPY:
            return not act.raises or pending > r.arrivals.get(b, 0)
        case Do.EXPECT:
            return pending > r.arrivals.get(b, 0)
        case _:
            if pending < r.arrivals.get(b, 0) + act.n:
                return False  # the phase may complete without this arrival, or it overflows
            if (act.open or r.open >> b & 1) and pending == r.arrivals.get(b, 0) + act.n:
                return False  # which of them is the last one matters
            if pending > act.n:
                return True
            return b not in r.landing and not (r.expects | r.old_waits) >> b & 1


def landing_free(x: Explorer, state: State, k: int) -> bool:
    act = x.copies[k][1]
    b = act.target
    bar = state[1][b]
    if bar is None:
        return False
    r = reach(x, state, -1, k)
    if act.stays & r.ended:
        return False  # a CTA may exit before it lands
    if b in r.arrivals or (r.inits | r.expects | r.copies | r.old_waits) >> b & 1:
        return False
    flying = act.tx + r.landing.get(b, 0)
    if bar[2] == 0 and flying != bar[3] and b in r.landing:
        return False
    return _use_free(x, act.use, r)


def _use_free(x: Explorer, use: Use, r: Reach, fenced: int = 0) -> bool:
    if use.write & (r.read | r.write) or use.read & r.write:
        return False
    both = use.read | use.write
    if use.is_async:
        return True
    return not both & (r.asynchronous | (r.fenced & x.asynchronous & ~fenced))
