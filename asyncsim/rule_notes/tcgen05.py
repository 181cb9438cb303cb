"""Notes on tensor memory and tcgen05."""

from __future__ import annotations

from asyncsim.rule_notes.note import RuleNote
from asyncsim.rules import Rule, Severity

TMEM = """\
k = ScheduleBuilder("example", archs=("sm_100a",))
word = k.smem_tile("word", (1, 1), "u32")      # alloc writes its address here
acc = k.tmem_tile("acc", columns=32, address=word)
mine = acc[0].box((32 * (k.warp_in_role % 4), 0), (32, 32))
r = k.fragment("r", registers=32)
data = k.global_tensor("data", (32, 32), "f32")
k.mem.ld_global(r.all, data.box((k.lane, 0), (1, 32)))
"""

TCGEN05: dict[Rule, RuleNote] = {
    Rule.TMEM_ALLOC: RuleNote(
        alone=True,
        example=TMEM
        + """\
k.tcgen05.alloc(word[0], 32)
k.tcgen05.dealloc(word[0], 32)
k.tcgen05.st(mine, r.all)
k.tcgen05.wait_st()
""",
        fix="Allocate, publish the address with `k.bar.sync()`, use, free; no alloc comes after "
        "`relinquish_alloc_permit`.",
    ),
    Rule.TMEM_DEALLOC: RuleNote(
        alone=True,
        example=TMEM
        + """\
k.tcgen05.alloc(word[0], 32)
k.tcgen05.st(mine, r.all)
k.tcgen05.dealloc(word[0], 32)  # the store may still be under way
""",
        fix="Complete all accesses before the dealloc, also those of the peer CTA; free as many "
        "columns as were allocated.",
    ),
    Rule.TMEM_LEAK: RuleNote(
        alone=True,
        example=TMEM + "k.tcgen05.alloc(word[0], 32)\n",
        fix="`k.tcgen05.dealloc` with the same word and columns before the kernel ends.",
    ),
    Rule.TMEM_CAPACITY: RuleNote(
        alone=True,
        example=TMEM
        + """\
other = k.smem_tile("other", (1, 1), "u32")
k.tcgen05.alloc(word[0], 512)
k.tcgen05.alloc(other[0], 32)  # waits for ever
k.tcgen05.dealloc(word[0], 512)
k.tcgen05.dealloc(other[0], 32)
""",
        fix="A CTA has 512 columns: stages times columns of all accumulators and scale factors.",
    ),
    Rule.TMEM_ALLOC_ORDER: RuleNote(
        severity=Severity.WARNING,
        alone=True,
        example=TMEM
        + """\
other = k.smem_tile("other", (1, 1), "u32")
k.tcgen05.alloc(word[0], 32)
k.tcgen05.alloc(other[0], 64)
k.tcgen05.dealloc(word[0], 32)
k.tcgen05.dealloc(other[0], 64)
""",
        fix="Allocate the largest part first.",
    ),
    Rule.TMEM_LANES: RuleNote(
        alone=True,
        example=TMEM
        + """\
k.block(2)
with k.when(k.warp_in_role == 0):
    k.tcgen05.alloc(word[0], 32)
k.bar.sync()
k.tcgen05.st(acc[0].box((0, 0), (32, 32)), r.all)  # warp 1 has lanes 32..63
""",
        fix="Start at lane `32 * (warp of the block % 4)`; four warps reach all 128 lanes.",
    ),
    Rule.MISSING_TCGEN05_FENCE: RuleNote(
        alone=True,
        example=TMEM
        + """\
k.block(5)                              # warps 0 and 4 share lanes 0..31
with k.when(k.warp_in_role == 0):
    k.tcgen05.alloc(word[0], 32)
    k.tcgen05.st(mine, r.all)
    k.tcgen05.wait_st()
    k.tcgen05.fence_before_thread_sync()
k.bar.sync()
with k.when(k.warp_in_role == 4):
    k.tcgen05.ld(r.all, mine)  # no fence after the barrier
    k.tcgen05.wait_ld()
    k.tcgen05.dealloc(word[0], 32)
""",
        fix="`fence_before_thread_sync` before the signal (a commit contains it), "
        "`fence_after_thread_sync` after the wait.",
    ),
    Rule.CTA_GROUP: RuleNote(
        alone=True,
        example=TMEM
        + """\
k.grid(2)
k.cluster(2)
k.tcgen05.alloc(word[0], 32, cta_group=2)
k.tcgen05.dealloc(word[0], 32)
""",
        fix="Give all tcgen05 ops of a kernel the same `cta_group`.",
    ),
}
