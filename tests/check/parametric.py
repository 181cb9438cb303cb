"""Random schedules whose loops count to one kernel argument, and faults that come at some count.

``late`` puts one op of a loop under a condition of the round and the count; ``shifted`` lets an
integer of it change there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from asyncsim import ScheduleBuilder
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Arg, Binary, Const, Expr, Var
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.ir.validate import validate
from tests.check.written import written
from tests.oracle.rings import FOLD, chance
from tests.oracle.strategies import GENERATORS, mutated

ARG = "n"

Family = Callable[[Random, int], Schedule]


def copies(rng: Random, n: int) -> Schedule:
    """A ring of cp.async whose tail is guarded, unrolled, or copied again; or loads and stores."""
    k = ScheduleBuilder("copies")
    count = k.arg(ARG, n)
    stages, warps = rng.randint(2, 4), rng.choice([1, 1, 2])
    ahead = rng.randint(1, stages - 1) if chance(rng, 0.8) else stages
    ctas, wide = rng.choice([1, 1, 2, 3]), rng.choice([4, 8])
    strided, tail = chance(rng, 0.3), rng.choice(["guard", "guard", "clamp", "short"])
    rows = 32 * warps
    k.grid(ctas)
    k.block(warps)
    tiles = ctas * n + (ctas * stages if chance(rng, 0.2) else 0)
    along = chance(rng, 0.3)  # tiles side by side, and not one below the other
    shape = (rows, tiles * wide) if along else (tiles * rows, wide)
    source = k.global_tensor("source", shape, "f32")
    ring = k.smem_tile("ring", (rows, wide), "f32", stages=stages)
    x = written(k, "x", registers=1)
    out = k.global_tensor("out", (ctas, rows), "f32", output=True)

    def tile(i):  # type: ignore[no-untyped-def]
        t = i * ctas + k.block_idx if strided else k.block_idx * count + i
        return (0, t * wide) if along else (t * rows, 0)

    def copy(stage, i) -> None:  # type: ignore[no-untyped-def]
        k.cp_async.copy_tile(ring[stage], source, tile(i), threads=rows)

    def commit(stage, i, limit) -> None:  # type: ignore[no-untyped-def]
        if tail == "clamp":
            copy(stage, i - (i >= limit) * (i - limit + 1))
        elif tail == "short" and limit is None:
            pass
        else:
            with k.when(i < count):
                copy(stage, i)
        k.cp_async.commit_group()

    for s in range(ahead):
        commit(s, s * 1, count)
    write = k.var("write", ahead % stages)
    read = k.var("read", 0)
    with k.loop(count) as i:
        k.cp_async.wait_group(ahead - 1)
        k.bar.sync()
        if ahead < stages:
            commit(write, i + ahead, count)
        meant = source.box(tile(i), (rows, wide))
        k.mem.compute(FOLD, x.all, ring[read].expecting(meant))
        if ahead == stages:
            k.bar.sync()
            commit(write, i + ahead, count)
        if chance(rng, 0.5):
            for var in (read, write):
                var.set(var + 1)
                with k.when(var == stages):
                    var.set(0)
        else:
            read.set((i + 1) % stages)
            write.set((i + 1 + ahead) % stages)
    if chance(rng, 0.5):
        k.cp_async.wait_group(0)
    k.mem.st_global(out.box((k.block_idx, k.thread_in_role), (1, 1)), x.all)
    return k.finish()


def states(rng: Random, n: int) -> Schedule:
    """Warps write, arrive and wait by the state of that, and read each other's rows."""
    k = ScheduleBuilder("states")
    count = k.arg(ARG, n)
    warps, stages = rng.choice([1, 2, 3]), rng.choice([1, 1, 2])
    tile = k.smem_tile("tile", (warps, 32), "f32", stages=2)
    full = k.mbarriers("full", count=32 * warps, stages=stages)
    state, x = k.mbarrier_state("state"), written(k, "x", registers=1)
    k.block(warps)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    again = chance(rng, 0.8)
    with k.loop(count) as i:
        stage = tile[i % 2]
        k.mem.st_shared(stage.box((k.warp_in_role, k.lane), (1, 1)), x.all)
        k.mbarrier.arrive(full[i % stages], state=state)
        k.mbarrier.wait_state(full[i % stages], state)
        row = (k.warp_in_role + 1) % warps
        k.mem.ld_shared(x.all, stage.box((row, k.lane), (1, 1)))
        if again:
            k.bar.sync()
    return k.finish()


