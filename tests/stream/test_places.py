"""Thread indices are counted in the part of the schedule that an op stands in."""

from asyncsim import ScheduleBuilder
from asyncsim.ir.op import StGlobal
from asyncsim.memory.region import GlobalBox
from asyncsim.stream import Program


def test_threads_count_in_the_block_outside_roles_and_in_the_role_inside():
    k = ScheduleBuilder("places")
    out = k.global_tensor("out", (256,), "f32", output=True)
    x = k.fragment("x", registers=1)
    k.mem.st_global(out.box((k.thread_in_role,), (1,)), x.all)
    with k.specialize():
        with k.role("first", warps=1):
            pass
        with k.role("second", warps=2):
            k.mem.st_global(out.box((k.thread_in_role + 128,), (1,)), x.all)
    schedule = k.finish()
    starts = []
    for dyn, _ in Program(schedule).stream((0, 0, 0), 2):
        assert isinstance(dyn.op, StGlobal)
        region = dyn.accesses[1].region
        assert isinstance(region, GlobalBox)
        starts.append(region.start[0])
    assert starts == [64, 128 + 32]
