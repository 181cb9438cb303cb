"""dispatch: rows go to the places that a routing table gives them, by bulk copies.

One thread of each CTA loads its rows into a ring of stages and stores each to ``topk`` places of
the output: to the next slots of the experts that its token is routed to. The table is known when
the schedule is built: token t goes to expert t modulo ``experts`` and to the ``topk`` - 1 after it,
so that a token's slot with an expert is the number of earlier tokens that went there. A stage is
loaded again when the stores have read it: at most one group of stores is not waited for.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError, Value
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Stages, Twin, scenario

TWINS = (
    Twin(
        name="no_read_wait",
        rule=Rule.SMEM_REUSED_BEFORE_STORE_READ,
        summary="a stage is loaded again without waiting for the stores that read it",
    ),
    Twin(
        name="wait_too_loose",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="the wait leaves the group pending that read the stage to be loaded",
    ),
    Twin(
        name="no_full_wait",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="a row is sent on without waiting for it",
    ),
    Twin(
        name="same_slot",
        rule=Rule.GLOBAL_WRITE_OVERLAP,
        summary="the slot does not count the tokens of other CTAs: rows land on each other",
    ),
    Twin(
        name="no_commit",
        rule=Rule.UNCOMMITTED_COPY,
        summary="the stores are in no bulk group, so that no wait covers them",
    ),
    Twin(
        name="expect_short",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="announces 16 bytes fewer than a row has",
    ),
)


@scenario(
    summary="rows routed to the slots of experts by bulk copies, a ring with .read waits",
    archs=("sm_90a", "sm_100a"),
    twins=TWINS,
)
def dispatch(
    *,
    stages: Stages = 4,
    rows: int = 64,
    width: int = 1024,
    experts: int = 8,
    topk: int = 2,
    ctas: int = 132,
    twin: str = "",
) -> Schedule:
    """``rows``: tokens of each CTA; ``width``: bf16 elements of a row."""
    _check(stages, rows, width, experts, topk, ctas)
    k = ScheduleBuilder("dispatch", archs=("sm_90a", "sm_100a"))
    n = k.arg("rows", rows)
    tokens = ctas * rows
    slots = -(-tokens // experts)  # of each expert, for each of the topk
    source = k.global_tensor("source", (max(1, tokens), width), "bf16")
    routed = k.global_tensor("routed", (topk * experts * max(1, slots), width), "bf16", output=True)
    ring = k.smem_tile("ring", (1, width), "bf16", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    k.grid(ctas)
    k.block(1)

    def load(row: Value | int, stage: Value | int) -> None:
        announced = 2 * width - (16 if twin == "expect_short" else 0)
        k.mbarrier.arrive_expect_tx(full[stage], announced)
        box = source.box((k.block_idx * n + row, 0), (1, width))
        k.bulk.load(ring[stage], box, full[stage])

    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        for stage in range(stages):
            with k.when(n > stage):
                load(stage, stage)
        state = k.pipeline_state(stages)
        freed = k.pipeline_state(stages, name="freed")
        with k.loop(n) as i:
            token = k.block_idx * n + i
            if twin != "no_full_wait":
                k.mbarrier.wait(full[state.stage], state.phase)
            here = ring[state.stage].expecting(source.box((token, 0), (1, width)))
            for choice in range(topk):
                expert = (token + choice) % experts
                slot = (i if twin == "same_slot" else token) // experts
                place = (choice * experts + expert) * slots + slot
                k.bulk.store(routed.box((place, 0), (1, width)), here)
            if twin != "no_commit":
                k.bulk.commit_group()
            with k.when((i >= 1) & (i - 1 + stages < n)):
                if twin != "no_read_wait":
                    k.bulk.wait_group(2 if twin == "wait_too_loose" else 1, read=True)
                load(i - 1 + stages, freed.stage)
                freed.advance()
            state.advance()
        k.bulk.wait_group(0)
    return k.finish()


def _check(stages: int, rows: int, width: int, experts: int, topk: int, ctas: int) -> None:
    for name, value in (("ctas", ctas), ("experts", experts), ("topk", topk)):
        if value < 1:
            raise ScheduleError(f"{name} = {value}", fix="give at least 1")
    if rows < 0:
        raise ScheduleError(f"rows = {rows}", fix="give 0 or more")
    if stages < 2:
        raise ScheduleError(
            f"stages = {stages}", fix="use 2 or more: one is stored while others are loaded"
        )
    if width < 8 or width % 8:
        raise ScheduleError(
            f"width = {width}", fix="a bulk copy moves a multiple of 16 bytes: 8 elements"
        )
    if topk > experts:
        raise ScheduleError(
            f"topk = {topk} of {experts} experts", fix="a token goes to different experts"
        )
