"""Packed vector clocks against plain lists, and the balance of a phase against brute force."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from asyncsim.check.balance import Counted, Kind, premature
from asyncsim.check.clock import FIELD_BITS, FIELD_MASK, ClockLayout, Section

N = 5
FIELDS = st.lists(st.integers(0, FIELD_MASK), min_size=6 * N, max_size=6 * N)


def pack(fields: list[int]) -> int:
    return sum(v << (FIELD_BITS * i) for i, v in enumerate(fields))


def unpack(clock: int) -> list[int]:
    return [(clock >> (FIELD_BITS * i)) & FIELD_MASK for i in range(6 * N)]


@given(FIELDS, FIELDS)
def test_join_takes_the_larger_value_of_every_field(a: list[int], b: list[int]) -> None:
    layout = ClockLayout(N, tensor=True, peers=True)
    assert unpack(layout.join(pack(a), pack(b))) == list(map(max, a, b))


@given(FIELDS, FIELDS)
def test_covers_compares_the_guarded_sections_only(a: list[int], b: list[int]) -> None:
    layout = ClockLayout(N, tensor=True, peers=True)
    for section in Section:
        part = slice(N * section, N * section + N)
        expected = all(x >= y for x, y in zip(a[part], b[part], strict=True))
        assert layout.covers(pack(a), pack(b), layout.guards[section]) is expected


@given(FIELDS)
def test_fence_raises_a_section_to_what_is_visible(a: list[int]) -> None:
    layout = ClockLayout(N, tensor=True, peers=True)
    fenced = unpack(layout.fence(pack(a), Section.SHARED_FENCE))
    expected = [*a]
    for i in range(N):
        expected[2 * N + i] = max(a[2 * N + i], a[N + i])
    assert fenced == expected


def covers(clock: int, epoch: int) -> bool:
    return epoch != 0 and clock & epoch == epoch


@given(st.data())
def test_premature_against_brute_force(data: st.DataObject) -> None:
    """Ops of a balanced phase in a random order; sets of bits stand for clocks."""
    total = data.draw(st.integers(1, 5))
    counted: list[Counted] = []
    before = 0
    step = SimpleNamespace()

    def add(kind: Kind, tx: int) -> None:
        nonlocal before
        knows = before & data.draw(st.integers(0, 63))
        for c in counted:  # what it knows is closed under predecessors
            if c.epoch and knows & c.epoch:
                knows |= c.clock
        epoch = 0 if kind is Kind.LANDING else 1 << len(counted)
        counted.append(Counted(kind, knows, epoch, tx, step))  # type: ignore[arg-type]
        before |= epoch

    kinds = data.draw(st.permutations([Kind.ARRIVAL] + [Kind.EXPECT] * total))
    for kind in kinds:
        add(kind, 0 if kind is Kind.ARRIVAL else 1)
    for _ in range(total):
        add(Kind.LANDING, 1)

    def closed(chosen: tuple[int, ...]) -> bool:
        known = sum(counted[i].epoch for i in chosen)
        return all(
            counted[j].epoch & counted[i].clock == 0 or counted[j].epoch & known
            for i in chosen
            for j in range(len(counted))
        )

    def balance(chosen: tuple[int, ...]) -> int:
        return sum(
            c.tx * (-1 if c.kind is Kind.LANDING else 1) for c in map(counted.__getitem__, chosen)
        )

    everything = range(len(counted))
    arrivals = {i for i in everything if counted[i].kind is Kind.ARRIVAL}
    expected = any(
        arrivals <= set(chosen) and closed(chosen) and balance(chosen) == 0
        for size in range(len(counted))
        for chosen in combinations(everything, size)
    )
    assert premature(counted, covers) is expected