def of_oracle(name: str) -> Family:
    """A generator of the oracle, whose outermost loops count to the argument."""
    return lambda rng, n: counted(GENERATORS[name](rng), n)


def broken(rng: Random, schedule: Schedule) -> Schedule:
    """The schedule with up to two faults of any kind: of all rounds, of some, or of some counts."""
    for _ in range(rng.choice([0, 1, 1, 2])):
        change: Callable[[Random, Schedule], Schedule]
        change = rng.choice([mutated, late, late, shifted, shifted, remembered, remembered])
        try:
            made = change(rng, schedule)
            validate(made)
        except ScheduleError:
            continue
        schedule = made
    return schedule


def condition(rng: Random, var: str, n: int) -> Expr:
    """Something about the round and the count that is mostly true at ``n``."""
    i, count = Var(var), Arg(ARG)
    c = Const(rng.randint(max(0, n - 8), n + 40))
    small = Const(rng.randint(0, 4))
    ops_ = ("<", "<=", ">", ">=", "==", "!=")
    forms: list[Expr] = [
        Binary(rng.choice(["!=", "<", "<="]), i, c),
        Binary(rng.choice(["!=", "<"]), count, c),
        Binary(rng.choice(ops_), Binary("+", i, small), count),
        Binary(rng.choice(ops_), Binary("*", i, Const(2)), Binary("+", count, c)),
        Binary(rng.choice(ops_), i, Binary("-", count, c)),
        Binary("!=", Binary("%", i, Const(rng.randint(2, 5))), small),
        Binary("!=", Binary("%", count, Const(rng.randint(2, 5))), small),
        Binary("!=", Binary("%", Binary("+", i, count), Const(rng.randint(2, 4))), small),
        Binary("<", Binary("//", i, Const(rng.randint(2, 20))), small),
        Binary("!=", Binary("*", i, Const(rng.randint(1, 3))), Binary("-", count, small)),
        Binary("<", Binary("min", i, c), Binary("-", count, small)),
        Binary("<", Binary("&", i, Const(rng.choice([7, 15, 31, 63]))), c),
        Binary("<", Binary("*", i, Binary("-", count, c)), Const(rng.randint(0, 500))),
    ]
    return rng.choice(forms)


def late(rng: Random, schedule: Schedule) -> Schedule:
    """One statement of a loop under a condition."""
    n = dict(schedule.args)[ARG]

    def guarded(s: Stmt, var: str) -> Stmt:
        return When(condition=condition(rng, var, n), body=(s,))

    return _at_one(rng, schedule, guarded)


def shifted(rng: Random, schedule: Schedule) -> Schedule:
    """One integer of an op or a var in a loop is another when a condition fails."""
    n = dict(schedule.args)[ARG]

    def other(s: Stmt, var: str) -> Stmt:
        def moved(e: Expr) -> Expr:
            off = Binary("==", condition(rng, var, n), Const(0))
            return Binary("+", e, Binary("*", off, Const(rng.choice([1, -1, 1, 4]))))

        match s:
            case Set(value=value):
                return replace(s, value=moved(value))
            case ops.MbarrierWait(parity=parity):
                return replace(s, parity=moved(parity))
            case ops.CpAsync(src=view) | ops.TmaLoad(src=view):
                start = (moved(view.start[0]), *view.start[1:])
                return replace(s, src=replace(view, start=start))
            case ops.MbarrierArrive(mbarrier=ref):
                return replace(s, mbarrier=replace(ref, stage=moved(ref.stage)))
            case _:
                return s

    return _at_one(rng, schedule, other)


