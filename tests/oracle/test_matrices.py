"""ldmatrix in small rings of cp.async: check and the explorer agree. It does not know stmatrix."""

from __future__ import annotations

from collections import Counter
from itertools import product

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.hw.matrix_scenarios import CLEAR
from tests.oracle.agree import BAD, compare

BARRIERS = ("none", "warp", "block")


def ring(
    *, warps: int, stages: int, wait: int, before: str, after: str, num: int, other: bool
) -> Schedule:
    """Each lane copies a row of a tile, the warp loads matrices of it; three tiles. ``other``: of
    the rows that another warp has copied."""
    k = ScheduleBuilder("ring")
    k.block(warps)
    rows = 32 * warps
    source = k.global_tensor("source", (rows, 24), "bf16")
    tile = k.smem_tile("tile", (rows, 8), "bf16", stages=stages)
    frag = k.matrices("frag", num, "bf16")

    def barrier(kind: str) -> None:
        if kind == "warp":
            k.bar.warp_sync()
        elif kind == "block":
            k.bar.sync()

    def copy(i: int) -> None:
        at = 32 * k.warp_in_role + k.lane
        box = source.box((at, 8 * i), (1, 8))
        k.cp_async.copy(tile[i % stages].box((at, 0), (1, 8)), box)
        k.cp_async.commit_group()

    for i in range(stages):
        copy(i)
    for i in range(3):
        k.cp_async.wait_group(wait)
        barrier(before)
        at = 32 * ((k.warp_in_role + other) % warps) + k.lane % (8 * num)
        meant = source.box((at, 8 * i), (1, 8))
        k.ldmatrix(frag.all, tile[i % stages].box((at, 0), (1, 8)).expecting(meant))
        barrier(after)
        if i + stages < 3:
            copy(i + stages)
        else:
            k.cp_async.commit_group()
    return k.finish()


def test_rings_that_ldmatrix_reads() -> None:
    found: Counter[str] = Counter()
    for stages, wait, before, after, (warps, other) in product(
        (1, 2), (0, 1), BARRIERS, BARRIERS, ((1, False), (2, False), (2, True))
    ):
        schedule = ring(
            warps=warps,
            stages=stages,
            wait=wait,
            before=before,
            after=after,
            num=1 + 3 * (stages == 1),
            other=other,
        )
        outcome, detail = compare(schedule)
        assert outcome not in BAD, f"{outcome}: {detail}"
        found[outcome] += 1
    assert found["agree clean"] > 10 and sum(found.values()) == 108, found


def test_stmatrix_is_not_explored() -> None:
    k = ScheduleBuilder("stored")
    tile, frag = k.smem_tile("tile", (32, 8), "bf16"), k.matrices("frag", 4, "bf16")
    k.mem.compute(CLEAR, frag.all)
    k.stmatrix(tile[0].box((k.lane, 0), (1, 8)), frag.all)
    assert compare(k.finish()) == ("too large", "")
