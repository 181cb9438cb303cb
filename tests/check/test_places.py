"""Places in tensors that clusters write, against every element."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from asyncsim.check.places import Accesses, meetings
from asyncsim.memory.region import GlobalBox, LaneBoxes
from asyncsim.stream.dyn import Access, Proxy

SHAPE = (6, 7)


def box(at: tuple[int, ...], shape: tuple[int, ...], write: bool) -> Access:
    return Access(GlobalBox("out", at, shape), write, Proxy.ASYNC)


def elements(access: Access) -> set[tuple[int, ...]]:
    """Those of the tensor that an access touches."""
    found: set[tuple[int, ...]] = set()
    for piece in access.lanes or (access.region,):
        assert isinstance(piece, GlobalBox)
        ranges = [range(a, a + n) for a, n in zip(piece.start, piece.shape, strict=True)]
        found |= set(product(*ranges))
    return {e for e in found if all(0 <= i < n for i, n in zip(e, SHAPE, strict=True))}


def drawn(rng: Random, how: str) -> list[list[Access]]:
    """The accesses of a few clusters: on a lattice (with some smaller places), on none, before the
    tensor's first element, or by lanes."""
    clusters: list[list[Access]] = []
    for _ in range(rng.choice([2, 3])):
        accesses: list[Access] = []
        for _ in range(rng.choice([1, 2])):
            shape = (2, 3) if rng.random() < 0.7 else (rng.choice([1, 2]), rng.choice([1, 3]))
            at = (rng.randrange(5) * 2, rng.randrange(4) * 3)
            if how == "before":
                at = (at[0] - 2, at[1] - 3)
            elif how == "anywhere":
                at = (rng.randrange(7), rng.randrange(8))
            write = rng.random() < 0.5
            if how == "lanes" and rng.random() < 0.5:
                lanes = LaneBoxes("out", [(at[0] + i, at[1] + i) for i in range(3)], (1, 1))
                accesses.append(Access(lanes.hull(), write, Proxy.GENERIC, lanes))
            else:
                accesses.append(box(at, shape, write))
        clusters.append(accesses)
    return clusters


@pytest.mark.parametrize("how", ["lattice", "anywhere", "before", "lanes"])
def test_clusters_meet_where_elements_do(how: str) -> None:
    rng, met, apart = Random(how), 0, 0
    for _ in range(400):
        clusters = drawn(rng, how)
        every = []
        for accesses in clusters:
            every.append(Accesses())
            for access in accesses:
                every[-1].add(access)
        expected = [
            j
            for j, mine in enumerate(clusters)
            if any(
                (a.write or b.write) and elements(a) & elements(b)
                for theirs in clusters[:j]
                for a in mine
                for b in theirs
            )
        ]
        assert list(meetings(every, SHAPE)) == expected
        met += bool(expected)
        apart += not expected
    assert met > 20 and apart > 20


def pattern(*accesses: Access) -> object:
    found = Accesses()
    for access in accesses:
        found.add(access)
    return found.pattern()


def test_tiles_side_by_side_differ_by_which_of_them_are_one() -> None:
    here = pattern(box((0, 0), (2, 3), True), box((4, 3), (2, 3), True), box((0, 0), (2, 3), False))
    there = pattern(
        box((8, 3), (2, 3), True), box((2, 0), (2, 3), True), box((8, 3), (2, 3), False)
    )
    assert here == there
    assert here != pattern(
        box((8, 3), (2, 3), True), box((2, 0), (2, 3), True), box((2, 0), (2, 3), False)
    )
    assert here != pattern(
        box((8, 3), (2, 3), True), box((2, 0), (2, 1), True), box((8, 3), (2, 3), False)
    )


def test_places_that_may_overlap_in_part_differ_by_how_they_lie() -> None:
    here = pattern(box((0, 0), (2, 3), True), box((1, 0), (2, 3), True))
    assert here == pattern(box((3, 3), (2, 3), True), box((4, 3), (2, 3), True))
    assert here != pattern(box((3, 3), (2, 3), True), box((6, 3), (2, 3), True))