def remembered(rng: Random, schedule: Schedule) -> Schedule:
    """A variable that the count, or the rounds, move decides whether one statement is executed."""
    n, count = dict(schedule.args)[ARG], Arg(ARG)
    kept, small = Var("kept"), Const(rng.randint(1, 3))
    first: Expr = rng.choice([Const(0), count, Binary("-", Const(n + 20), count)])
    more: list[Expr] = [small, small, count, Binary("-", small, count)]
    changed = rng.choice(["never", "each round", "each round", "some rounds"])
    bound = rng.choice([n, 2 * n, 3 * n, n * n, 0]) + rng.randint(0, 30)
    test = Binary(rng.choice(["!=", "!=", "<", "<="]), kept, Const(bound))
    if rng.random() < 0.3:
        test = Binary("!=", Binary("%", kept, Const(rng.randint(2, 9))), Const(rng.randint(0, 5)))

    def role(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        declared = Set(var="kept", value=first, declare=True)
        at, chosen = [0], rng.randint(0, 12)

        def stmt(s: Stmt) -> Stmt:
            match s:
                case For(var=var, body=inner):
                    add = Set(var="kept", value=Binary("+", kept, rng.choice([*more, Var(var)])))
                    inner = tuple(map(stmt, inner))
                    if changed == "never":
                        return replace(s, body=inner)
                    odd = Binary("%", Var(var), Const(2))
                    extra = add if changed == "each round" else When(condition=odd, body=(add,))
                    return replace(s, body=(*inner, extra))
                case When(body=inner, orelse=other):
                    return replace(s, body=tuple(map(stmt, inner)), orelse=tuple(map(stmt, other)))
                case Elect(body=inner, others=other):
                    return replace(s, body=tuple(map(stmt, inner)), others=tuple(map(stmt, other)))
                case OpBase():
                    at[0] += 1
                    return When(condition=test, body=(s,)) if at[0] == chosen else s
                case _:
                    return s

        return (declared, *map(stmt, body))

    places = [s for s in schedule.body if isinstance(s, Specialize)]
    if not places:
        return replace(schedule, body=role(schedule.body))
    names = rng.choice(places[0].roles).name

    def top(s: Stmt) -> Stmt:
        if not isinstance(s, Specialize):
            return s
        roles = (replace(r, body=role(r.body)) if r.name == names else r for r in s.roles)
        return replace(s, roles=tuple(roles))

    return replace(schedule, body=tuple(map(top, schedule.body)))


def _at_one(rng: Random, schedule: Schedule, change: Callable[[Stmt, str], Stmt]) -> Schedule:
    places = sum(1 for _ in _inside(schedule.body, ""))
    if not places:
        return schedule
    chosen, at = rng.randrange(places), [0]

    def block(body: tuple[Stmt, ...], var: str) -> tuple[Stmt, ...]:
        return tuple(stmt(s, var) for s in body)

    def stmt(s: Stmt, var: str) -> Stmt:
        if var and isinstance(s, OpBase | Set):
            at[0] += 1
            return change(s, var) if at[0] == chosen + 1 else s
        match s:
            case For():
                return replace(s, body=block(s.body, s.var))
            case When():
                return replace(s, body=block(s.body, var), orelse=block(s.orelse, var))
            case Elect():
                return replace(s, body=block(s.body, var), others=block(s.others, var))
            case Specialize():
                roles = (replace(r, body=block(r.body, var)) for r in s.roles)
                return replace(s, roles=tuple(roles))
            case _:
                return s

    return replace(schedule, body=block(schedule.body, ""))


def _inside(body: tuple[Stmt, ...], var: str):  # type: ignore[no-untyped-def]
    for s in body:
        match s:
            case For():
                yield from _inside(s.body, s.var)
            case When():
                yield from _inside(s.body + s.orelse, var)
            case Elect():
                yield from _inside(s.body + s.others, var)
            case Specialize():
                for r in s.roles:
                    yield from _inside(r.body, var)
            case _:
                if var:
                    yield s


def counted(schedule: Schedule, more: int) -> Schedule:
    """All outermost loops with a constant trip count get it from one argument."""
    first: list[int] = []

    def stmt(s: Stmt) -> Stmt:
        match s:
            case For(trip_count=Const(c)) if c:
                first.append(c)
                return replace(s, trip_count=Binary("+", Arg(ARG), Const(c - first[0])))
            case When(body=body, orelse=other):
                return replace(s, body=tuple(map(stmt, body)), orelse=tuple(map(stmt, other)))
            case Elect(body=body, others=other):
                return replace(s, body=tuple(map(stmt, body)), others=tuple(map(stmt, other)))
            case Specialize(roles=roles):
                parts = (replace(r, body=tuple(map(stmt, r.body))) for r in roles)
                return replace(s, roles=tuple(parts))
            case _:
                return s

    body = tuple(map(stmt, schedule.body))
    return replace(schedule, body=body, args=((ARG, more + (first or [0])[0]),))


RINGS = ("tma_ring", "wgmma_ring", "multicast_ring", "exchange", "meetings", "peeking_ring")

FAMILIES: dict[str, Family] = {
    "copies": copies,
    "states": states,
    **{name: of_oracle(name) for name in RINGS},
}
