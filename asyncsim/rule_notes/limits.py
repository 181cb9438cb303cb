"""Notes on what the hardware refuses or gets wrong in silence: sizes, addresses, maps."""

from __future__ import annotations

from asyncsim.rule_notes.note import RuleNote
from asyncsim.rules import Rule

LIMITS: dict[Rule, RuleNote] = {
    Rule.TENSOR_MAP: RuleNote(
        example="""\
odd = k.global_tensor("odd", (8, 30), "f32")
k.tensor_map("odd_map", odd, box=(8, 4))
""",
        fix="Strides are multiples of 16 bytes: pad the rows.",
    ),
    Rule.ALIGNMENT: RuleNote(
        example='k.smem_tile("a", (64, 64), "bf16", swizzle=128, align=512)\n',
        fix="Leave `align` out: tiles are aligned to the repeat of their swizzle.",
    ),
    Rule.OUT_OF_BOUNDS: RuleNote(
        example="k.mem.ld_global(r.all, data.box((64, k.lane), (1, 1)))\n",
        fix="Guard the access with `k.when`, or copy by tensor map, which fills from outside.",
    ),
    Rule.SMEM_OVER_BUDGET: RuleNote(
        example='k.smem_tile("large", (128, 128), "f32", stages=4)\n',
        fix="Fewer stages or smaller tiles; a CTA may have 232,448 bytes.",
    ),
    Rule.REGISTER_POOL: RuleNote(
        alone=True,
        example="""\
k = ScheduleBuilder("example")
k.launch_bounds(1, maxnreg=128)
with k.specialize():
    with k.role("producer", warps=4):
        k.setmaxnreg.dec(40)         # gives 88 a thread
        k.bar.sync()
    with k.role("consumer", warps=4):
        k.setmaxnreg.inc(240)        # takes 112
        k.bar.sync()
""",
        fix="All warps of a CTA together have threads x `maxnreg` registers, and only a dec gives "
        "any back: 40 and 216. The four warps of a warpgroup execute one setmaxnreg, and "
        "synchronise before the next.",
    ),
}
