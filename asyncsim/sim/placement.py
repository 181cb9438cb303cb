"""Where CTAs run: occupancy, which SMs are simulated, their GPCs, their start times.

k = 8 SMs stand for all active ones, spread over the classes of SMs (kind of the GPC, number of
CTAs, most rounds or not), each class in proportion and with at least one; what shared servers do
for an SM they do for all that it stands for. GPCs are of one kind if they have as many SMs, and as
many of them run a CTA more or take longest: their ports are alike.
A cluster takes as many SMs, one after the other in launch order, and is simulated whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Fragment
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import Machine
from asyncsim.predict.result import Occupancy
from asyncsim.sim.rounds import longest

Kind = tuple[int, int, int]
"""Of a GPC: how many SMs it has, how many run a CTA more, how many have one that takes longest."""

Class = tuple[Kind, bool, bool]
"""Of an SM: the kind of its GPC, whether it runs a CTA more, whether its CTA takes longest."""

SAMPLE = 8
LAST = 2  # at least, of the SMs of a class whose CTAs take longest
BASE_REGISTERS = 26  # addresses, counters and temporaries of a thread beside its fragments


@dataclass(frozen=True, slots=True)
class Sm:
    """A simulated SM. ``index``: its place in the launch order; ``gpcs``: which GPC it is in, or
    which kind of them if it stands for SMs of several."""

    index: int
    gpcs: int
    gpc_active: int  # active SMs of such a GPC
    stands_for: Fraction = Fraction(1)  # SMs that do the same


@dataclass(frozen=True, slots=True)
class Placement:
    """The launch: which CTAs are simulated where. CTAs are numbered in launch order: clusters x
    fastest, the CTAs of a cluster by rank."""

    occupancy: Occupancy
    ctas_per_sm: int
    active_sms: int
    sms: tuple[Sm, ...]
    queue: tuple[int, ...]  # ids of the simulated CTAs, in launch order
    gpc_of: tuple[int, ...]  # of every active SM

    @property
    def wave_ctas(self) -> int:
        """CTAs that run at once on the whole GPU."""
        return self.active_sms * self.ctas_per_sm


def others(sm: Sm, placement: Placement, parts: int) -> tuple[int, int]:
    """Of the SMs that one does not stand for, in ``parts`` each, how many of all others each is."""
    apart = placement.active_sms - sm.stands_for
    return (Fraction(placement.active_sms - 1, parts) / max(apart, Fraction(1))).as_integer_ratio()


def place(schedule: Schedule, machine: Machine, *, exact: bool, sample: int = SAMPLE) -> Placement:
    """Decide the launch of a schedule."""
    per_sm, limit = _ctas_per_sm(schedule, machine)
    ctas, size = schedule.ctas, schedule.cluster_ctas
    sms = _places(schedule, machine)
    active = min(sms, ctas)
    gpc_of = _gpcs(machine, active, size, full=active == sms)
    sizes = Counter(gpc_of)
    chosen: Mapping[int, Fraction] = dict.fromkeys(range(active), Fraction(1))
    gpcs = {gpc: gpc for gpc in sizes}
    if not exact and active > max(sample, size):
        most = longest(schedule) if ctas <= active else frozenset()
        of = [
            Each(gpc, p < ctas // size % (active // size), p in most)
            for p, gpc in enumerate(gpc_of[::size])
        ]
        kinds = _kinds(of)
        clusters = _sample(of, kinds, max(1, sample // size))
        chosen = {size * i + rank: n for i, n in clusters.items() for rank in range(size)}
        numbers = {kind: i for i, kind in enumerate(sorted(set(kinds.values())))}
        gpcs = {gpc: numbers[kind] for gpc, kind in kinds.items()}
    occupancy = Occupancy(
        ctas_per_sm=per_sm,
        waves=ctas / (sms * per_sm),
        smem_bytes=schedule.smem_bytes,
        limited_by=limit,
    )
    simulated = tuple(Sm(p, gpcs[gpc_of[p]], sizes[gpc_of[p]], n) for p, n in chosen.items())
    queue = sorted(i for p in chosen for i in range(p, ctas, active))
    return Placement(occupancy, per_sm, active, simulated, tuple(queue), gpc_of)


def _places(schedule: Schedule, machine: Machine) -> int:
    """The SMs that CTAs of the launch can run on."""
    size = schedule.cluster_ctas
    if size == 1:
        return machine.gpu.sms
    places = sum(n // size for n in machine.gpu.cluster_sms) * size
    if not places:
        raise ScheduleError(
            f"{machine.name} has no room for a cluster of {size} CTAs",
            fix=f"a cluster lies within {max(machine.gpu.cluster_sms)} SMs there",
        )
    return places


def fits_beside(program: Program, machine: Machine) -> bool:
    """Whether a CTA of the dependent kernel has room beside those of the first on an SM."""
    per_sm, _ = _ctas_per_sm(program.primary, machine)
    filled = min(per_sm, -(-program.primary.ctas // machine.gpu.sms))
    ours, more = (_takes(s, machine) for s in program.kernels)
    room = (machine.gpu.smem_per_sm_bytes, machine.gpu.threads_per_sm, machine.gpu.registers_per_sm)
    return all(filled * a + b <= has for a, b, has in zip(ours, more, room, strict=True))


def _takes(schedule: Schedule, machine: Machine) -> tuple[int, int, int]:
    """Shared memory, threads and registers of a CTA, as an SM gives them."""
    gpu = machine.gpu
    granule = gpu.smem_granule_bytes
    smem = -(-(schedule.smem_bytes + gpu.smem_reserved_per_cta_bytes) // granule) * granule
    per_warp = -(-32 * _registers(schedule, machine) // gpu.register_granule) * gpu.register_granule
    return smem, schedule.threads, per_warp * schedule.warps


def _ctas_per_sm(schedule: Schedule, machine: Machine) -> tuple[int, str]:
    gpu = machine.gpu
    smem, threads, registers = _takes(schedule, machine)
    limits = {
        "shared memory": gpu.smem_per_sm_bytes // smem,
        "threads": min(gpu.threads_per_sm // threads, gpu.warps_per_sm // schedule.warps),
        f"registers, about {_registers(schedule, machine)} a thread": gpu.registers_per_sm
        // registers,
        "CTAs of an SM": gpu.ctas_per_sm,
    }
    name = min(limits, key=lambda n: limits[n])
    return max(1, limits[name]), name


def _registers(schedule: Schedule, machine: Machine) -> int:
    """Registers of a thread at launch; setmaxnreg starts from the declared count."""
    if any(isinstance(op, ops.SetMaxNReg) for op in schedule.ops()):
        return schedule.maxnreg
    gpu = machine.gpu
    estimate = BASE_REGISTERS + sum(f.words for f in schedule.of_kind(Fragment))
    declared = gpu.registers_per_sm // (schedule.threads * schedule.ctas_per_sm)
    declared = min(declared, schedule.maxnreg or declared)
    return max(1, min(estimate, declared, gpu.registers_per_thread))


def _gpcs(machine: Machine, active: int, size: int, *, full: bool) -> tuple[int, ...]:
    """The GPC of each SM in launch order.

    A grid that fills the GPU is placed one GPC after another; a smaller one goes to the GPCs in
    runs of ``gpc_run`` SMs, in turn. A cluster stays in one GPC.
    """
    left = [n // size * size for n in machine.gpu.gpc_sms]
    run = max(left) if full else -(-machine.launch.gpc_run // size) * size
    order: list[int] = []
    while len(order) < active:
        for gpc, room in enumerate(left):
            take = min(room, run)
            order += [gpc] * take
            left[gpc] -= take
    return tuple(order[:active])


class Each(NamedTuple):
    """Of a place for a cluster: its GPC, whether it runs one more than others, and whether what it
    runs takes longest."""

    gpc: int
    more: bool
    most: bool


def _kinds(places: list[Each]) -> dict[int, Kind]:
    """Of each GPC."""
    kinds: dict[int, Kind] = {}
    for gpc, more, most in places:
        size, with_more, with_most = kinds.get(gpc, (0, 0, 0))
        kinds[gpc] = size + 1, with_more + more, with_most + most
    return kinds


def _sample(places: list[Each], kinds: dict[int, Kind], sample: int) -> dict[int, Fraction]:
    """The places to simulate, with how many each stands for: classes in proportion, at least one of
    each, and two of those that take longest."""
    classes: dict[Class, list[int]] = {}
    for p, (gpc, more, most) in enumerate(places):
        classes.setdefault((kinds[gpc], more, most), []).append(p)
    counts = _apportion({c: len(members) for c, members in classes.items()}, sample)
    for c, members in classes.items():
        if c[2]:  # the last of them decides
            counts[c] = max(counts[c], min(LAST, len(members)))
    chosen: dict[int, Fraction] = {}
    for c, members in classes.items():
        n, size = counts[c], len(members)
        for i in range(n):
            chosen[members[(2 * i + 1) * size // (2 * n)]] = Fraction(size, n)
    return dict(sorted(chosen.items()))


def _apportion(sizes: dict[Class, int], seats: int) -> dict[Class, int]:
    """Seats by largest remainder, each class at least one (then there may be more in all)."""
    total = sum(sizes.values())
    counts = {c: max(1, size * seats // total) for c, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda c: (-(sizes[c] * seats % total), c))
    for c in by_remainder:
        if sum(counts.values()) >= seats:
            break
        if counts[c] < sizes[c]:
            counts[c] += 1
    return counts
