"""What the rules say of generated code is what compilers make of it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from asyncsim.sim.instruction_table import INSTRUCTIONS
from tests.instructions import Count, count, disassembler, loops

pytestmark = [
    pytest.mark.hw,
    pytest.mark.skipif(
        find_spec("cuda") is None or disassembler() is None,
        reason="needs the hw extra and nvidia-cuda-nvdisasm",
    ),
]


@pytest.mark.parametrize("params", [{}, {"m": 3000, "n": 2002, "k": 2056}], ids=str)
def test_addresses_among_products(params: dict[str, int]) -> None:
    """Within 20 % of SASS; without the copies' and loads' addresses they would be 6."""
    c = count("mma_gemm", params)
    assert c.ruled == pytest.approx(c.found, rel=0.2)


@pytest.mark.parametrize("params", [{}, {"hdim": 64}, {"hdim": 64, "consumers": 3}], ids=str)
def test_turns_that_are_taken_and_passed(params: dict[str, int]) -> None:
    """Ping-pong adds conditions and nothing else: 18 to 24 instructions a turn."""
    with_, without = (count("flash_attention", {**params, "pingpong": p}) for p in (1, 0))
    assert with_.ruled - without.ruled == pytest.approx(with_.found - without.found, abs=4)


def test_a_kernel_is_counted() -> None:
    assert count("mma_gemm", {}).ruled == count("mma_gemm", {"stages": 4}).ruled == 79


def test_loops_end_with_a_branch_back() -> None:
    text = """
.L_x_1:
        /*0000*/                   IADD3 R0, R1, R2, RZ ;
.L_x_2:
        /*0010*/                   HMMA.16816.F32 R4, R8, R12, R4 ;
        /*0020*/              @!P0 BRA `(.L_x_2) ;
        /*0030*/               @P1 BRA `(.L_x_1) ;
        /*0040*/                   BRA `(.L_x_3) ;
.L_x_3:
"""
    assert [len(body) for body in loops(text)] == [2, 4]


def test_the_table() -> None:
    assert (INSTRUCTIONS.operator, INSTRUCTIONS.condition, INSTRUCTIONS.assignment) == (1, 1, 1)
    assert (INSTRUCTIONS.ldmatrix_run, INSTRUCTIONS.cp_async_run, INSTRUCTIONS.cp_async) == (
        3,
        15,
        1,
    )
    assert Count(2, 3) != Count(3, 2)
