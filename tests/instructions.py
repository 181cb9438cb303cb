"""The rules of ``sim/instructions.toml`` beside SASS: ``python -m tests.instructions``.

Counts, in the innermost loop with products of a compiled kernel, what is neither an op of the
schedule nor arithmetic of its computations, and prints it beside what the rules say. Needs NVRTC
and nvdisasm, no GPU.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from asyncsim.catalog import find_scenario
from asyncsim.hw.compile import compile_schedule
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import For
from asyncsim.sim.instructions import addresses, counted

LABEL = re.compile(r"^(\.L_x_\d+):")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
BACK = re.compile(r"BRA.*`\((\.L_x_\d+)\)")
OPS = re.compile(
    r"HMMA|HGMMA|LDSM|LDGSTS|LDGDEPBAR|DEPBAR|BAR|LDS RZ|SYNCS|WARPGROUP|@!UPT UIADD3 URZ|"
    r"FMNMX|FFMA|FADD|FMUL|MUFU|F2FP|SHFL|FSETP|FSEL|ELECT"
)

KERNELS: tuple[tuple[str, dict[str, int]], ...] = (
    ("mma_gemm", {}),
    ("mma_gemm", {"stages": 2}),
    ("mma_gemm", {"stages": 4}),
    ("mma_gemm", {"m": 3000, "n": 2002, "k": 2056}),
    ("flash_attention", {}),
    ("flash_attention", {"pingpong": 0}),
    ("flash_attention", {"hdim": 64}),
    ("flash_attention", {"hdim": 64, "pingpong": 0}),
    ("flash_attention", {"hdim": 64, "consumers": 3}),
    ("flash_attention", {"hdim": 64, "consumers": 3, "pingpong": 0}),
)


@dataclass(frozen=True, slots=True)
class Count:
    """Of one kernel's loop: instructions beside the ops in SASS, and by the rules."""

    found: int
    ruled: int


def disassembler() -> str | None:
    """nvdisasm of the package nvidia-cuda-nvdisasm."""
    spec = find_spec("nvidia")
    places = (spec.submodule_search_locations or []) if spec else []
    return next((str(p) for r in places for p in Path(r).glob("**/bin/nvdisasm")), None)


def count(scenario: str, params: dict[str, int]) -> Count:
    """Raises CompileError, EnvironmentError_ without NVRTC."""
    schedule = find_scenario(scenario).build(params)
    tool = disassembler()
    assert tool is not None
    path = compile_schedule(schedule).path
    done = subprocess.run([tool, "-c", path], capture_output=True, text=True, check=True)
    loop = max(loops(done.stdout), key=lambda body: sum("MMA." in i for i in body))
    return Count(sum(not OPS.search(i) for i in loop), ruled(schedule))


def loops(text: str) -> Iterator[list[str]]:
    """The instructions of each loop: from a label to a branch back to it."""
    found: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(found)
        elif instruction := INSTRUCTION.match(line):
            found.append(instruction[1])
            back = BACK.search(instruction[1])
            if back and back[1] in labels:
                yield found[labels[back[1]] :]


def ruled(schedule: Schedule) -> int:
    """What the rules say of the loop with the most ops."""
    loops_ = [s for s in statements(schedule.body) if isinstance(s, For)]
    ids = max(
        ([o.id for o in statements(s.body) if isinstance(o, OpBase)] for s in loops_), key=len
    )
    parts = counted(schedule), addresses(schedule)
    return sum(part.get(i, 0) for part in parts for i in ids)


def main() -> None:
    for scenario, params in KERNELS:
        c = count(scenario, params)
        shown = " ".join(f"{name}={value}" for name, value in params.items())
        print(f"{scenario} {shown}: {c.found} beside the ops, by the rules {c.ruled}")


if __name__ == "__main__":
    main()
