"""What to change for each rule that is seen directly: the missing edge and one line of advice."""

from __future__ import annotations

from asyncsim.rules import Rule

_ADVICE: dict[Rule, tuple[str, str]] = {
    Rule.DEADLOCK: (
        "an arrival that does not itself wait for the blocked role",
        "check the first phase of each wait (a producer starts with 1) and who arrives",
    ),
    Rule.LAPPED_WAITER: (
        "an edge from the wait to the next but one phase of its barrier",
        "let every waiter arrive before the stage is filled again, and count all of them",
    ),
    Rule.VACUOUS_WAIT: (
        "an edge from the completion of the phase before to the start of the wait",
        "carry the phase over: flip it on every wrap and do not reset it per tile",
    ),
    Rule.EARLY_COMPLETION: (
        "an edge from the completion of the phase before to this op",
        "expect the bytes before (or with) the arrival, and wait for the phase before",
    ),
    Rule.ARRIVAL_OVERFLOW: (
        "a count that matches the arrivals",
        "let one lane arrive (k.elect), or initialise the barrier with all arrivals",
    ),
    Rule.ARRIVAL_SHORTFALL: (
        "the arrivals that the count asks for",
        "make the count of the barrier equal to the arrivals of a phase",
    ),
    Rule.UNCONSUMED_PHASE: (
        "a wait on the phase before, ordered before the arrival",
        "wait for each phase before arriving on the next",
    ),
    Rule.TX_BYTES_MISMATCH: (
        "equal bytes in expect_tx and in the copies of a phase",
        "announce the bytes of every copy of the phase: full boxes, filled parts included",
    ),
    Rule.RECEIVER_NOT_ARMED: (
        "an expect_tx of the whole box in every CTA that the multicast reaches",
        "let each CTA announce on its own barrier all the bytes that it gets, whoever issues them",
    ),
    Rule.PEER_NOT_STARTED: (
        "a cluster barrier before the first access to another CTA",
        "add k.cluster_barrier.sync() after the set-up",
    ),
    Rule.PEER_EXITED: (
        "a cluster barrier after the last access to another CTA",
        "add k.cluster_barrier.sync() at the end of the kernel",
    ),
    Rule.TX_RANGE: ("fewer bytes a phase", "split the phase over two barriers"),
    Rule.READ_BEFORE_ARRIVAL: (
        "the completion of the write, observed before the read",
        "wait for the barrier (or group) of the copy before reading",
    ),
    Rule.WRITE_WRITE_RACE: ("one lane for the copy", "issue the copy in k.elect()"),
    Rule.WRONG_TILE: (
        "a read of the stage, or a copy of the tile, that the schedule means",
        "compare stage and tile index of the copy and of the read",
    ),
    Rule.WAIT_GROUP_TOO_LOOSE: (
        "a wait that covers the group",
        "wait for fewer pending groups before touching the registers",
    ),
    Rule.FRAGMENT_IN_FLIGHT: (
        "a wgmma.wait_group that covers the group",
        "add k.wgmma.wait_group(0) before the registers are touched",
    ),
    Rule.MISSING_WGMMA_FENCE: (
        "wgmma.fence between the register access and the wgmma",
        "add k.wgmma.fence() before the first wgmma of the step",
    ),
    Rule.MISSING_INIT_FENCE: (
        "fence.mbarrier_init after the init, before the barrier that publishes it",
        "add k.fence.mbarrier_init() after init_all",
    ),
    Rule.USE_BEFORE_INIT: (
        "a block barrier between the init and the use",
        "add k.bar.sync() after the init",
    ),
    Rule.REINIT_WITHOUT_INVAL: ("mbarrier.inval before the init", "invalidate it first"),
    Rule.NAMED_BARRIER_COUNT: ("equal thread counts", "give all participants one count"),
    Rule.NAMED_BARRIER_OVERRUN: (
        "a wait between two arrivals of one warp",
        "order the second arrival after the completion of the first round",
    ),
    Rule.OUTSTANDING_AT_EXIT: (
        "a wait for the copy before the kernel ends",
        "wait for the last copies (a store: k.bulk.wait_group(0, read=True))",
    ),
    Rule.UNCOMMITTED_COPY: (
        "a commit_group and a wait before the kernel ends",
        "commit the copies and wait for the group",
    ),
    Rule.TMEM_ALLOC: (
        "tcgen05.alloc before the use, and a barrier that publishes its address",
        "allocate once, before k.bar.sync(); relinquish after the last alloc; free last",
    ),
    Rule.TMEM_DEALLOC: (
        "one dealloc of the address and size of each alloc",
        "free with the word and the columns of the alloc",
    ),
    Rule.TMEM_LEAK: (
        "tcgen05.dealloc before the kernel ends",
        "add k.tcgen05.dealloc(word, columns) after the last use",
    ),
    Rule.TMEM_CAPACITY: (
        "columns that are free when they are asked for",
        "allocate 512 columns at most, and free them before more are allocated",
    ),
    Rule.TMEM_ALLOC_ORDER: (
        "sizes that do not increase",
        "allocate the largest part first, or all of it at once",
    ),
    Rule.TMEM_LANES: ("", "let each warp take lanes 32 * (its index in the block % 4)"),
    Rule.OUT_OF_BOUNDS: ("", "guard the access with k.when, or enlarge the tensor"),
    Rule.FOREIGN_STATE: (
        "an arrive on the same barrier, by the same lanes, that writes the state",
        "wait on the barrier that the state comes from, before the register is written again",
    ),
    Rule.PARITY_OUT_OF_RANGE: ("", "use the phase bit, 0 or 1"),
    Rule.ROLES_DISAGREE: (
        "the same wgmma instructions in all four warps",
        "do not branch on warp_in_role around wgmma",
    ),
    Rule.REGISTER_POOL: (
        "",
        "let the four warps of a warpgroup execute one setmaxnreg, let each dec come without "
        "waiting for an inc, and let the counts of all warps fit threads x maxnreg",
    ),
    Rule.GLOBAL_WRITE_OVERLAP: (
        "disjoint output of the CTAs",
        "derive the output coordinates from every block index of the grid",
    ),
}


def fault_advice(rule: Rule) -> tuple[str, str]:
    """(missing edge, repair) of a rule."""
    return _ADVICE.get(rule, ("", ""))
