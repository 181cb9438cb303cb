"""CTAs that are taken to be alike, against all that they execute."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from asyncsim import Rule, ScheduleBuilder, Value, check
from asyncsim.build.builder import Var_
from asyncsim.check.affine import block_use, only_reduced
from asyncsim.check.ctas import Block, follows, survey
from asyncsim.check.told import difference
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Const
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox
from asyncsim.scenario import Scenario
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.fp8_gemm import fp8_gemm
from asyncsim.scenarios.grouped_gemm import grouped_gemm
from asyncsim.scenarios.multicast_gemm import multicast_gemm
from asyncsim.scenarios.pingpong_gemm import pingpong_gemm
from asyncsim.scenarios.split_k import split_k
from asyncsim.stream.program import Program
from tests.check.written import written


def executed(program: Program, block: Block) -> tuple[object, list[object], list[GlobalBox]]:
    """All that a cluster does, without what its data mean, and where it touches written tensors;
    and these."""
    schedule, found = program.schedule, list[object]()
    out = {o.dst.tensor for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp)}
    out -= only_reduced(schedule)
    data, places = list[object](), list[GlobalBox]()
    for cta, warp in product(schedule.cluster_of(block), range(schedule.warps)):
        for dyn, _ in program.stream(cta, warp):
            ints = () if isinstance(dyn.op, ops.Compute) else dyn.ints
            found.append((dyn.op.id, dyn.barrier, dyn.value, ints))
            for access in dyn.accesses:
                box = access.region
                if not isinstance(box, GlobalBox):
                    found.append((box, [r for r, _ in access.tags]))
                    data += [t for _, t in access.tags]
                elif box.tensor in out:
                    found.append((box.tensor, box.shape, access.write))
                    places.append(box)
    return found, data, places


def meeting(places: list[GlobalBox]) -> list[object]:
    """Which places meet, and how they lie."""
    return [
        (i, j, [p - q for p, q in zip(a.start, b.start, strict=True)])
        for i, a in enumerate(places)
        for j, b in enumerate(places[:i])
        if a.overlaps(b)
    ]


def stands_for(kind: Block, block: Block, program: Program) -> bool:
    """Whether a cluster that is taken to be as another one is: the same but for its data, where
    what is equal in the other is equal, and for its places, where the same ones meet."""
    (done, data, places), (theirs, finer, others) = (executed(program, b) for b in (block, kind))
    known: dict[object, object] = {}
    return (
        done == theirs
        and all(known.setdefault(a, b) == b for a, b in zip(finer, data, strict=True))
        and meeting(places) == meeting(others)
    )


def wrong(schedule: Schedule) -> list[tuple[Block, Block]]:
    """CTAs that are taken to be as another one, and are not."""
    kinds, program = survey(schedule, block_use(schedule)), Program(schedule)
    assert kinds.complete
    return [(b, kind) for b, kind in kinds.alike.items() if not stands_for(kind, b, program)]


class Drawn:
    """A schedule whose loops, conditions and operands mix the indices of block, warp and round."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.k = k = ScheduleBuilder("drawn")
        self.source = k.global_tensor("source", (4096, 4096), "f32")
        self.other = k.global_tensor("other", (4096, 4096), "f32")
        self.source_map = k.tensor_map("source_map", self.source, box=(4, 8))
        self.out = k.global_tensor("out", (4096, 4096), "f32", output=True)
        self.tile = k.smem_tile("tile", (64, 64), "f32", stages=2)
        self.landing = k.smem_tile("landing", (4, 8), "f32", stages=2)
        self.bar = k.mbarriers("bar", count=1, stages=2)
        with k.elect_thread():
            k.mbarrier.init_all(self.bar)
        self.reg = written(k, "reg", registers=32)
        k.grid(self.rng.choice([5, 8]))
        self.loops: list[Value] = []
        self.vars: list[Var_] = []
        self.vars += [k.var("x", self.number(1)), k.var("y")]

    def number(self, depth: int = 2) -> Value:
        """At least 0."""
        k, rng = self.k, self.rng
        known: list[Value] = [k.block_idx, k.warp_in_role, *self.loops, *self.vars]
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(known) + rng.choice([0, 0, 1])
        a, b = self.number(depth - 1), self.number(depth - 1)
        n = rng.choice([2, 3, 4])
        return rng.choice([a + b, a * n, a // n, a % n, a, a * (a > n)])

    def schedule(self) -> Schedule:
        with self.k.specialize():
            for role in range(self.rng.choice([1, 2])):
                with self.k.role(f"role{role}", warps=self.rng.choice([1, 3])):
                    self.statements(3)
        return self.k.finish()

    def statements(self, depth: int) -> None:
        for _ in range(self.rng.choice([1, 2, 3])):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        k, rng = self.k, self.rng
        kind = rng.randrange(10 if depth else 5)
        if kind in (0, 9):
            rng.choice(self.vars).set(self.number() % 64)
        elif kind in (1, 2):
            row, column = self.number() % 2 * 8, k.warp_in_role % rng.choice([1, 2]) * 8
            tensor = rng.choice([self.source, self.other])
            at = (
                self.number() % 64 + row * rng.choice([0, 1]),
                column + rng.choice([0, 1]) * self.number(),
            )
            view = self.tile[self.number() % 2 if rng.random() < 0.3 else 0]
            k.mem.ld_shared(
                self.reg.all, view.box((row, column), (4, 8)).expecting(tensor.box(at, (4, 8)))
            )
        elif kind == 3:
            with k.elect_thread():
                at = (self.number() % 64, self.number() % 16 * 4)
                stage = self.number() % rng.choice([1, 2])
                k.tma.load(self.landing[stage], self.source_map, at, self.bar[stage])
        elif kind == 4:
            if rng.random() < 0.3:
                to = self.out.box((self.number() % 64, k.lane), (1, 32))
                k.mem.st_global(to, self.reg.all)
            else:
                k.mbarrier.wait(self.bar[self.number() % 2], self.number() % 2)
        elif kind in (5, 6):
            with k.loop(self.number() % 4) as i:
                self.loops.append(i)
                self.statements(depth - 1)
                self.loops.pop()
        elif kind == 7:
            with k.when(self.number() % 3 == rng.choice([0, 1])):
                self.statements(depth - 1)
        elif kind == 8:
            with k.elect():
                k.mbarrier.arrive(self.bar[self.number() % 2])


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_alike_is_alike_in_all_that_is_executed(first: int) -> None:
    merged = 0
    for seed in range(first, first + 50):
        schedule = Drawn(seed).schedule()
        if not block_use(schedule).uniform:
            assert wrong(schedule) == [], seed
            kinds = survey(schedule, block_use(schedule))
            merged += len(kinds.alike) - len(kinds.blocks)
    assert merged > 20


@pytest.mark.parametrize(
    ("scenario", "params", "kinds"),
    [
        (cooperative_gemm, {"m": 512, "n": 1024, "k": 128, "ctas": 12, "band": 3}, 2),
        (pingpong_gemm, {"m": 512, "n": 1024, "k": 128, "ctas": 9}, 2),
        (multicast_gemm, {"m": 1024, "n": 1024, "k": 128, "ctas": 10, "narrow": 1}, 2),
        (grouped_gemm, {"groups": 3, "m": 512, "n": 512, "k": 128, "ctas": 5}, 4),
        (fp8_gemm, {"m": 1024, "n": 512, "k": 256, "ctas": 5}, 5),  # a scale of B by column
        (split_k, {"m": 256, "n": 512, "k": 1024, "splits": 4, "ctas": 5}, 2),
        (flash_attention, {"seq": 512, "heads": 2, "causal": 1}, 4),
    ],
)
def test_kinds_of_kernels(scenario: Scenario, params: dict[str, int], kinds: int) -> None:
    schedule = scenario.build(params)
    assert wrong(schedule) == []
    assert len(survey(schedule, block_use(schedule)).blocks) == kinds


def test_a_persistent_kernel_is_decided_at_its_full_size() -> None:
    schedule = cooperative_gemm.build({})
    kinds = survey(schedule, block_use(schedule))
    assert (kinds.complete, len(kinds.alike), len(kinds.blocks)) == (True, 132, 2)


def test_data_that_differ_stand_for_data_that_are_one() -> None:
    assert follows((0, 0, 1), (0, 1, 2))
    assert not follows((0, 1, 2), (0, 0, 1))
    assert not follows((0, 1, 0), (0, 1, 2, 0))


@pytest.mark.parametrize("right", [0, 1, 2])
def test_a_read_that_finds_what_it_means_in_some_ctas_only(right: int) -> None:
    k = ScheduleBuilder("some")
    source = k.global_tensor("source", (16, 8), "f32")
    tile = k.smem_tile("tile", (4, 8), "f32")
    source_map = k.tensor_map("source_map", source, box=(4, 8))
    full = k.mbarriers("full", count=1, stages=1)
    k.grid(3)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 128)
        k.tma.load(tile[0], source_map, (k.block_idx * 4, 0), full[0])
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    reg = written(k, "reg", registers=32)
    meant = tile[0].expecting(source.box((right * 4, 0), (4, 8)))
    k.mem.ld_shared(reg.all, meant)
    schedule = k.finish()
    kinds = survey(schedule, block_use(schedule))
    assert len(kinds.blocks) == 1
    assert kinds.blocks != [(right, 0, 0)]
    assert [f.rule for f in check(schedule).findings] == [Rule.WRONG_TILE]


def test_a_difference_without_common_terms() -> None:
    k = ScheduleBuilder("terms")
    row, at = k.block_idx.expr, (k.warp_in_role * 64).expr
    a, b = (k.block_idx + (k.warp_in_role * 64 + 3)).expr, (k.warp_in_role * 64 + 1).expr
    assert difference(b, at) == Const(1)
    assert repr(difference(a, b)).count("WARP_IN_ROLE") == 0
    assert repr(row) in repr(difference(a, b))
