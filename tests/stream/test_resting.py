"""Windows of a loop, traced one after the other and each from the beginning of the stream."""

from __future__ import annotations

from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.stream.linear import NotLinear
from asyncsim.stream.period import Period, Periods
from asyncsim.stream.program import Program


def test_tracers_that_go_on_find_the_same_windows() -> None:
    schedule = cooperative_gemm.build({"m": 512, "n": 1024, "k": 1536, "ctas": 3})
    program, kept = Program(schedule), Periods(schedule)

    def window(periods: Periods, warp: int, begin: int, length: int) -> Period | None:
        try:
            return periods.window(program.place((1, 0, 0), warp), begin, length, 2)
        except NotLinear:
            return None

    found = 0
    for warp in (0, 5, 8):
        ids = [dyn.op.id for dyn, _ in program.stream((1, 0, 0), warp)]
        for begin in range(0, len(ids) - 200, 13):
            again = ids.index(ids[begin], begin + 1) if ids[begin] in ids[begin + 1 :] else 0
            length = 4 * (again - begin)  # once round the ring
            if 0 < length < 100:
                one = window(kept, warp, begin, length)
                assert one == window(Periods(schedule), warp, begin, length)
                found += one is not None
    assert found > 20
