"""fence.acq_rel with relaxed arrives and waits; fence.proxy.tensormap and maps that change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.check.snapshot import can_jump
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.written import written


def errors(schedule: Schedule) -> list[tuple[Rule, str]]:
    result = check(schedule)
    assert result.verdict is Verdict.FINDINGS, result.note
    return [(f.rule, f.message) for f in result.findings if f.severity.value == "error"]


def assert_certified(schedule: Schedule) -> None:
    result = check(schedule)
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


@dataclass(frozen=True, kw_only=True)
class Message:
    """A lane writes, fences and arrives; another waits, fences and reads."""

    before: str = "cta"  # the scope of the writer's fence; "": none
    after: str = "cta"
    late: bool = False  # the writer's fence comes before the write
    early: bool = False  # the reader's fence comes before the wait
    relaxed: tuple[bool, bool] = (True, True)  # arrive, wait
    remote: bool = False  # to the other CTA of a pair
    scope: str = "cta"


def message(form: Message) -> Schedule:
    k = ScheduleBuilder("message")
    k.block(2)
    if form.remote:
        k.grid(2)
        k.cluster(2)
    tile, bar = k.smem_tile("tile", (1, 4), "f32"), k.mbarriers("bar", count=1)
    x = written(k, "x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
    k.bar.sync()
    if form.remote:
        k.cluster_barrier.sync()
    peer = 1 - k.cta_rank
    there = tile[0].at(peer) if form.remote else tile[0]
    signal = k.mbarrier.at(bar[0], peer) if form.remote else bar[0]
    arrive, wait = form.relaxed
    with k.when(k.warp_in_role == 0), k.elect():
        if form.before and form.late:
            k.fence.acq_rel(form.before)
        k.mem.st_shared(there, x.all)
        if form.before and not form.late:
            k.fence.acq_rel(form.before)
        k.mbarrier.arrive(signal, relaxed=arrive, scope=form.scope)
    with k.when(k.warp_in_role == 1), k.elect():
        if form.after and form.early:
            k.fence.sc(form.after)
        k.mbarrier.wait(bar[0], 0, relaxed=wait, scope=form.scope)
        if form.after and not form.early:
            k.fence.sc(form.after)
        k.mem.ld_shared(x.all, tile[0])
    if form.remote:
        k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize(
    "form",
    [
        Message(),
        Message(before="gpu", after="cluster"),
        Message(before="", relaxed=(False, True)),
        Message(after="", relaxed=(True, False)),
        Message(remote=True, scope="cluster", before="cluster", after="gpu"),
        Message(remote=True, scope="cluster", before="cluster", after="", relaxed=(True, False)),
    ],
    ids=str,
)
def test_a_fence_makes_relaxed_ops_release_and_acquire(form: Message) -> None:
    assert_certified(message(form))


@pytest.mark.parametrize(
    "form",
    [
        Message(before=""),
        Message(after=""),
        Message(late=True),
        Message(early=True),
        Message(before="", after="", relaxed=(True, True)),
    ],
    ids=str,
)
def test_a_fence_that_lacks_or_stands_elsewhere(form: Message) -> None:
    assert {rule for rule, _ in errors(message(form))} == {Rule.READ_BEFORE_ARRIVAL}


@pytest.mark.parametrize(
    "form",
    [
        Message(remote=True, scope="cluster", before="cta", after="gpu"),
        Message(remote=True, scope="cluster", before="gpu", after="cta"),
        Message(remote=True, scope="cta", before="cluster", after="cluster"),
    ],
    ids=str,
)
def test_scopes_that_do_not_reach_the_other_cta(form: Message) -> None:
    assert {rule for rule, _ in errors(message(form))} == {Rule.SCOPE_TOO_NARROW}


@pytest.mark.parametrize("scope", ["", "cta", "cluster"])
def test_a_fence_before_a_relaxed_arrive_on_the_cluster_barrier(scope: str) -> None:
    k = ScheduleBuilder("cluster")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    tile = k.smem_tile("tile", (1, 32), "f32")
    x = written(k, "x", registers=1)
    mine = tile[0].box((0, k.lane), (1, 1))
    k.mem.st_shared(mine, x.all)
    if scope:
        k.fence.acq_rel(scope)
    k.cluster_barrier.arrive(relaxed=True)
    k.cluster_barrier.wait()
    k.mem.ld_shared(x.all, mine.at(1 - k.cta_rank))
    k.cluster_barrier.sync()
    if scope == "cluster":
        assert_certified(k.finish())
    else:
        assert {rule for rule, _ in errors(k.finish())} == {Rule.SCOPE_TOO_NARROW}


# -- tensor maps that change -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """A grouped GEMM's producer: for each group the map is changed, then used."""

    release: bool = True
    acquire: bool = True
    order: bool = True  # between the lane that changes the map and the one that copies
    drained: bool = True  # copies of the group before are complete before the map changes
    same: bool = True  # one lane does both


