"""The launch, the architectures, and the list of rules."""

from __future__ import annotations

import re
from typing import Any

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.catalog import builtin_scenarios
from asyncsim.ir.validate import CHECKS, validate
from asyncsim.ir.validate.arch import ARCHS
from tests.ir.wellformed import barrier, error_of, expect


@pytest.mark.parametrize("scenario", builtin_scenarios(), ids=lambda s: s.name)
def test_scenarios_and_their_twins_are_well_formed(scenario):
    for twin in ("", *(t.name for t in scenario.twins)):
        validate(scenario.build(twin=twin))


def test_each_rule_is_listed_once():
    assert len(CHECKS) == len(set(CHECKS)) == 76


def test_block_over_1024_threads():
    expect(lambda k: k.block(33), "33 warps are 1056 threads", "a block has 1 to 32 warps")


def test_roles_over_the_block():
    def build(k):
        k.block(2)
        with k.specialize(), k.role("r", warps=3):
            pass

    expect(build, "roles own 3 warps of 2", "enlarge the block")


@pytest.mark.parametrize("n", [0, 33])
def test_launch_bound(n):
    expect(lambda k: k.launch_bounds(n), f"{n} CTAs per SM", "the launch bound is 1 to 32")


def test_grid_limits():
    expect(lambda k: k.grid(1, 65536), "grid of 65536 CTAs in y", "at most 65535")


def test_shared_memory_over_227_kb_says_how_many_stages_fit():
    def build(k):
        k.smem_tile("small", (1024,), "u8")
        k.smem_tile("ring", (128, 64), "f32", stages=8)

    expect(
        build,
        "263168 bytes of shared memory, a CTA may have 232448",
        "beside 'small' (1024) tile 'ring' takes 32768 bytes a stage: use at most 7 stages",
        Rule.SMEM_OVER_BUDGET,
    )


def test_rings_of_as_many_stages_shrink_together() -> None:
    def build(k):
        k.smem_tile("a", (128, 64), "bf16", stages=5, swizzle=128)
        k.smem_tile("b", (256, 64), "bf16", stages=5, swizzle=128)
        k.smem_tile("strip", (128, 64), "bf16", stages=2)
        k.smem_tile("word", (1, 1), "u32")
        k.mbarriers("full", count=1, stages=5)

    expect(
        build,
        "278576 bytes of shared memory, a CTA may have 232448",
        "beside 'strip' (32768) tiles 'a' and 'b' take 49152 bytes a stage: use at most 4 stages",
        Rule.SMEM_OVER_BUDGET,
    )


def test_what_is_said_to_fit_fits() -> None:
    def ring(stages: int, words: int) -> Any:
        k = ScheduleBuilder("ring")
        k.smem_tile("a", (100,), "u8", stages=stages)
        k.smem_tile("b", (1000,), "u8", stages=stages, align=1024)
        k.smem_tile("c", (words,), "u32")
        k.block(1)
        return k.finish()

    for words in (1, 250, 13_000, 56_000):
        with pytest.raises(ScheduleError) as caught:
            ring(2000, words)
        found = re.search(r"use at most (\d+) stages", str(caught.value))
        assert found
        most = int(found[1])
        ring(most, words)
        with pytest.raises(ScheduleError):
            ring(most + 1, words)


def test_one_stage_over_227_kb_must_shrink():
    expect(
        lambda k: k.smem_tile("huge", (1024, 64), "f32"),
        "262144 bytes of shared memory, a CTA may have 232448",
        "tile 'huge' takes 262144 bytes a stage: make it smaller",
        Rule.SMEM_OVER_BUDGET,
    )


def test_mbarriers_alone_over_227_kb():
    expect(
        lambda k: k.mbarriers("many", count=1, stages=30_000),
        "240000 bytes of shared memory, a CTA may have 232448",
        "use fewer mbarriers",
        Rule.SMEM_OVER_BUDGET,
    )


def test_unknown_and_missing_architecture():
    expect(
        lambda k: None,
        "unknown architecture 'sm_99'",
        f"use one of {', '.join(ARCHS)}",
        archs=("sm_99",),
    )
    expect(lambda k: None, "no architecture is declared", 'e.g. archs=("sm_90a",)', archs=())


def test_tma_on_ampere():
    def build(k):
        full = k.mbarriers("full", count=1)
        t = k.global_tensor("t", (64, 64), "f32")
        m = k.tensor_map("m", t, box=(8, 32))
        k.tma.load(k.smem_tile("s", (8, 32), "f32")[0], m, (0, 0), full[0])

    expect(
        build,
        "TmaLoad does not exist on sm_80, which the schedule declares",
        "declare archs among sm_90, sm_90a, sm_100, sm_100a, sm_103, sm_103a, sm_120, sm_120a",
        archs=("sm_80", "sm_90a"),
    )


def test_wgmma_on_blackwell():
    expect(
        lambda k: (k.block(4), k.wgmma.fence()),
        "WgmmaFence does not exist on sm_100a, which the schedule declares",
        "declare archs among sm_90a",
        archs=("sm_90a", "sm_100a"),
    )


def test_arrive_with_a_count_on_ampere():
    def build(k):
        k.mbarrier.arrive(barrier(k)[0], 2)

    message = "MbarrierArrive does not exist on sm_80, which the schedule declares"
    assert error_of(build, archs=("sm_80",)).message == message
