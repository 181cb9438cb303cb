"""Tiles that are handed out while the kernel runs: a verdict for every assignment to clusters.

What a cluster does depends on the tiles that it is given, and on nothing else; clusters do nothing
to each other but through global memory. So every assignment is correct if each set of tiles is, in
a cluster of its own, and if what one tile writes no other one touches. One tile in each cluster
shows that, unless what came before moves the accesses of a tile (earlier.py): that is left open.

Few tiles: all sets are executed. Many: if a tile does nothing but move global boxes, all by the
same step, sets of one size execute the same on data that are moved apart; then those of each size
are decided by two of them, the first tiles and every other tile, which agree in no distance between
rounds, and by what is proven of larger trip counts. Of a tensor of which a tile touches no element
twice, no two accesses meet, whatever the tiles: there no order counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from math import lcm, prod

from asyncsim.check.affine import block_use
from asyncsim.check.earlier import after_earlier_tiles
from asyncsim.check.findings import merge_findings
from asyncsim.check.grid import may_lie_outside
from asyncsim.check.once import touched_once, written
from asyncsim.check.snapshot import can_jump
from asyncsim.check.stand_ins import with_stand_ins
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.expr import Arg, Const, Expr, binary
from asyncsim.ir.given import given, in_one_place, number_of_tiles, one_tile_each
from asyncsim.ir.op import GlobalView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.views import parts_of
from asyncsim.predict.result import CheckResult, Trips, Verdict
from asyncsim.rules import Rule

MAX_LISTED = 6
"""So many tiles have sets that are all executed: 64 of them."""
MAX_COUNTS = 32
"""So many sizes are executed of larger sets, unless a proof for all larger ones ends it."""
ASKED = 5
"""Every so many sizes a proof for larger ones is looked for, until one is found."""
GIVEN = "tiles_given"

Run = Callable[[Schedule, str | None], CheckResult]
"""The verdict on a schedule without such tiles; of which argument to say for what larger values."""


def check_assignments(schedule: Schedule, run: Run) -> CheckResult:
    """The verdict for every assignment; of a failure, the first one that is found."""
    tiles = number_of_tiles(schedule)
    results: list[CheckResult] = []
    apart = one_tile_each(schedule, tiles)
    for result in _results(schedule, apart, tiles, run):
        results.append(result)
        if result.verdict is not Verdict.CLEAN:
            break
    stats: dict[str, int] = {"assignments": len(results)}
    for result in results:
        for key, n in result.stats.items():
            stats[key] = stats.get(key, 0) + n
    last = results[-1]
    return replace(
        last,
        findings=tuple(merge_findings([f for r in results for f in r.findings])),
        certified=all(r.certified for r in results),
        stats=stats,
        trips=None,
    )


def _results(schedule: Schedule, apart: Schedule, tiles: int, run: Run) -> Iterator[CheckResult]:
    clusters = prod(apart.clusters)
    how = f"{tiles} clusters are given one tile each"
    if clusters > tiles:
        how = f"{tiles or 'none'} of {clusters} clusters is given a tile"
    yield _told(run(apart, None), how)
    listed = min(tiles, MAX_LISTED)
    alike = with_stand_ins(schedule)
    alike_apart = one_tile_each(alike, tiles)
    if not _few(schedule, tiles) and (reason := _tile_decides(alike_apart)) is None:
        still = in_one_place(alike, touched_once(alike_apart))
        for step in (1, 2):
            yield from _sizes(still, tiles, step, run)
        yield from _earlier(schedule, apart, tiles)
        return
    for size in range(listed + 1):
        for some in combinations(range(listed), size):
            yield _told(run(set_of(schedule, some), None), f"a cluster is given the tiles {some}")
    yield from _earlier(schedule, apart, tiles)
    if tiles > MAX_LISTED:
        note = f"clusters that are given tiles beyond the first {listed} of {tiles}: {reason}"
        yield CheckResult(verdict=Verdict.INCOMPLETE, note=note)


def _few(schedule: Schedule, tiles: int) -> bool:
    """Whether all sets are executed, of a tile that decides nothing too: if there are no more of
    them than sizes, or what came before a tile may decide what leaves a tensor."""
    left = any(True for _ in after_earlier_tiles(schedule))
    return tiles <= MAX_LISTED and (left or 1 << tiles <= 2 * (tiles + 1))


def _earlier(schedule: Schedule, apart: Schedule, tiles: int) -> Iterator[CheckResult]:
    """What one tile in each cluster does not show: accesses that earlier tiles of its cluster move,
    to what is written, and, if not all sets are executed, to what has bounds."""
    shared = written(apart)
    for op, tensor in after_earlier_tiles(schedule):
        bounded = tiles > MAX_LISTED and not may_lie_outside(op)
        if tiles > 1 and (tensor in shared or bounded):
            what = f"{type(op).__name__} of {tensor} at {op.loc}"
            note = f"{what} depends on the tiles that its cluster was given before"
            yield CheckResult(verdict=Verdict.INCOMPLETE, note=note)
            return


def set_of(schedule: Schedule, some: tuple[int, ...]) -> Schedule:
    """One cluster, and its tiles in ascending order."""

    def tile(i: Expr) -> Expr:
        found: Expr = Const(some[0] if some else 0)
        for k, (before, now) in enumerate(pairwise(some)):
            found = binary("+", found, binary("*", binary(">", i, Const(k)), Const(now - before)))
        return found

    return given(schedule, Const(len(some)), tile)


def _sizes(schedule: Schedule, tiles: int, step: int, run: Run) -> Iterator[CheckResult]:
    """Sets of each size, of tiles ``step`` apart."""
    base = _larger(given(schedule, Arg(GIVEN), lambda i: binary("*", i, Const(step))), step)
    claims: list[Trips] = []
    # without a proof for larger sizes all have to be executed, or a few are as good as many
    most = MAX_COUNTS if can_jump(schedule) or tiles <= MAX_COUNTS else MAX_LISTED
    for size in range(tiles + 1):
        if size > most:
            note = f"clusters that are given more than {most} of {tiles} tiles"
            yield CheckResult(verdict=Verdict.INCOMPLETE, note=note)
            return
        one = replace(base, args=(*schedule.args, (GIVEN, size)))
        result = run(one, GIVEN if claims or size % ASKED == 0 else None)
        if step > 1:
            result = _within_bounds(result)
        yield _told(result, f"a cluster is given {size} tiles, {step} apart")
        if result.trips is not None and result.trips.arg == GIVEN:
            claims.append(result.trips)
        period = lcm(*(c.step for c in claims))  # all claims begin here or before
        if all(any(_covers(c, n) for c in claims) for n in range(size + 1, tiles + 1)[:period]):
            return


def _covers(claim: Trips, n: int) -> bool:
    return claim.value <= n <= claim.last and (n - claim.value) % claim.step == 0


def _larger(schedule: Schedule, times: int) -> Schedule:
    """With room for tiles beyond the last one: bounds are decided elsewhere."""
    decls = tuple(
        replace(d, shape=tuple(times * n for n in d.shape)) if isinstance(d, GlobalTensor) else d
        for d in schedule.decls
    )
    return replace(schedule, decls=decls)


def _within_bounds(result: CheckResult) -> CheckResult:
    """What lies outside all the same says nothing of the schedule, and leaves the order open."""
    if not any(f.rule is Rule.OUT_OF_BOUNDS for f in result.findings):
        return result
    note = "where data of tiles that are apart lie was not followed"
    return CheckResult(verdict=Verdict.INCOMPLETE, note=note, stats=result.stats)


def _told(result: CheckResult, how: str) -> CheckResult:
    """With the assignment that it is of."""
    note = f"{result.note} (where {how})" if result.note else ""
    found = tuple(replace(f, detail=(*f.detail, f"where {how}")) for f in result.findings)
    return replace(result, note=note, findings=found)


def _tile_decides(apart: Schedule) -> str | None:
    """What depends on a tile besides places in global memory that move alike; None: nothing."""
    use = block_use(apart)
    if not use.uniform:
        return "a tile decides more than where data lies, or not all moves alike with it"
    for tensor in written(apart):
        users = [o for o in apart.ops() if any(v.tensor == tensor for v in parts_of(o, GlobalView))]
        if len({use.moves.get(o.id) for o in users}) > 1:
            return f"not all accesses to {tensor} move alike with the tile"
    return None
