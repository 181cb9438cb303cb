"""Addresses of bulk copies that are computed before a wait, and lanes that leave before a loop."""

from __future__ import annotations

import re

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.hw.render import render
from asyncsim.ir.schedule import Schedule

ARCHS = ("sm_90a",)
ROW = (1, 64)


def waits_and_copies(*, second_wait: bool, advance: bool, branch: bool, loop: bool) -> Schedule:
    """A wait, two stores of one stage; then what is asked for, and a store in a branch."""
    k = ScheduleBuilder("ahead", archs=ARCHS)
    out = k.global_tensor("out", (32, 64), "u32", output=True)
    source = k.global_tensor("source", (8, 64), "u32")
    ring = k.smem_tile("ring", ROW, "u32", stages=2)
    full = k.mbarriers("full", count=1, stages=2)
    k.grid(1)
    k.block(1)

    def body(i: object) -> None:
        row = k.var("row", 0)
        for stage in (0, 1):
            k.mbarrier.arrive_expect_tx(full[stage], 256)
            k.bulk.load(ring[stage], source.box((stage, 0), ROW), full[stage])
        k.mbarrier.wait(full[0], 0)
        k.bulk.store(out.box((row, 0), ROW), ring[0])
        k.bulk.store(out.box((row + 1, 0), ROW), ring[0])
        if second_wait:
            k.mbarrier.wait(full[1], 0)
        if advance:
            row.set(row + 2)
        if branch:
            with k.when(row < 3):
                k.bulk.store(out.box((row + 4, 0), ROW), ring[1])
        k.bulk.commit_group()
        k.bulk.wait_group(0)

    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        if loop:
            with k.loop(1) as i:
                body(i)
        else:
            body(0)
    return k.finish()


def settled(schedule: Schedule) -> list[list[str]]:
    """Of each wait: what is settled between it and the one before."""
    text = render(schedule).source
    kernel = text[text.index('extern "C" __global__') :]
    parts = kernel.split("if (!mbar_wait(")
    return [re.findall(r"(\w+) = settled\(", part) for part in parts[:-1]]


@pytest.mark.parametrize(
    ("second_wait", "advance", "branch", "expected"),
    [
        (False, False, False, [["far_8", "near_8", "far_9"]]),
        (False, False, True, [["far_8", "near_8", "far_9", "far_10", "near_10"]]),
        (False, True, True, [["far_8", "near_8", "far_9"]]),
        (True, False, True, [["far_8", "near_8", "far_9"], ["far_11", "near_11"]]),
        (True, True, True, [["far_8", "near_8", "far_9"], []]),
    ],
)
def test_what_is_settled_before_a_wait(
    second_wait: bool, advance: bool, branch: bool, expected: list[list[str]]
) -> None:
    schedule = waits_and_copies(second_wait=second_wait, advance=advance, branch=branch, loop=False)
    assert settled(schedule) == expected


def test_copies_take_the_settled_addresses() -> None:
    schedule = waits_and_copies(second_wait=False, advance=False, branch=True, loop=False)
    calls = [line.strip() for line in render(schedule).source.splitlines() if " bulk_" in line]
    assert [c for c in calls if c.startswith("bulk_store")] == [
        "bulk_store(far_8, near_8, 256);",
        "bulk_store(far_9, near_8, 256);",
        "bulk_store(far_10, near_10, 256);",
    ]
    assert "bulk_load(smem_base + at_ring, t_source + 0, 256, smem_base + at_full);" in calls


@pytest.mark.parametrize("loop", [False, True])
def test_the_other_lanes_leave_before_a_loop(loop: bool) -> None:
    schedule = waits_and_copies(second_wait=False, advance=False, branch=False, loop=loop)
    text = render(schedule).source
    kernel = text[text.index('extern "C" __global__') :]
    assert ("} else if (warp_in_role != 0) {" in kernel) is loop
    assert ("if (elect_one()) clock_mark(clocks, 1, 1 + warp);\n}" in kernel) is not loop