def grouped(form: Grouped) -> Schedule:
    k = ScheduleBuilder("grouped")
    k.block(2)
    source = k.global_tensor("source", (4, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32), in_global=True)
    tile = k.smem_tile("tile", (1, 32), "f32", stages=4)
    full, changed = k.mbarriers("full", count=1, stages=4), k.mbarriers("changed", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, changed)
        k.fence.mbarrier_init()
    k.bar.sync()

    def change() -> None:
        k.tma.replace(source_map)
        if form.release:
            k.fence.tensormap_release()

    with k.specialize():
        with k.role("copy", warps=1), k.elect(), k.loop(4) as i:
            if form.same:
                change()
            elif form.order:
                k.mbarrier.wait(changed[0], i % 2)
            if form.acquire:
                k.fence.tensormap_acquire(source_map)
            k.mbarrier.arrive_expect_tx(full[i], 128)
            k.tma.load(tile[i], source_map, (i, 0), full[i])
            if form.same and form.drained:
                k.mbarrier.wait(full[i], 0)
        with k.role("change", warps=1), k.elect(), k.loop(4) as i:
            if not form.same:
                change()
                k.mbarrier.arrive(changed[0])
            if form.drained or not form.same:
                k.mbarrier.wait(full[i], 0)
    return k.finish()


@pytest.mark.parametrize("same", [False, True])
def test_a_map_that_changes_from_group_to_group(same: bool) -> None:
    result = check(grouped(Grouped(same=same)))
    assert (result.verdict, result.certified) == (Verdict.CLEAN, True)
    assert {f.rule for f in result.findings} <= {Rule.UNCONSUMED_PHASE}


@pytest.mark.parametrize(
    ("form", "rule", "text"),
    [
        (
            Grouped(release=False),
            Rule.MISSING_PROXY_FENCE,
            "TMA load source -> tile on full[0] uses source_map, changed without "
            "fence.proxy.tensormap release",
        ),
        (
            Grouped(acquire=False),
            Rule.MISSING_PROXY_FENCE,
            "TMA load source -> tile on full[0] uses source_map, changed without "
            "fence.proxy.tensormap acquire",
        ),
        (
            Grouped(acquire=False, same=False),
            Rule.MISSING_PROXY_FENCE,
            "TMA load source -> tile on full[0] uses source_map, changed without "
            "fence.proxy.tensormap acquire",
        ),
        (
            Grouped(order=False, same=False),
            Rule.DESCRIPTOR_LIFETIME,
            "",
        ),
        (
            Grouped(drained=False),
            Rule.DESCRIPTOR_LIFETIME,
            "TMA load source -> tile on full[0] may still use source_map, which changes",
        ),
    ],
    ids=str,
)
def test_maps_that_are_changed_or_used_too_early(form: Grouped, rule: Rule, text: str) -> None:
    found = errors(grouped(form))
    assert found[0][0] is rule and text in found[0][1]


def refused(build: Callable[[Any, Any], object], **options: bool) -> tuple[Rule | None, str]:
    k = ScheduleBuilder("refused")
    k.block(1)
    source = k.global_tensor("source", (4, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32), **options)
    with pytest.raises(ScheduleError) as error:
        build(k, source_map)
        k.finish()
    return error.value.rule, error.value.message


def test_maps_that_nothing_can_change() -> None:
    def one_lane(k, m):  # type: ignore[no-untyped-def]
        with k.elect_thread():
            k.tma.replace(m)

    def unknown(k, m):  # type: ignore[no-untyped-def]
        with k.elect_thread():
            k.tma.replace(m, field="colour")

    parameter = "tensor map 'source_map' is a kernel parameter, which nothing changes"
    assert refused(one_lane) == (Rule.TENSOR_MAP, parameter)
    assert refused(unknown, in_global=True) == (None, "tensormap.replace of 'colour'")
    lanes = refused(lambda k, m: k.tma.replace(m), in_global=True)
    assert lanes == (None, "tensormap.replace by several lanes")
    assert refused(lambda k, m: k.fence.acq_rel("sys")) == (None, "fence at scope 'sys'")


def test_no_rounds_are_passed_over_where_a_map_changes() -> None:
    assert can_jump(message(Message())) and not can_jump(grouped(Grouped()))
