"""The twins of flash_attention."""

from __future__ import annotations

from asyncsim import Rule
from asyncsim.scenario import Twin

TWINS = (
    Twin(
        name="k_released_early",
        rule=Rule.OPERAND_IN_FLIGHT,
        summary="releases K when its product has been issued, not when it is complete",
    ),
    Twin(
        name="weights_in_flight",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="rounds the next weights while P V may still read the ones before",
        params={"overlap": 1},
    ),
    Twin(
        name="no_wgmma_fence",
        rule=Rule.MISSING_WGMMA_FENCE,
        summary="no wgmma.fence between the rounding of the weights and the product with them",
    ),
    Twin(
        name="v_on_k_barrier",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="V counts its bytes on the barrier of K",
    ),
    Twin(
        name="no_turn",
        rule=Rule.NAMED_BARRIER_OVERRUN,
        summary="a warpgroup passes its turn on without having waited for it",
        params={"pingpong": 1},
    ),
    Twin(
        name="first_waits_for_turn",
        rule=Rule.DEADLOCK,
        summary="the first warpgroup waits for a first turn that nobody passes to it",
        params={"pingpong": 1},
        launch=False,
    ),
    Twin(
        name="one_group_releases",
        rule=Rule.LAPPED_WAITER,
        summary="a stage counts as empty when one of the warpgroups has released it",
        params={"pingpong": 0},
    ),
    Twin(
        name="ascending_v",
        rule=Rule.WRONG_TILE,
        summary="V is fetched from the first block on, K from the last one down",
    ),
    Twin(
        name="from_the_end",
        rule=Rule.WRONG_TILE,
        summary="causal: V is fetched from the end of the sequence down, not from the last block "
        "that the queries reach",
        params={"causal": 1},
    ),
    Twin(
        name="late_query_wait",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="waits for the queries after the first product with them",
        params={"overlap": 1},
    ),
    Twin(
        name="no_store_fence",
        rule=Rule.MISSING_PROXY_FENCE,
        summary="no fence.proxy.async between O in shared memory and its TMA store",
    ),
    Twin(
        name="no_final_wait",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="divides O while the last P V may still add to it",
    ),
)
