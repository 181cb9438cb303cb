"""Result types of check and simulate. Plain values; no reader lives here."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from asyncsim.rules import Finding, Rule, Severity
from asyncsim.trace import Trace


class Verdict(Enum):
    """CLEAN: no interleaving breaks a rule (warnings may stand). INCOMPLETE: not decided."""

    CLEAN = "clean"
    FINDINGS = "findings"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extents:
    """What a tensor has at least after m steps: ``size + m * grows``; exactly ``size`` for None."""

    tensor: str
    size: tuple[int, ...]
    grows: tuple[int, ...] | None

    def at(self, steps: int) -> tuple[int, ...]:
        """The extents after so many steps."""
        grows = self.grows or (0,) * len(self.size)
        return tuple(n + steps * g for n, g in zip(self.size, grows, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trips:
    """A verdict for every value ``value + m * step``, m >= 0, up to ``last``, of a kernel argument
    that is a trip count: the state recurs in the loop, and the rest does not depend on it.

    ``ends``: what forbids one step more; ``extents``: what tensors have then; those of others do
    not matter.
    """

    arg: str
    value: int
    step: int
    last: int
    ends: str
    extents: tuple[Extents, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The verdict on a schedule at its trip counts, for every interleaving.

    ``certified``: the conditions held on one execution, which licenses run-ahead simulation.
    ``trips``: larger trip counts that the verdict CLEAN holds for, where it was asked for them;
    ``unclaimed``: why for none.
    ``note``: for INCOMPLETE, the condition and the two ops; ``stats``: ops, nodes, states searched.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    certified: bool = False
    note: str = ""
    stats: dict[str, int] = field(default_factory=dict)
    trips: Trips | None = None
    unclaimed: str = ""

    def has(self, rule: Rule) -> bool:
        """Whether one of the findings names this rule."""
        return any(f.rule is rule for f in self.findings)

    def under(self, *, strict: bool) -> Verdict:
        """The verdict; under ``strict`` a warning counts as an error."""
        if strict and any(f.severity is Severity.WARNING for f in self.findings):
            return Verdict.FINDINGS
        return self.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """How CTAs sit on the GPU. ``limited_by``: what caps CTAs per SM."""

    ctas_per_sm: int
    waves: float
    smem_bytes: int
    limited_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Cycles a role waited at one op, mean over its warps and the simulated CTAs."""

    role: str
    op_id: int
    what: str
    where: str
    cycles: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the units of all SMs did in a run. ``sms``: the share of them that had CTAs. ``flops``:
    products and sums of matrix instructions, by kind ("f16", "f8", "tf32", "i8"; "mma": mma.sync).
    Bytes: ``smem`` of operands and plain accesses, ``fill`` landed in SMs, ``l2`` fetched by GPCs,
    ``dram``, ``store`` from SMs to L2. ``ffma``, ``mufu``, ``alu`` (all others): warp instructions
    of computations that share their pipes."""

    sms: float
    flops: dict[str, float]
    smem_bytes: float
    fill_bytes: float
    l2_bytes: float
    dram_bytes: float
    store_bytes: float
    ffma: float
    mufu: float
    alu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sustained:
    """A run repeated without pauses for a second or more. ``clock_mhz`` is what the board holds
    under ``limit_w`` with ``operands`` ("random" or "zeros"), ``because`` of "power", "peak power",
    "tensor" (the highest clock while tensor cores work) or "boost"; ``tflops`` counts matrix
    instructions, 0 without."""

    cycles: float
    time_us: float
    clock_mhz: float
    watts: float
    limit_w: float
    operands: str
    because: str
    tflops: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A predicted run. ``cycles``: first CTA start to last CTA end, in SM cycles.

    ``path``: shares of the critical path by resource, they add up to 1. ``engines``: utilisation
    by resource, 0..1. ``l2_read_bytes``: what the loads of all CTAs ask L2 for, a multicast once,
    before SMs that ask for the same lines at once are merged. ``origins``: how many machine numbers
    were used, first by how they are known ("measured", "inferred", "published", "assumed"), then by
    table of the machine file, e.g. ``origins["assumed"]["tma"]``; ``assumed``: the sum of the last
    kind.
    ``activity`` and ``sustained`` are None for programs of two kernels.
    ``assumed_share``: how much of the cycles rests on them, 0..1; None where they are few.
    """

    cycles: float
    time_us: float
    clock_mhz: float
    bound_by: str
    occupancy: Occupancy
    path: dict[str, float]
    engines: dict[str, float]
    l2_read_bytes: int
    stalls: tuple[Stall, ...]
    trace: Trace | None = None
    assumed: int = 0
    assumed_share: float | None = None
    origins: dict[str, dict[str, int]] = field(default_factory=dict)
    spread_pct: float = 0.0
    activity: Activity | None = None
    sustained: Sustained | None = None
