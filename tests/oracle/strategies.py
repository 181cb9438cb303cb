"""The generators by name, and a random case of each: a schedule with up to three mutations."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate import validate
from tests.mutants.mutants import mutants
from tests.oracle import bulk, cases, copies, crowds, orders, peers, rings, tokens
from tests.oracle.program import Case, build
from tests.oracle.rings import Generator


def of_case(family) -> Generator:  # type: ignore[no-untyped-def]
    """A generator of schedules from one of small cases; these bring their own mutations."""

    def generate(rng: Random) -> Schedule:
        case: Case = family(rng)
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            case = cases.mutate(rng, case)
        return build(case)

    return generate


GENERATORS: Mapping[str, Generator] = {
    "tma_ring": rings.tma_ring,
    "wgmma_ring": rings.wgmma_ring,
    "rendezvous": rings.rendezvous,
    "named": rings.named,
    "cp_async": copies.cp_async,
    "bulk_store": copies.bulk_store,
    "through": copies.through,
    "plain": copies.plain,
    "bulk_runs": bulk.bulk_runs,
    "sends": bulk.sends,
    "signals": orders.signals,
    "multicast_ring": peers.multicast_ring,
    "mailbox": peers.mailbox,
    "exchange": peers.exchange,
    "crowd": crowds.crowd,
    "meetings": peers.meetings,
    "peeking_ring": tokens.peeking_ring,
    "free_peeks": tokens.free_peeks,
    "tracked_ring": tokens.tracked_ring,
    "by_hand": tokens.by_hand,
    "case_ring": of_case(cases.ring),
    "case_rendezvous": of_case(cases.rendezvous),
    "case_rendezvous_ring": of_case(cases.rendezvous_ring),
    "case_chain": of_case(cases.chain),
    "case_named": of_case(cases.named),
    "case_cp_async": of_case(cases.cp_async),
    "case_lanes": of_case(cases.lanes),
    "case_free": of_case(cases.free),
    "case_states": of_case(cases.states),
    "case_parts": of_case(cases.parts),
}


def random_schedule(name: str, rng: Random) -> Schedule:
    """A schedule of one generator, mutated where that still makes a schedule."""
    schedule = GENERATORS[name](rng)
    if name.startswith("case_"):
        return schedule
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        schedule = mutated(rng, schedule)
    return schedule


def mutated(rng: Random, schedule: Schedule) -> Schedule:
    """One random mutation; the schedule itself if that one is refused."""
    found = list(mutants(schedule))
    if not found:  # nothing is left that synchronises
        return schedule
    chosen = rng.choice(found).schedule
    try:
        validate(chosen)
    except ScheduleError:
        return schedule
    return chosen
