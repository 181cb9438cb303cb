"""Notes on wgmma: registers and operands in flight."""

from __future__ import annotations

from asyncsim.rule_notes.note import RuleNote
from asyncsim.rules import Rule

MATRICES = """\
k = ScheduleBuilder("example")
out = k.global_tensor("out", (64, 64), "f32", output=True)
a = k.smem_tile("a", (64, 64), "bf16", swizzle=128)
b = k.smem_tile("b", (64, 64), "bf16", swizzle=128)
d = k.accumulator("d", n=64)
matrix = k.global_tensor("matrix", (64, 64), "bf16")
matrix_map = k.tensor_map("matrix_map", matrix, box=(64, 64), swizzle=128)
full = k.mbarriers("full", count=1)
k.block(4)
with k.elect_thread():
    k.mbarrier.init_all(full)
    k.fence.mbarrier_init()
    k.mbarrier.arrive_expect_tx(full[0], 16384)
    k.tma.load(a[0], matrix_map, (0, 0), full[0])
    k.tma.load(b[0], matrix_map, (0, 0), full[0])
k.bar.sync()
k.mbarrier.wait(full[0], 0)
"""

WGMMA: dict[Rule, RuleNote] = {
    Rule.FRAGMENT_IN_FLIGHT: RuleNote(
        alone=True,
        example=MATRICES
        + """\
k.wgmma.fence()
k.wgmma.mma_tile(d, a[0], b[0], accumulate_first=0)
k.wgmma.commit_group()
k.mem.store_accumulator(out, (0, 0), d)
k.wgmma.wait_group(0)
""",
        fix="`k.wgmma.wait_group(0)` before the accumulator, or an A fragment, is touched.",
    ),
    Rule.OPERAND_IN_FLIGHT: RuleNote(
        alone=True,
        example=MATRICES
        + """\
k.wgmma.fence()
k.wgmma.mma_tile(d, a[0], b[0], accumulate_first=0)
k.wgmma.commit_group()
with k.elect_thread():
    k.mbarrier.arrive_expect_tx(full[0], 8192)
    k.tma.load(a[0], matrix_map, (0, 0), full[0])
k.mbarrier.wait(full[0], 1)
k.wgmma.wait_group(0)
""",
        fix="Release a stage after a `k.wgmma.wait_group` that covers the wgmma that reads it.",
    ),
    Rule.MISSING_WGMMA_FENCE: RuleNote(
        alone=True,
        example=MATRICES
        + """\
k.wgmma.mma_tile(d, a[0], b[0], accumulate_first=0)
k.wgmma.commit_group()
k.wgmma.wait_group(0)
""",
        fix="`k.wgmma.fence()` before the first wgmma and after registers were touched.",
    ),
    Rule.ROLES_DISAGREE: RuleNote(
        alone=True,
        example=MATRICES
        + """\
k.wgmma.fence()
with k.when(k.warp_in_role == 0):
    k.wgmma.mma_tile(d, a[0], b[0], accumulate_first=0)
with k.when(k.warp_in_role != 0):
    k.wgmma.mma_tile(d, b[0], a[0], accumulate_first=0)
k.wgmma.commit_group()
k.wgmma.wait_group(0)
""",
        fix="All four warps of a warpgroup take one path to one wgmma: no branch on warp_in_role.",
    ),
}
