"""Tiles that are handed out while the kernel runs, as CUDA text and as machine code."""

from __future__ import annotations

import pytest

from asyncsim.hw.render import kernel_text, render
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.bw_persistent_clc import bw_persistent_clc
from tests.hw.test_tcgen05 import assembled, hw, needs_tools
from tests.tile_schedules import cancelled, counted

__all__ = ["assembled"]


def test_a_loop_goes_from_ticket_to_ticket() -> None:
    text = kernel_text(render(counted(5, 2)))
    warp = "__any_sync(0xffffffffu, guard.aborted)"
    head = "for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; "
    assert f"{head}v_tile = {warp} ? -1 : (int)f_work[0]) {{" in text
    assert "v_i = guard.aborted ? -1 : (int)f_work[0]) {" in text  # the elected lane alone
    assert "const int clusters = (int)gridDim.x;" in text
    assert "const int cluster_index = block_x;" in text
    assert "f_work[0] = clusters + atomicAdd(t_counter + 0, 1);" in text


def test_responses_name_the_first_cta_of_a_cluster() -> None:
    text = kernel_text(render(cancelled(5, peers=2), "sm_100a"))
    assert "const int cluster_index = block_x / 2;" in text
    assert "f_work[0] = clc_query_cancel<2>(smem_base + v_stage * 128 + at_response);" in text
    assert "clc_try_cancel_multicast(smem_base + v_stage * 128 + at_response, smem_base + " in text
    assert "clc_try_cancel(smem_base" in kernel_text(render(cancelled(5), "sm_100a"))


@hw
@needs_tools
@pytest.mark.parametrize(
    "schedule",
    [cancelled(5), cancelled(5, peers=2), bw_persistent_clc.build()],
    ids=["one", "pair", "gemm"],
)
def test_cluster_launch_control_is_assembled(assembled, schedule: Schedule) -> None:  # type: ignore[no-untyped-def]
    assert {"UGETNEXTWORKID"} <= assembled(schedule)
