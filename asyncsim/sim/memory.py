"""The memory system behind the SMs: DRAM, GPC ports, fill ports, as FIFO servers.

A request is cut through every server on its way: each starts when the one before hands on the first
byte, the request has landed when the slowest is through, plus the latency of the level it hits.
Loaded DRAM has a round trip that grows with the bytes in flight before its rate decides.
There is no limit of bytes in flight below an SM's shared memory: none was found on the hardware.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

from asyncsim.machine import Curve, ticks
from asyncsim.sim.clocks import Clocks
from asyncsim.sim.contents import Contents
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.path import DRAM, GPC, L2_WRITE, LATENCY_DRAM, LATENCY_L2, TMA, Cause
from asyncsim.sim.placement import Placement, others
from asyncsim.sim.servers import Fifo
from asyncsim.sim.steps import Box

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import Cta, SmState
    from asyncsim.sim.sharing import Share


class Line:
    """A curve of the machine file in integer ticks; beyond its last point the slope goes on."""

    __slots__ = ("_xs", "_ys")

    def __init__(self, curve: Curve) -> None:
        self._xs = [x for x, _ in curve.points]
        self._ys = [ticks(y) for _, y in curve.points]

    def at(self, amount: int) -> int:
        xs, ys = self._xs, self._ys
        if amount <= xs[0] or len(xs) == 1:
            return ys[0]
        i = min(bisect_left(xs, amount), len(xs) - 1)
        x0, y0 = xs[i - 1], ys[i - 1]
        return y0 + (ys[i] - y0) * (amount - x0) // (xs[i] - x0)


@dataclass(frozen=True, slots=True)
class Latency:
    """Ticks of one kind of load: an L2 hit and a miss beside the servers, and by its bytes the
    landing of a miss that is alone (mean: chained waits add up means). ``near``: if its rows are
    not adjacent, the landing if they were; the difference stays when DRAM is loaded."""

    l2: int
    dram: int
    alone: Line
    near: Line | None = None


class Moved(NamedTuple):
    """Bytes of a load: those that land; as the fill port counts them; in whole sectors; by turns of
    the engine, where 128 of a row in two lines count twice."""

    bytes: int
    port: int
    sectors: int
    turns: int


class _Ways(NamedTuple):
    """What the loads of an SM pass: the port of its GPC, what is behind it, its part of the port
    when all SMs ask together, and its part of DRAM."""

    gpc: Fifo
    delivery: Fifo
    own: Fifo
    burst: Fifo


_Read = tuple[int, int, int, int]
"""When a DRAM read lands, for which SM, its bytes, and those of all it stands for, in parts."""


class _InFlight:
    """DRAM reads of an SM: their bytes, and those of all that they stand for, in parts of one."""

    __slots__ = ("bytes", "weighted")

    def __init__(self) -> None:
        self.bytes = self.weighted = 0

    def add(self, amount: int, weighted: int) -> None:
        self.bytes += amount
        self.weighted += weighted


class Memory:
    """L2 and DRAM of the GPU, which each simulated SM uses for all that it stands for."""

    def __init__(
        self, numbers: Numbers, placement: Placement, clocks: Clocks, *, keeps: bool
    ) -> None:
        """keeps: L2 has room for all that is written, and has it from the launch before."""
        sms = placement.sms
        self._all_sms = numbers.machine.gpu.sms
        # A request counts for all CTAs that its own stands for, in parts of one.
        self._parts = parts = lcm(*(s.stands_for.denominator for s in sms))
        self._places = placement.active_sms
        self._weights = {s.index: int(s.stands_for * parts) for s in sms}
        self._others = {s.index: others(s, placement, parts) for s in sms}
        # DRAM and L2 run on clocks of their own: in SM cycles both are faster when SMs are slower.
        faster = clocks.faster

        def shared(label: str, key: str, times: Fraction = Fraction(1)) -> Fifo:
            rate = numbers.rate(key)
            return Fifo(label, times * parts * rate, rate)

        self.dram = shared(DRAM, "dram.read", faster)
        self._l2_write = shared(L2_WRITE, "l2.write")
        self._store = shared(L2_WRITE, "gst.device")
        self._keeps = keeps
        beside = numbers.rate("dram.read") / numbers.rate("l2.write")
        self._beside = beside.as_integer_ratio()
        self._worth = (numbers.rate("dram.read") / numbers.rate("dram.write")).as_integer_ratio()
        self._ports: dict[int, Fifo] = {}
        self._deliveries: dict[int, Fifo] = {}  # behind the ports: lines that are merged count here
        self.asked = 0  # of all SMs, in parts of a byte; a multicast asks once
        members: dict[int, Fraction] = {}  # the SMs that a group stands for
        for sm in sms:
            group = sm.gpcs
            members[group] = members.get(group, Fraction(0)) + sm.stands_for
        # Of each SM: its part of the port, for loads that all SMs behind the port make together.
        own_ports: dict[int, Fifo] = {}
        for sm in sms:
            group = sm.gpcs
            # L2 as a whole hands out less than the ports of all GPCs take.
            handed = faster * numbers.rate("l2.device") * sm.gpc_active / placement.active_sms
            rate = min(numbers.rate("l2.gpc"), handed)
            own_ports[sm.index] = Fifo(GPC, rate / sm.gpc_active)
            if group not in self._ports:
                gpcs = members[group] / sm.gpc_active
                self._ports[group] = Fifo(GPC, gpcs * parts * rate, rate)
                self._deliveries[group] = shared(GPC, "l2.shared_gpc", gpcs)
        self.contents = Contents(numbers.bytes("l2.capacity") * parts)
        self._flight: deque[_Read] = deque()
        self._in_flight = 0  # of all SMs, in parts of a byte
        self._own = {s.index: _InFlight() for s in sms}
        # SMs that share lines ask for them together: each waits as long as all of them, as if it
        # had its own part of DRAM.
        own_dram = faster / placement.active_sms * numbers.rate("dram.read")
        self._ways = {
            sm.index: _Ways(
                self._ports[sm.gpcs],
                self._deliveries[sm.gpcs],
                own_ports[sm.index],
                Fifo(DRAM, own_dram),
            )
            for sm in sms
        }
        self._round_trip = Line(clocks.round_trips(numbers.curve("dram.round_trip_by_inflight")))

    def weight(self, number: int) -> int:
        """How many CTAs one of the launch stands for, in parts of one."""
        return self._weights[number % self._places]

    def load(
        self,
        sm: SmState,
        cta: Cta,
        time: int,
        moved: Moved,
        box: Box | None,
        share: Share,
        latency: Latency,
        cause: Cause,
        last: Cause,
        asked: int = 0,
        together: bool = False,
    ) -> tuple[int, Cause]:
        """When the bytes asked for from ``time`` on have landed in the SM, and why then.

        cause, last: of the first request at ``time`` and of the last one; asked: when the engine
        has asked for all. together: the SMs that read these lines ask for them at once, so that
        they are in step, and none has its last byte before the burst of all has passed.
        """
        amount, weight, sms = moved.bytes, cta.weight, self._weights[sm.index]
        self.asked += amount * weight
        ready = self._look_up(cta, time, amount, box, share)
        gpc, delivery, own, burst = self._ways[sm.index]
        part, readers = share.dram
        missed = ready is None and share.miss
        at, started, end, link, charged = time, cause, last[0], last, 0
        if missed:
            charged = amount * part // readers
            at, end, started, link = self.dram.serve(time, charged, cause, weight)
        apart = readers > 1 and not together and cta.apart(time)
        carried = self._carried(share, moved.sectors, apart=apart)
        at, finished, started, why = gpc.serve(at, carried, started, sms)
        if finished >= end:
            end, link = finished, why
        if share.apart[0]:
            at, finished, started, why = delivery.serve(at, moved.turns, started, sms)
            if finished >= end:
                end, link = finished, why
        _, finished, _, why = sm.port.serve(at, moved.port, started)
        if finished >= end:
            end, link = finished, why
        if asked > end:
            end, link = asked, (asked, TMA, time, cause)
        if together:
            _, finished, _, why = own.serve(time, carried, cause)
            if finished > end:
                end, link = finished, why
        if not missed:
            landing, label = end + latency.l2, LATENCY_L2
        else:
            landing, label = end + latency.dram, LATENCY_DRAM
            alone = latency.alone.at(amount)
            later = alone - latency.near.at(amount) if latency.near else 0
            slow = time + self._loaded(sm.index, time, charged) + later
            if slow > landing:
                landing, end, link = slow, time, cause
            if last[0] + alone > landing:
                landing, end, link = last[0] + alone, last[0], last
            if readers > 1:
                _, passed, _, behind = burst.serve(time, charged, cause)
                if passed + alone > landing:
                    landing, end, link = passed + alone, passed, behind
            self._fly(cta, landing, charged)
        if apart:
            landing = max(end, landing + cta.scatter.next())
        if ready is not None and ready[0] > landing:
            return ready[0], ready[1]
        why = (landing, label, end, link)
        if missed and box is not None:
            room = charged * weight * share.copies
            self.contents.bring(cta.number, box, time, landing, why, room)
        return landing, why

    def deliver(
        self,
        sm: SmState,
        time: int,
        amount: int,
        landing: int,
        latency: int,
        cause: Cause,
        label: str = LATENCY_L2,
    ) -> tuple[int, Cause]:
        """When the bytes of a multicast, or of a send, have landed in ``sm`` too, through its fill
        port; without it they land at ``landing``, because of ``cause``."""
        _, end, _, why = sm.port.serve(time, amount, cause)
        at = end + latency
        return (at, (at, label, end, why)) if at > landing else (landing, cause)

    def prefetch(
        self,
        cta: Cta,
        time: int,
        amount: int,
        box: Box | None,
        share: Share,
        latency: Latency,
        cause: Cause,
    ) -> None:
        """Bring a box to L2 from ``time`` on, unless it is there or on its way; nobody waits."""
        if box is None or not share.miss or self._look_up(cta, time, amount, box, share):
            return
        size, weight = amount * share.dram[0] // share.dram[1], cta.weight
        _, end, _, why = self.dram.serve(time, size, cause, weight)
        landing = end + latency.dram
        why = (landing, LATENCY_DRAM, end, why)
        self.contents.bring(cta.number, box, time, landing, why, size * weight * share.copies)

    @staticmethod
    def _carried(share: Share, amount: int, *, apart: bool) -> int:
        """Bytes of a load that the GPC port carries: SMs that are apart fetch lines again."""
        part, whole = share.gpc
        size = amount * part // whole
        again, of = share.apart
        if again and apart:
            size += amount * again // of
        return size

    def _look_up(
        self, cta: Cta, time: int, amount: int, box: Box | None, share: Share
    ) -> tuple[int, Cause] | None:
        """When the box is or will be in L2 through an earlier fetch; None if nobody fetched it."""
        if box is None or not share.miss:
            return None
        found = self.contents.ask(cta.number, box, time)
        if found is None:
            return None
        if found.charged:
            size = amount * share.dram[0] // share.dram[1]
            self.dram.serve(time, size, found.cause, cta.weight)  # a part of that fetch
        return found.ready, found.cause

    def fifos(self) -> list[Fifo]:
        """All that serves in order for several SMs, or in their stead."""
        ways = [fifo for of_sm in self._ways.values() for fifo in (of_sm.own, of_sm.burst)]
        ports = [*self._ports.values(), *self._deliveries.values()]
        return [self.dram, self._l2_write, self._store, *ports, *ways]

    def in_flight(self) -> list[_Read]:
        """What is on its way from and to DRAM."""
        return list(self._flight)

    def _loaded(self, sm: int, time: int, amount: int) -> int:
        """The DRAM round trip with the bytes in flight now, this request among them."""
        flight, own = self._flight, self._own
        while flight and flight[0][0] <= time:
            _, of, landed, weighted = flight.popleft()
            self._in_flight -= weighted
            own[of].add(-landed, -weighted)
        num, den = self._others[sm]
        mine = own[sm]
        total = (self._in_flight - mine.weighted) * num + (mine.bytes + amount) * den
        return self._round_trip.at(total // (den * self._all_sms))

    def write(
        self, cta: Cta, time: int, worth: int, amount: int, cause: Cause
    ) -> tuple[int, Cause]:
        """When L2 has taken the bytes of a bulk store; worth: as it counts them."""
        self._write_back(cta, time, amount, cause)
        _, end, _, why = self._l2_write.serve(time, worth, cause, cta.weight)
        return end, why

    def reduce(self, cta: Cta, time: int, worth: int, cause: Cause) -> tuple[int, Cause]:
        """The same of a reduction. Its lines are those of others, and stay: nothing is written back
        for it. But misses wait for as long: half of both go from one partition of L2 to the other.
        """
        num, den = self._beside
        self.dram.yield_to(time, worth * num // den, cause, cta.weight)
        _, end, _, why = self._l2_write.serve(time, worth, cause, cta.weight)
        return end, why

    def store(
        self, cta: Cta, time: int, worth: int, amount: int, cause: Cause
    ) -> tuple[int, Cause]:
        """The same of plain stores; worth: their bytes as whole sectors count."""
        self._write_back(cta, time, amount, cause)
        _, end, _, why = self._store.serve(time, worth, cause, cta.weight)
        return end, why

    def _write_back(self, cta: Cta, time: int, amount: int, cause: Cause) -> None:
        """Written lines go on to DRAM, between the reads, and nobody waits for them; but they are
        in flight as long as reads, whose round trips grow with them."""
        if not self._keeps:
            num, den = self._worth
            self.dram.serve(time, amount * num // den, cause, cta.weight)
            self._fly(cta, time + self._loaded(cta.sm.index, time, amount), amount)

    def _fly(self, cta: Cta, landing: int, amount: int) -> None:
        """Bytes that are on their way from or to DRAM until ``landing``."""
        weighted = amount * cta.weight
        self._flight.append((landing, cta.sm.index, amount, weighted))
        self._in_flight += weighted
        self._own[cta.sm.index].add(amount, weighted)

    @property
    def read_bytes(self) -> int:
        """What all SMs have asked for."""
        return round(Fraction(self.asked, self._parts))

    @property
    def carried(self) -> float:
        """Bytes that the GPCs fetched from L2, of all SMs."""
        return sum(port.served for port in self._ports.values()) / self._parts

    @property
    def stored(self) -> float:
        """Bytes that all SMs stored, and what reductions were worth."""
        return (self._l2_write.served + self._store.served) / self._parts

    @property
    def moved(self) -> float:
        """Bytes of DRAM, those that are written counted as reads of the same time."""
        return self.dram.served / self._parts

    def utilisation(self, total: int) -> dict[str, float]:
        """Busy share of the shared servers over the run."""
        stores = (self._l2_write, self._store)
        return {
            DRAM: self.dram.busy_ticks / total,
            GPC: max(p.busy_ticks for p in (*self._ports.values(), *self._deliveries.values()))
            / total,
            L2_WRITE: sum(s.busy_ticks for s in stores) / total,
        }
