"""Notes on clusters: scopes, peers, multicast."""

from __future__ import annotations

from asyncsim.rule_notes.note import RuleNote
from asyncsim.rules import Rule

_SHARED = """\
k.grid(2)
k.cluster(2)
theirs = ring[0].at(1 - k.cta_rank).box((0, k.lane), (1, 1))
"""

CLUSTER: dict[Rule, RuleNote] = {
    Rule.SCOPE_TOO_NARROW: RuleNote(
        example=_SHARED
        + """\
k.mem.st_shared(mine, r.all)
k.cluster_barrier.arrive(relaxed=True)  # releases nothing
k.cluster_barrier.wait()
k.mem.ld_shared(r.all, theirs)
k.cluster_barrier.sync()
""",
        fix="Signal another CTA at cluster scope and wait with the same scope; a relaxed arrive "
        "orders nothing but the phase.",
    ),
    Rule.PEER_NOT_STARTED: RuleNote(
        example=_SHARED
        + """\
k.mem.st_shared(theirs, r.all)
k.cluster_barrier.sync()
""",
        fix="Cross a cluster barrier before the first access to another CTA.",
    ),
    Rule.PEER_EXITED: RuleNote(
        example=_SHARED
        + """\
k.mem.st_shared(mine, r.all)
k.cluster_barrier.sync()
k.mem.ld_shared(r.all, theirs)
""",
        fix="Cross a cluster barrier after the last access to another CTA.",
    ),
    Rule.RECEIVER_NOT_ARMED: RuleNote(
        example="""\
k.grid(2)
k.cluster(2)
k.cluster_barrier.sync()
with k.when(k.cta_rank == 0), k.elect_thread():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (0, 0), full[0], multicast=3)
with k.when(k.cta_rank == 1), k.elect_thread():
    k.mbarrier.arrive(full[0])
k.mbarrier.wait(full[0], 0)
k.cluster_barrier.sync()
""",
        fix="Every CTA that a multicast reaches announces, on its own barrier, all the bytes that "
        "it gets.",
    ),
}
