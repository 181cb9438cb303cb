"""Tiles that are handed out while the kernel runs: one result, whoever gets them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from asyncsim import ScheduleError
from asyncsim.evaluate import EvaluateError, Order, evaluate, make_inputs
from asyncsim.evaluate.order import Landing
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule
from asyncsim.scenario import Scenario
from asyncsim.scenarios.atomic_gemm import atomic_gemm
from asyncsim.scenarios.bw_persistent_clc import bw_persistent_clc
from asyncsim.stream.assignment import Assignment, cancels, dealt
from tests.check.test_assignments import Atomic, atomic, decided
from tests.tile_schedules import cancelled, counted


def meant(schedule: Schedule, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Each row with the number of its tile added."""
    source = inputs["source"]
    tiles = np.arange(len(source), dtype=np.uint32) // schedule.cluster_ctas
    return source + tiles[:, None]


def at_random(schedule: Schedule, tiles: int, rng: random.Random) -> Assignment:
    """Each tile beyond the first ones to any cluster that runs, before it in the grid or not."""
    clusters = schedule.ctas // schedule.cluster_ctas
    running = rng.randint(1, tiles) if cancels(schedule) else clusters
    owner = [t if t < running else rng.randrange(running) for t in range(tiles)]
    return tuple(tuple(t for t in range(tiles) if owner[t] == c) for c in range(clusters))


@pytest.mark.parametrize(
    "schedule",
    [
        counted(1, 3),
        counted(2, 2),
        counted(9, 2, slots=1),
        counted(23, 5, slots=3),
        cancelled(1),
        cancelled(9, slots=1),
        cancelled(8, peers=2),
    ],
    ids=lambda s: f"{s.name}-{s.args[0][1]}-{s.ctas}",
)
def test_the_assignment_does_not_matter(schedule: Schedule) -> None:
    inputs, rng = make_inputs(schedule, seed=1), random.Random(5)
    tiles = dict(schedule.args)["tiles"]
    for landing in Landing:
        for seed in (None, 1, 2, 3):
            given = None if seed is None else at_random(schedule, tiles, rng)
            order = Order(landing=landing, seed=seed)
            found = evaluate(schedule, inputs, order=order, assignment=given)
            assert (found["out"] == meant(schedule, inputs)).all()
            assert "counter" not in found or found["counter"].tolist() == [tiles]


@pytest.mark.parametrize(
    ("scenario", "params"),
    [
        (atomic_gemm, {"m": 200, "n": 520, "k": 136, "ctas": 3, "band": 2}),
        (atomic_gemm, {"m": 328, "n": 136, "k": 72, "ctas": 2, "block_n": 128, "slots": 1}),
        (bw_persistent_clc, {"m": 300, "n": 392, "k": 136, "block_n": 128, "band": 1}),
        (bw_persistent_clc, {"m": 520, "n": 72, "k": 72, "block_n": 64, "responses": 1, "f32": 1}),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_products_of_any_assignment(scenario: Scenario, params: dict[str, int]) -> None:
    schedule = scenario.build(params)
    inputs, rng = make_inputs(schedule), random.Random(3)
    product = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T
    tiles = dict(schedule.args)["tiles"]
    for seed in (None, 1, 2):
        given = None if seed is None else at_random(schedule, tiles, rng)
        order = Order(landing=Landing.LATE, seed=seed)
        c = evaluate(schedule, inputs, order=order, assignment=given)["c"]
        assert np.array_equal(c, product.astype(c.dtype))


def test_tiles_are_dealt_in_turn() -> None:
    assert dealt(counted(7, 3)) == ((0, 3, 6), (1, 4), (2, 5))
    assert dealt(counted(1, 3)) == ((0,), (), ())
    assert dealt(cancelled(5)) == ((0, 3), (1, 4), (2,), (), ())


def test_some_ctas_do_the_tiles_that_they_are_dealt() -> None:
    schedule = counted(7, 3)
    inputs = make_inputs(schedule, seed=0)
    found = evaluate(schedule, inputs, ctas=[1])["out"]
    rows = [r for r in range(7) if (found[r] == meant(schedule, inputs)[r]).all()]
    assert rows == [1, 4]


@pytest.mark.parametrize(
    ("schedule", "assignment", "message"),
    [
        (counted(4, 2), ((0, 1, 2, 3),), "of 1 clusters; the grid has 2"),
        (counted(4, 2), ((0, 2), (1,)), "does not have each of 4 tiles once"),
        (counted(4, 2), ((0, 2), (1, 2, 3)), "does not have each of 4 tiles once"),
        (
            counted(4, 2),
            ((0, 3, 2), (1,)),
            "gives cluster 0 its tiles in another than ascending order",
        ),
        (counted(4, 2), ((0, 1, 2, 3), ()), "does not begin with tile 1 in cluster 1"),
        (cancelled(2), ((), (0, 1)), "does not begin with tile 1 in cluster 1"),
    ],
)
def test_assignments_that_cannot_be(
    schedule: Schedule, assignment: Assignment, message: str
) -> None:
    with pytest.raises(ScheduleError) as error:
        evaluate(schedule, make_inputs(schedule), assignment=assignment)
    assert error.value.message == f"an assignment {message}"


def test_a_ticket_of_another_round() -> None:
    """The store's warp reads the other slot, and does not wait: zero is no next tile."""
    schedule = counted(5, 1, wait=False, shift=1)
    with pytest.raises(EvaluateError) as error:
        evaluate(schedule, make_inputs(schedule))
    assert error.value.rule is Rule.WRONG_TILE
    assert str(error.value) == (
        "CTA (0, 0, 0), stores/0: the ticket 'work' of lane 0 is 2 when a round ends, where the "
        "next tile is 1"
    )


def test_schedules_that_do_not_say_how_the_kernel_hears_of_its_tiles() -> None:
    for schedule in (atomic(Atomic()), decided(tiles=2)):
        with pytest.raises(ScheduleError) as error:
            evaluate(schedule, make_inputs(schedule))
        assert error.value.message == "evaluate does not know how the kernel hears of its tiles"
        assert error.value.fix == ("name the register with the next one: k.loop(tiles, ticket=...)")
