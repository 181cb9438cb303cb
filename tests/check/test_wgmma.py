"""wgmma: groups, registers, operands, and the four warps as one."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from tests.check.written import written, written_tile


def rules(
    *,
    fence: str = "before",
    commit: bool = True,
    wait: int | None = 0,
    touch: str = "store",
    zero_first: bool = False,
) -> list[str]:
    """Generic writes of both operands, two wgmma, then ``touch`` the accumulator."""
    k = ScheduleBuilder("wgmma")
    out = k.global_tensor("out", (64, 64), "f32", output=True)
    start = k.global_tensor("start", (1, 1), "f32")
    a = k.smem_tile("a", (64, 64), "bf16", swizzle=128)
    b = k.smem_tile("b", (64, 64), "bf16", swizzle=128)
    acc = k.accumulator("acc", n=64)
    value = written(k, "value", registers=32, dtype="bf16")
    with k.specialize(), k.role("math", warps=4):
        row, col = k.thread_in_role // 2, k.thread_in_role % 2 * 32
        for tile in (a, b):
            k.mem.st_shared(tile[0].box((row, col), (1, 32)), value.all)
        k.fence.proxy_async("shared")
        k.bar.sync()
        if fence == "before":
            k.wgmma.fence()
        if zero_first:
            k.mem.ld_global(acc.part(0, 1), start.box((0, 0), (1, 1)))
        k.wgmma.mma(acc, a[0].box((0, 0), (64, 16)), b[0].box((0, 0), (64, 16)), accumulate=0)
        k.wgmma.mma(acc, a[0].box((0, 16), (64, 16)), b[0].box((0, 16), (64, 16)))
        if commit:
            k.wgmma.commit_group()
        if wait is not None:
            k.wgmma.wait_group(wait)
        if touch == "store":
            k.mem.store_accumulator(out, (0, 0), acc)
        if touch == "operand":
            k.mem.st_shared(a[0].box((row, col), (1, 32)), value.all)
        k.wgmma.commit_group()
        k.wgmma.wait_group(0)
    return [f.rule.name for f in check(k.finish()).findings]


def test_clean() -> None:
    assert rules() == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"wait": None}, ["FRAGMENT_IN_FLIGHT"]),
        ({"wait": 1}, ["WAIT_GROUP_TOO_LOOSE"]),
        ({"commit": False, "wait": 0}, ["FRAGMENT_IN_FLIGHT"]),
        ({"wait": None, "touch": "operand"}, ["OPERAND_IN_FLIGHT"]),
        ({"wait": 1, "touch": "operand"}, ["WAIT_GROUP_TOO_LOOSE"]),
        ({"fence": "none"}, ["MISSING_WGMMA_FENCE"]),
        ({"zero_first": True}, ["MISSING_WGMMA_FENCE"]),
    ],
)
def test_one_bug(change: dict[str, object], expected: list[str]) -> None:
    assert rules(**change) == expected  # type: ignore[arg-type]


def warpgroup(*, same: bool) -> list[str]:
    k = ScheduleBuilder("warpgroup")
    a = written_tile(k, k.smem_tile("a", (64, 16), "bf16", swizzle=32))
    acc = k.accumulator("acc", n=64)
    with k.specialize(), k.role("math", warps=4):
        k.wgmma.fence()
        if same:
            k.wgmma.mma(acc, a[0], a[0], accumulate=0)
        else:
            with k.when(k.warp_in_role < 3):
                k.wgmma.mma(acc, a[0], a[0], accumulate=0)
        k.wgmma.commit_group()
        k.wgmma.wait_group(0)
    return [f.rule.name for f in check(k.finish()).findings]


def test_all_four_warps_execute_the_same_instructions() -> None:
    assert warpgroup(same=True) == []
    assert warpgroup(same=False) == ["ROLES_DISAGREE"]
