"""What a note on a rule is, and the lines that its example stands after."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

from asyncsim.rules import Severity

PREAMBLE = """\
k = ScheduleBuilder("example")
data = k.global_tensor("data", (64, 32), "f32")
out = k.global_tensor("out", (64, 32), "f32", output=True)
data_map = k.tensor_map("data_map", data, box=(8, 32))
out_map = k.tensor_map("out_map", out, box=(8, 32))
ring = k.smem_tile("ring", (8, 32), "f32", stages=2)      # 1024 bytes a stage
full = k.mbarriers("full", count=1, stages=2)
empty = k.mbarriers("empty", count=1, stages=2)
r = k.fragment("r", registers=1)
mine = ring[0].box((0, k.lane), (1, 1))                    # one element a lane
k.mem.ld_global(r.all, data.box((0, k.lane), (1, 1)))
with k.elect_thread():
    k.mbarrier.init_all(full, empty)
    k.fence.mbarrier_init()
k.bar.sync()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNote:
    """``example`` breaks the rule; ``alone``: it stands without the preamble."""

    example: str
    fix: str
    alone: bool = False
    severity: Severity = Severity.ERROR

    @property
    def body(self) -> str:
        """The statements of the whole schedule, but for ``k.finish()``."""
        return self.example if self.alone else PREAMBLE + self.example

    @property
    def program(self) -> str:
        """A scenario file: ``asyncsim check`` takes it."""
        body = indent(self.body + "return k.finish()\n", "    ")
        return f"from asyncsim import ScheduleBuilder\n\n\ndef example():\n{body}"
