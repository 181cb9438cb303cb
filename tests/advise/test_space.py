"""Which combinations a sweep looks at, and the errors of what cannot be swept."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsim.advise.space import MAX_COMBINATIONS, Space, neighbours, space_of
from asyncsim.catalog import builtin_scenarios, find_scenario
from asyncsim.errors import UsageError
from asyncsim.machine import load_machine
from tests.advise.kernels import behaving, fixed

H200 = load_machine("h200")


def test_all_free_parameters_vary_but_for_those_given() -> None:
    space = space_of(behaving, H200, {"how": 0, "ffma": 3}, {})
    assert space == Space(params={"stages": 2, "how": 0, "ffma": 3}, vary={"stages": (1, 2, 3)})
    assert space.fixed == {"how": 0, "ffma": 3}
    assert [c["stages"] for c in space.combinations()] == [1, 2, 3]
    assert next(space.combinations()) == {"stages": 1, "how": 0, "ffma": 3}


def test_what_varies_by_name_varies_alone_and_no_value_twice() -> None:
    space = space_of(behaving, H200, {}, {"stages": (4, 2, 4)})
    assert (space.vary, space.fixed) == ({"stages": (4, 2)}, {"how": 0, "ffma": 8})
    assert len(space) == 2


def test_a_scenario_without_free_parameters_takes_any() -> None:
    assert space_of(fixed, H200, {}, {"stages": range(1, 3)}).vary == {"stages": (1, 2)}


def test_values_may_depend_on_the_machine() -> None:
    gemm = find_scenario("bw_gemm")
    for name in ("h200", "b200"):
        machine = load_machine(name)
        assert gemm.free["ctas"].on(machine) == (machine.gpu.sms,)


@pytest.mark.parametrize(
    ("scenario", "given", "vary", "text"),
    [
        (
            behaving,
            {"stages": 2},
            {"stages": [1]},
            "stages is given and varied; drop one of the two",
        ),
        (
            behaving,
            {},
            {"ffma": [1]},
            "ffma is no free parameter of behaving: schedules that differ in it do different work; "
            "give it one value, vary stages, how",
        ),
        (
            fixed,
            {},
            {},
            "fixed declares no free parameters; say what to vary, among stages",
        ),
        (
            behaving,
            {"stages": 1, "how": 0},
            {},
            "every free parameter of behaving is given: nothing to vary",
        ),
        (behaving, {}, {"stages": []}, "stages has no values to vary over"),
        (
            behaving,
            {},
            {"stages": range(101), "how": range(100)},
            f"10,100 combinations, more than {MAX_COMBINATIONS:,}; vary fewer values",
        ),
        (
            behaving,
            {},
            {"stage": [1]},
            "scenario 'behaving' has no parameter 'stage'; did you mean 'stages'? it has stages, "
            "how, ffma",
        ),
    ],
)
def test_errors(scenario: Any, given: Any, vary: Any, text: str) -> None:
    with pytest.raises(UsageError) as error:
        space_of(scenario, H200, given, vary)
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (range(10**15), "stages has more than 10,000 values; vary fewer"),
        ([2, 2.5], "a value of stages is no integer: 'float' object cannot be interpreted as an "),
        (["2"], "a value of stages is no integer: 'str' object cannot be interpreted as an "),
    ],
    ids=str,
)
def test_values_that_cannot_be_swept(values: Any, text: str) -> None:
    with pytest.raises(UsageError) as error:
        space_of(find_scenario("tma_ring"), H200, {}, {"stages": values})
    assert str(error.value).startswith(text)


def test_neighbours_go_on_at_the_end_of_a_row_of_three() -> None:
    assert neighbours((1, 2, 4), 2) == (1, 4)
    assert neighbours((1, 2, 4), 4) == (2, 6)
    assert neighbours((4, 2, 1), 1) == (2,)
    assert neighbours((0, 1), 1) == (0,)
    assert neighbours((132,), 132) == ()


@pytest.mark.parametrize("scenario", builtin_scenarios(), ids=lambda s: s.name)
def test_free_parameters_are_parameters_and_some_combination_is_near_the_default(
    scenario: Any,
) -> None:
    """The default of a free parameter is one of its values, on the machine that it is made for."""
    machine = load_machine("b200" if scenario.archs == ("sm_100a",) else "h200")
    for name, free in scenario.free.items():
        assert scenario.params[name] in free.on(machine), name
