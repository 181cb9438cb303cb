"""The memory system behind the SMs: DRAM, GPC ports, fill ports, as FIFO servers.

A request is cut through every server on its way: each starts when the one before hands on the first
byte, the request has landed when the slowest is through, plus the latency of the level it hits.
Loaded DRAM has a round trip that grows with the bytes in flight before its rate decides.
There is no limit of bytes in flight below an SM's shared memory: none was found on the hardware.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from asyncsim.machine import Curve, ticks
from asyncsim.sim.contents import Contents
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.path import (
    DRAM,
    GPC,
    L2_WRITE,
    LATENCY_DRAM,
    LATENCY_L2,
    TMA,
    Cause,
)
from asyncsim.sim.placement import Placement
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


class Memory:
    """L2 and DRAM of the GPU, scaled to the simulated SMs."""

    def __init__(
        self, numbers: Numbers, placement: Placement, clock_mhz: Fraction, *, keeps: bool
    ) -> None:
        """keeps: L2 has room for all that is written, and has it from the launch before."""
        sms, simulated = placement.sms, len(placement.sms)
        self._share = Fraction(simulated, placement.active_sms)
        self._all_sms = numbers.machine.gpu.sms
        # Each of the other simulated SMs stands for so many others.
        others = Fraction(placement.active_sms - 1, max(1, simulated - 1))
        self._others = others.as_integer_ratio()
        # DRAM runs on its own clock: in SM cycles it is faster when the SMs are slower.
        dram = self._share * Fraction(numbers.machine.clock.boost_mhz) / clock_mhz

        def part_of(label: str, key: str, part: Fraction) -> Fifo:
            return Fifo(label, part * numbers.rate(key), numbers.rate(key))

        self.dram = part_of(DRAM, "dram.read", dram)
        self._l2_write = part_of(L2_WRITE, "l2.write", self._share)
        self._store = part_of(L2_WRITE, "gst.device", self._share)
        self._keeps = keeps
        beside = numbers.rate("dram.read") / numbers.rate("l2.write")
        self._beside = beside.as_integer_ratio()
        self._worth = (numbers.rate("dram.read") / numbers.rate("dram.write")).as_integer_ratio()
        self._ports: dict[int, Fifo] = {}
        self._deliveries: dict[int, Fifo] = {}  # behind the ports: lines that are merged count here
        self._stands_for = {s.index: s.stands_for for s in sms}
        self.asked = Fraction(0)  # bytes, of all SMs; a multicast asks once
        everyone = simulated == placement.active_sms
        self._group = {s.index: s.gpc if everyone else -s.gpc_active for s in sms}
        members = Counter(self._group.values())
        # Of each SM: its part of the port, for loads that all SMs behind the port make together.
        own_ports: dict[int, Fifo] = {}
        for sm in sms:
            group = self._group[sm.index]
            # L2 as a whole hands out less than the ports of all GPCs take.
            handed = numbers.rate("l2.device") * sm.gpc_active / placement.active_sms
            rate = min(numbers.rate("l2.gpc"), handed)
            own_ports[sm.index] = Fifo(GPC, rate / sm.gpc_active)
            if group not in self._ports:
                part = Fraction(members[group], sm.gpc_active)
                self._ports[group] = Fifo(GPC, part * rate, rate)
                self._deliveries[group] = part_of(GPC, "l2.shared_gpc", part)
        self.contents = Contents(int(numbers.bytes("l2.capacity") * self._share))
        self._flight: deque[tuple[int, int, int]] = deque()  # of DRAM: (landing, SM, bytes)
        self._in_flight = 0
        self._own = {s.index: 0 for s in sms}
        # SMs that share lines ask for them together: each waits as long as all of them, as if it
        # had its own part of DRAM.
        own = dram / len(sms) * numbers.rate("dram.read")
        self._ways = {
            sm.index: _Ways(
                self._ports[self._group[sm.index]],
                self._deliveries[self._group[sm.index]],
                own_ports[sm.index],
                Fifo(DRAM, own),
            )
            for sm in sms
        }
        self._round_trip = Line(numbers.curve("dram.round_trip_by_inflight"))

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
        amount = moved.bytes
        self.asked += amount * self._stands_for[sm.index]
        ready = self._look_up(cta, time, amount, box, share)
        gpc, delivery, own, burst = self._ways[sm.index]
        part, readers = share.dram
        missed = ready is None and share.miss
        at, started, end, link = time, cause, last[0], last
        charged = 0
        if missed:
            charged = amount * part // readers
            at, end, started, link = self.dram.serve(time, charged, cause)
        apart = readers > 1 and not together and cta.apart(time)
        carried = self._carried(share, moved.sectors, apart=apart)
        at, finished, started, why = gpc.serve(at, carried, started)
        if finished >= end:
            end, link = finished, why
        if share.apart[0]:
            at, finished, started, why = delivery.serve(at, moved.turns, started)
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
            self._fly(sm.index, landing, charged)
        if apart:
            landing = max(end, landing + cta.scatter.next())
        if ready is not None and ready[0] > landing:
            return ready[0], ready[1]
        why = (landing, label, end, link)
        if missed and box is not None:
            self.contents.bring(cta.number, box, time, landing, why, charged * share.copies)
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
        size = amount * share.dram[0] // share.dram[1]
        _, end, _, why = self.dram.serve(time, size, cause)
        landing = end + latency.dram
        why = (landing, LATENCY_DRAM, end, why)
        self.contents.bring(cta.number, box, time, landing, why, size * share.copies)

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
        if box is None:
            return None
        if not share.miss:
            return None
        found = self.contents.ask(cta.number, box, time)
        if found is None:
            return None
        if found.charged:
            size = amount * share.dram[0] // share.dram[1]
            self.dram.serve(time, size, found.cause)  # a part of that fetch
        return found.ready, found.cause

    def fifos(self) -> list[Fifo]:
        """All that serves in order for several SMs, or in their stead."""
        ways = [fifo for of_sm in self._ways.values() for fifo in (of_sm.own, of_sm.burst)]
        shared = [self.dram, self._l2_write, self._store]
        return [*shared, *self._ports.values(), *self._deliveries.values(), *ways]

    def in_flight(self) -> list[tuple[int, int, int]]:
        """What is on its way from and to DRAM: (landing, SM, bytes)."""
        return list(self._flight)

    def _loaded(self, sm: int, time: int, amount: int) -> int:
        """The DRAM round trip with the bytes in flight now, this request among them."""
        flight, own = self._flight, self._own
        while flight and flight[0][0] <= time:
            _, of, landed = flight.popleft()
            self._in_flight -= landed
            own[of] -= landed
        num, den = self._others
        total = (self._in_flight - own[sm]) * num + (own[sm] + amount) * den
        return self._round_trip.at(total // (den * self._all_sms))

    def write(self, sm: int, time: int, worth: int, amount: int, cause: Cause) -> tuple[int, Cause]:
        """When L2 has taken the bytes of a bulk store of an SM; worth: as it counts them."""
        self._write_back(sm, time, amount, cause)
        _, end, _, why = self._l2_write.serve(time, worth, cause)
        return end, why

    def reduce(self, time: int, worth: int, cause: Cause) -> tuple[int, Cause]:
        """The same of a reduction. Its lines are those of others, and stay: nothing is written back
        for it. But misses wait for as long: half of both go from one partition of L2 to the other.
        """
        num, den = self._beside
        self.dram.yield_to(time, worth * num // den, cause)
        _, end, _, why = self._l2_write.serve(time, worth, cause)
        return end, why

    def store(self, sm: int, time: int, worth: int, amount: int, cause: Cause) -> tuple[int, Cause]:
        """The same of plain stores; worth: their bytes as whole sectors count."""
        self._write_back(sm, time, amount, cause)
        _, end, _, why = self._store.serve(time, worth, cause)
        return end, why

    def _write_back(self, sm: int, time: int, amount: int, cause: Cause) -> None:
        """Written lines go on to DRAM, between the reads, and nobody waits for them; but they are
        in flight as long as reads, whose round trips grow with them."""
        if not self._keeps:
            num, den = self._worth
            self.dram.serve(time, amount * num // den, cause)
            self._fly(sm, time + self._loaded(sm, time, amount), amount)

    def _fly(self, sm: int, landing: int, amount: int) -> None:
        """Bytes that are on their way from or to DRAM until ``landing``."""
        self._flight.append((landing, sm, amount))
        self._in_flight += amount
        self._own[sm] += amount

    @property
    def carried(self) -> float:
        """Bytes that the GPCs of the simulated SMs fetched from L2."""
        return sum(port.served for port in self._ports.values())

    @property
    def stored(self) -> float:
        """Bytes that the simulated SMs stored, and what reductions were worth."""
        return self._l2_write.served + self._store.served

    def utilisation(self, total: int) -> dict[str, float]:
        """Busy share of the shared servers over the run."""
        stores = (self._l2_write, self._store)
        return {
            DRAM: self.dram.busy_ticks / total,
            GPC: max(p.busy_ticks for p in (*self._ports.values(), *self._deliveries.values()))
            / total,
            L2_WRITE: sum(s.busy_ticks for s in stores) / total,
        }
