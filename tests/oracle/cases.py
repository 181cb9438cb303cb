"""Random small cases: rings, rendezvous, chains, named barriers, cp.async, free ones, mutants."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.oracle.program import Case, Op


def random_case(rng: Random) -> Case:
    """One case with 0 to 3 mutations."""
    family = rng.choice(
        [
            *(ring, ring, rendezvous, rendezvous_ring, chain, named, cp_async, free, lanes, lanes),
            *(states, states, parts),
        ]
    )
    case = family(rng)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        case = mutate(rng, case)
    return case


def ring(rng: Random) -> Case:
    """Producer and consumers over full and empty barriers; many ways to expect and copy."""
    stages, steps = rng.randint(1, 3), rng.randint(1, 5)
    consumers = rng.choice([1, 1, 2])
    tiles, restart = rng.choice([1, 1, 2]), rng.random() < 0.3
    copies = rng.choice([1, 1, 2])
    style = rng.randrange(5)
    full, empty = list(range(stages)), list(range(stages, 2 * stages))
    counts = [2 if style == 3 else 1] * stages + [consumers] * stages
    cells = stages * copies
    producer: list[Op] = []
    readers: list[list[Op]] = [[] for _ in range(consumers)]
    total = 0
    for tile in range(tiles):
        for i in range(steps):
            at = i if restart else total
            s, phase = at % stages, at // stages % 2
            tags = [total * copies + c for c in range(copies)]
            producer.append(Op("wait", empty[s], phase ^ 1))
            loads = [Op("copy", full[s], cell=s * copies + c, tag=tags[c]) for c in range(copies)]
            producer += _fill(style, full[s], loads, copies)
            for r in readers:
                r.append(Op("wait", full[s], phase))
                r += [Op("read", cell=s * copies + c, tag=tags[c]) for c in range(copies)]
                r.append(Op("arrive", empty[s]))
            total += 1
        del tile
    threads = [tuple(producer), *map(tuple, readers)]
    if rng.random() < 0.15:
        b = rng.choice(full + empty)
        threads.append(tuple(Op("wait", b, rng.randrange(2)) for _ in range(rng.randint(1, 2))))
    return Case(tuple(counts), cells, tuple(threads))


def _fill(style: int, b: int, loads: list[Op], copies: int) -> list[Op]:
    match style:
        case 0:
            return [Op("arrive_expect", b, copies), *loads]
        case 1:  # announce first, arrive last
            return [Op("expect", b, copies), *loads, Op("arrive", b)]
        case 2:  # the arrival announces a part, the rest is announced before the copies
            more = [Op("expect", b, copies - 1)] if copies > 1 else []
            return [Op("arrive_expect", b, 1), *more, *loads]
        case 3:  # copies before their bytes are announced, while an arrival is pending
            return [*loads, Op("arrive_expect", b, copies), Op("arrive", b)]
        case _:  # each copy with its own announcement: the first may complete the phase
            first = [Op("arrive_expect", b, 1), loads[0]]
            return first + [op for load in loads[1:] for op in (Op("expect", b, 1), load)]


def rendezvous(rng: Random) -> Case:
    """Threads that meet on one barrier, and touch a cell in turns."""
    n, rounds = rng.choice([2, 2, 3]), rng.randint(1, 4)
    threads: list[list[Op]] = [[] for _ in range(n)]
    touch = rng.random() < 0.6
    for r in range(rounds):
        if touch:
            threads[r % n].append(Op("write", cell=0))
        for t in threads:
            t += [Op("arrive", 0), Op("wait", 0, r % 2)]
    return Case((n,), 1, tuple(map(tuple, threads)))


def rendezvous_ring(rng: Random) -> Case:
    """One rendezvous barrier for all stages; the follower runs up to ``stages`` steps ahead."""
    stages, steps = rng.randint(1, 3), rng.randint(1, 5)
    leader: list[Op] = []
    follower: list[Op] = []
    touch = rng.random() < 0.5
    for i in range(steps):
        s = i % stages
        follower.append(Op("wait", 1 + s, i // stages % 2 ^ 1))
        follower += [Op("write", cell=s)] if touch else []
        follower.append(Op("arrive", 0))
        leader += [Op("arrive", 0), Op("wait", 0, i % 2)]
        leader += [Op("read", cell=s)] if touch else []
        leader.append(Op("arrive", 1 + s))
    return Case((2, *[1] * stages), stages, (tuple(leader), tuple(follower)))


def chain(rng: Random) -> Case:
    """Three roles, each passing a cell on to the next."""
    steps = rng.randint(1, 3)
    a: list[Op] = []
    b: list[Op] = []
    c: list[Op] = []
    for i in range(steps):
        p = i % 2
        a += [Op("wait", 3, p ^ 1), Op("arrive_expect", 0, 1), Op("copy", 0, cell=0, tag=i)]
        b += [Op("wait", 0, p), Op("read", cell=0, tag=i), Op("arrive", 1), Op("wait", 2, p)]
        c += [Op("wait", 1, p), Op("read", cell=0, tag=i), Op("arrive", 2), Op("arrive", 3)]
    return Case((1, 1, 1, 1), 1, (tuple(a), tuple(b), tuple(c)))


def named(rng: Random) -> Case:
    """Groups that alternate by bar.sync and bar.arrive, with a cell between them."""
    rounds = rng.randint(1, 3)
    a: list[Op] = []
    b: list[Op] = []
    if rng.random() < 0.5:
        for _ in range(rounds):
            a += [Op("sync", 0, 64), Op("write", cell=0), Op("bar_arrive", 1, 64)]
            b += [Op("bar_arrive", 0, 64), Op("sync", 1, 64), Op("read", cell=0)]
        return Case((), 1, (tuple(a), tuple(b)))
    third: list[Op] = []
    for i in range(rounds):
        a += [Op("write", cell=0), Op("sync", 0, 96)]
        b += [Op("sync", 0, 96), Op("read", cell=0)]
        third += [Op("sync", 0, 96)]
        if i < rounds - 1 or rng.random() < 0.3:
            for t in (a, b, third):
                t.append(Op("sync", 1, 96))
    return Case((), 1, (tuple(a), tuple(b), tuple(third)))


def cp_async(rng: Random) -> Case:
    """One thread copies ahead by groups; perhaps it hands the cells to another one."""
    stages, steps = rng.randint(2, 3), rng.randint(1, 5)
    shared = rng.random() < 0.4
    own: list[Op] = []
    for s in range(stages - 1):
        own += [Op("cp_async", cell=s, tag=s)] if s < steps else []
        own.append(Op("commit"))
    other: list[Op] = []
    for i in range(steps):
        own.append(Op("wait_group", n=stages - 2))
        if shared:
            own += [Op("arrive", 0), Op("wait", 1, i % 2)]
            other += [Op("wait", 0, i % 2), Op("read", cell=i % stages, tag=i), Op("arrive", 1)]
        else:
            own.append(Op("read", cell=i % stages, tag=i))
        ahead = i + stages - 1
        own += [Op("cp_async", cell=ahead % stages, tag=ahead)] if ahead < steps else []
        own.append(Op("commit"))
    threads = (tuple(own), tuple(other)) if shared else (tuple(own),)
    return Case((1, 1), stages, threads)


def lanes(rng: Random) -> Case:
    """A ring whose consumers are whole warps: who waits, who meets, who arrives is drawn."""
    stages, steps, warps = rng.randint(1, 2), rng.randint(1, 4), rng.choice([1, 1, 2])
    wait_wide, read_wide = rng.random() < 0.7, rng.random() < 0.8
    meets = rng.choice(["after wait", "before arrive", "before arrive", "both", "none"])
    arrive_wide = rng.random() < 0.4
    full, empty = list(range(stages)), list(range(stages, 2 * stages))
    counts = [1] * stages + [warps * (32 if arrive_wide else 1)] * stages
    producer: list[Op] = []
    readers: list[list[Op]] = [[] for _ in range(warps)]
    for i in range(steps):
        s, phase = i % stages, i // stages % 2
        producer += [Op("wait", empty[s], phase ^ 1), Op("arrive_expect", full[s], 1)]
        producer.append(Op("copy", full[s], cell=s, tag=i))
        for r in readers:
            r.append(Op("wait", full[s], phase, wide=wait_wide))
            r += [Op("meet")] if meets in ("after wait", "both") else []
            r.append(Op("read", cell=s, tag=i, wide=read_wide))
            r += [Op("meet")] if meets in ("before arrive", "both") else []
            r.append(Op("arrive", empty[s], wide=arrive_wide))
    return Case(tuple(counts), stages, (tuple(producer), *map(tuple, readers)))


def states(rng: Random) -> Case:
    """Threads that meet by states, some of them by parity; perhaps a copy lands in each phase."""
    n, rounds, bars = rng.choice([2, 2, 3]), rng.randint(1, 4), rng.randint(1, 2)
    threads: list[list[Op]] = [[] for _ in range(n)]
    copies, touch = rng.random() < 0.4, rng.random() < 0.5
    parity = [rng.random() < 0.2 for _ in range(n)]
    early = rng.random() < 0.15  # arrive once more before the wait
    for r in range(rounds):
        b = r % bars
        for i, t in enumerate(threads):
            if touch and not copies and i == r % n:
                t.append(Op("write", cell=b))
            if copies and i == 0:
                load = [Op("copy", b, cell=b, tag=r), Op("arrive_expect", b, 1, keep=True)]
                t += load if rng.random() < 0.7 else load[::-1]
            else:
                t.append(Op("arrive", b, keep=not parity[i]))
            if early and i == n - 1 and r == 0:
                t.append(Op("arrive", rng.randrange(bars), keep=rng.random() < 0.5))
            t.append(Op("wait", b, r // bars % 2) if parity[i] else Op("wait_state", b))
            if copies and touch:
                t.append(Op("read", cell=b, tag=r))
    return Case((n,) * bars, bars, tuple(map(tuple, threads)))


def parts(rng: Random) -> Case:
    """Warps whose elected lane copies and arrives with the bytes; the other lanes just arrive."""
    warps, rounds, bars = rng.choice([1, 1, 2]), rng.randint(1, 3), rng.randint(1, 2)
    threads: list[list[Op]] = [[] for _ in range(warps)]
    first, meets = rng.random() < 0.7, rng.random() < 0.7
    for r in range(rounds):
        b = r % bars
        for i, t in enumerate(threads):
            if i == 0:
                load = [Op("copy", b, cell=b, tag=r), Op("arrive_expect", b, 1, keep=True)]
                t += load if first else load[::-1]
                t.append(Op("arrive", b, others=True, keep=True))
            else:
                t.append(Op("arrive", b, wide=True, keep=True))
            t.append(Op("wait_state", b, wide=True))
            t.append(Op("read", cell=b, tag=r, wide=rng.random() < 0.7))
            if meets:  # nobody copies again before all have read
                t.append(Op("meet") if warps == 1 else Op("sync", 0, 32 * warps))
    return Case((32 * warps,) * bars, bars, tuple(map(tuple, threads)))


def free(rng: Random) -> Case:
    """Anything: arrivals, waits, copies and reads at random."""
    n, bars = rng.randint(2, 3), rng.randint(1, 2)
    threads = []
    for t in range(n):
        ops = []
        keep = rng.random() < 0.4  # what it waits for with a state
        for _ in range(rng.randint(1, 5)):
            b = rng.randrange(bars)
            if keep and rng.random() < 0.5:
                ops += [Op("arrive", b, keep=True), Op("wait_state", b)][: rng.randint(1, 2)]
                continue
            ops.append(
                rng.choice(
                    [
                        Op("arrive", b),
                        Op("arrive", b),
                        Op("wait", b, rng.randrange(2)),
                        Op("wait", b, rng.randrange(2)),
                        Op("read", cell=0),
                        Op("write", cell=0) if t == 0 else Op("arrive", b),
                    ]
                )
            )
        if t == n - 1 and rng.random() < 0.5:
            b = rng.randrange(bars)
            ops = [op for op in ops if op.kind in ("arrive", "wait")]
            at = rng.randint(0, len(ops))
            load = [Op("arrive_expect", b, 1), Op("copy", b, cell=0, tag=rng.randrange(3))]
            if rng.random() < 0.3:
                load.reverse()
            ops[at:at] = load
        threads.append(tuple(ops))
    case = Case(tuple(rng.randint(1, 2) for _ in range(bars)), 1, tuple(threads))
    if rng.random() < 0.2:
        first = (Op("init", 0, case.counts[0]), *case.threads[0])
        case = replace(case.with_thread(0, first), late=frozenset({0}))
    return case


def mutate(rng: Random, case: Case) -> Case:
    """One small change to one thread."""
    places = [i for i, t in enumerate(case.threads) if t]
    if not places:
        return case
    i = rng.choice(places)
    ops = list(case.threads[i])
    at = rng.randrange(len(ops))
    op = ops[at]
    if op.kind == "init":
        return case
    match rng.randrange(6):
        case 0:
            del ops[at]
        case 1:
            other = rng.randrange(len(ops))
            if ops[other].kind != "init":
                ops[at], ops[other] = ops[other], ops[at]
        case 2:
            ops.insert(at, op)
        case 3 if op.kind == "wait":
            ops[at] = replace(op, n=op.n ^ 1)
        case 3 if op.kind == "wait_state":
            ops[at] = Op("wait", op.b, rng.randrange(2), wide=op.wide, others=op.others)
        case 3 if op.kind in ("expect", "arrive_expect"):
            ops[at] = replace(op, n=max(0, op.n + rng.choice([-1, 1])))
        case 3 if op.kind == "wait_group":
            ops[at] = replace(op, n=op.n + 1)
        case 4 if op.keep and rng.random() < 0.4:
            ops[at] = replace(op, keep=False)
        case 4 if op.kind == "arrive":
            ops[at] = replace(op, n=op.n + 1)
        case 4 if op.b >= 0 and op.kind not in ("sync", "bar_arrive"):
            ops[at] = replace(op, b=rng.randrange(len(case.counts)))
        case 5 if op.kind in ("wait", "wait_state", "read") and rng.random() < 0.5:
            ops[at] = replace(op, wide=not op.wide, others=False)
        case 5 if op.kind in ("arrive", "wait_state") and not op.wide and rng.random() < 0.3:
            ops[at] = replace(op, others=not op.others)
        case 5 if case.counts and op.kind in ("arrive", "wait"):
            counts = list(case.counts)
            b = rng.randrange(len(counts))
            if b not in case.late:
                counts[b] = max(1, counts[b] + rng.choice([-1, 1]))
            case = replace(case, counts=tuple(counts))
        case _:
            ops[at:at] = [op] if op.kind == "arrive" else []
    return case.with_thread(i, tuple(ops))
