"""Handlers of copies: TMA loads, cp.async, and groups of copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, assert_never, cast

from asyncsim.ir import op as ops
from asyncsim.machine import TICKS_PER_CYCLE, ticks
from asyncsim.sim.do_sync import arrive_all
from asyncsim.sim.memory import Moved
from asyncsim.sim.path import DESCRIPTOR, LATENCY_L2, Cause, after
from asyncsim.sim.rows import LINE, Rows, adjacent, rows_of_box
from asyncsim.sim.steps import Bound, Maker, Step
from asyncsim.sync import GroupQueue

Start = tuple[int, ...]
"""The coordinates at which a box begins."""

if TYPE_CHECKING:
    from asyncsim.ir.op import GlobalView
    from asyncsim.sim.machine_state import Cta
    from asyncsim.sim.numbers import Numbers
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values


# -- TMA loads ---------------------------------------------------------------------------------


def tma_load_maker(b: Bound, op: ops.LoadOp) -> Maker:
    """work = (engine occupancy of one copy, its bytes in whole sectors, and by turns of the engine)

    A load without a tensor map is one row of them. How the rows of the first execution lie in lines
    stands for all.
    """
    numbers, place, box = b.model.numbers, b.place(op.mbarrier), b.box(op.src)
    peers = _receivers(b, op)
    stage = b.ev.value(op.dst.stage)
    amount = b.lane_bytes(op.dst)
    elected = b.lanes == 1
    cost = numbers.ticks("tma.issue" if elected else "tma.issue_lane_loop") * b.lanes
    tiled = isinstance(op, ops.TmaLoad)
    row_of = -1 - sliced(b, op)  # the dimension that a row goes along
    inner = amount // prod(op.dst.shape[:row_of]) if tiled else amount
    width = b.model.schedule.tensor(op.src.tensor).shape[row_of]
    far = inner < amount and op.src.shape[row_of] < width
    made: list[tuple[int, ...]] = []

    def build(values: Values) -> Step:
        step = b.step(tma_load, cost)
        step.far = far
        step.rank, step.barrier = place(values)
        step.value = stage(values)
        if not made:
            made.append(_work(numbers, rows(b, op, op.src, inner, amount, box(values)[1]), amount))
        step.amount, step.count, step.work = amount, b.times, made[0]
        step.name, step.peers = engine_name(op), peers(values)
        return step

    return b.boxed(op.src, build)


def _work(numbers: Numbers, rows: Rows, amount: int) -> tuple[int, ...]:
    """A row takes whole turns of the engine, however narrow it is."""
    turns: Fraction | int = rows.lines
    if rows.odd:
        turns += rows.odd * max(Fraction(1), numbers.exact("tma.odd_row") * rows.inner / LINE)
    turn = numbers.bytes("tma.row") / numbers.rate("tma.load") / TICKS_PER_CYCLE
    occupancy = max(
        numbers.exact("tma.min_copy"), turns * turn + numbers.exact("tma.copy_overhead")
    )
    by_turns = int(amount * turns / (rows.count * rows.pieces))
    return ticks(occupancy), rows.in_sectors(amount), by_turns


def rows(
    b: Bound, op: ops.LoadOp | ops.StoreOp, view: GlobalView, inner: int, amount: int, start: Start
) -> Rows:
    """How the rows of a box lie in lines; unless it is a whole box of a tensor, as they should."""
    schedule = b.model.schedule
    if isinstance(op, ops.TmaLoad | ops.TmaStore) and not op.rows:
        of = schedule.tensor_map(op.tensor_map)
        tensor = schedule.tensor(view.tensor)
        if of.im2col is None and not of.sliced and not of.strided:
            return rows_of_box(view.shape, tensor.strides, tensor.dtype.bytes, start)
    return adjacent(inner, amount)


def sliced(b: Bound, op: ops.LoadOp | ops.StoreOp) -> bool:
    """Whether a row of the box is one of slices, which lie side by side."""
    if isinstance(op, ops.TmaLoad | ops.TmaStore):
        return b.model.schedule.tensor_map(op.tensor_map).sliced
    return False


def engine_name(op: ops.LoadOp | ops.StoreOp) -> str:
    """The tensor map of a copy; of one without, the tensor."""
    match op:
        case ops.TmaLoad(tensor_map=name) | ops.TmaStore(tensor_map=name):
            return name
        case ops.BulkLoad(src=box) | ops.BulkStore(dst=box):
            return box.tensor
        case _ as unreachable:
            assert_never(unreachable)


def _receivers(b: Bound, op: ops.LoadOp) -> Callable[[Values], tuple[int, ...]]:
    """The CTAs that a multicast reaches; none for a load that is no multicast."""
    if op.multicast is None:
        return lambda values: ()
    mask, size = b.ev.value(op.multicast), b.model.schedule.cluster_ctas

    def ranks(values: Values) -> tuple[int, ...]:
        bits = mask(values)
        return tuple([r for r in range(size) if bits >> r & 1])

    return ranks


def tma_load(a: Agent, s: Step) -> bool:
    """A request to the engine, which takes requests in time order: one event."""
    a.model.clock.post(a.t, a.key, _load_issued, a)
    return False


def _load_issued(a: Agent) -> None:
    s, sm, model = a.blocked, a.cta.sm, a.model
    assert s is not None
    cause = a.cause()
    now = a.t
    for _ in range(s.count):
        accepted, why = sm.accept(now, cause)
        if accepted > now:
            a.enabled(s, accepted, why)
            now, cause = accepted, a.cause()
        ask = sm.descriptor(s.name, now)
        start, end, link = sm.tma.serve(ask, s.work[0], after(cause, ask, DESCRIPTOR))
        sm.starts.append((start, link))
        if sm.rec is not None:
            sm.rec.engine(sm, "tma", s.name, start, end)
        if start > model.clock.now:
            model.clock.post(start, sm.key, _load_request, (a, s, a.indices, start, link))
        else:
            _request(a, s, a.indices, start, link)
    a.t = now + s.cost
    a.advance()
    model.drain()


def _load_request(args: tuple[Agent, Step, tuple[int, ...], int, Cause]) -> None:
    _request(*args)
    args[0].model.drain()


def _request(a: Agent, s: Step, indices: tuple[int, ...], start: int, cause: Cause) -> None:
    """The engine's request reaches the memory system; the landing counts on the barrier."""
    model, cta = a.model, a.cta
    share = cta.share(s.op_id)
    together = share.dram[1] > 1 and cta.flights.lone(s.barrier, start)
    kind = model.tma_far if s.far else model.tma_latency
    landing, why = model.memory.load(
        *(cta.sm, cta, start, Moved(s.amount, s.amount, *s.work[1:]), s.box, share, kind),
        *(cause, cause, start + s.work[0], together),
    )
    cta.flights.add(landing)
    if landing > cta.sm.landing[0]:
        cta.sm.landing = landing, why
    if a.rec is not None:
        a.rec.flight(a, s, indices, start, landing)
    if not s.peers:
        to = cta if s.rank < 0 else cta.cluster.cta(s.rank)
        land_in(a, to, s, landing, why)
        return
    later = model.numbers.ticks("tma.multicast")
    for rank in s.peers:
        peer, at, because = cta.cluster.cta(rank), landing, why
        if peer is not cta:
            latency = model.tma_latency.l2
            at, because = model.memory.deliver(peer.sm, start, s.amount, landing, latency, why)
        land_in(a, peer, s, at + later, after(because, at + later, LATENCY_L2))


def land_in(a: Agent, to: Cta, s: Step, landing: int, why: Cause) -> None:
    """The bytes count on the barrier of the CTA that they go to."""
    if a.model.strict:
        a.model.clock.post(landing, to.sm.key, _land, (a, to, s, landing, why))
    else:
        to.mbarriers[s.barrier].land_at(landing, s.amount, why)


def _land(args: tuple[Agent, Cta, Step, int, Cause]) -> None:
    a, to, s, landing, why = args
    to.mbarriers[s.barrier].land_at(landing, s.amount, why)
    a.model.drain()


# -- bulk groups -------------------------------------------------------------------------------


def commit_bulk(a: Agent, s: Step) -> bool:
    a.bulk.commit()
    a.t += s.cost
    if a.rec is not None:
        a.rec.group_committed(a, "bulk", len(a.bulk.committed))
    return True


def wait_bulk(a: Agent, s: Step) -> bool:
    """Both levels return when the source has been read and sent (measured alike)."""
    a.t += s.cost
    a.sync += s.cost
    _wait_groups(a, s, "bulk")
    return True


def _wait_groups(a: Agent, s: Step, kind: str) -> None:
    """Members of groups are (tick of completion, cause)."""
    queue = a.bulk if kind == "bulk" else a.cp
    before = _completions(queue) if a.rec is not None else []
    time, why = a.t, None
    for member in _members(queue.retire(s.value)):
        if member[0] > time:
            time, why = member
    if why is not None:
        a.enabled(s, time, why)
    if a.rec is not None:
        a.rec.group_waited(a, s, kind, before)


def _members(groups: Iterable[tuple[object, ...]]) -> list[tuple[int, Cause]]:
    return [cast("tuple[int, Cause]", member) for group in groups for member in group]


def _completions(queue: GroupQueue) -> list[tuple[int, int | None]]:
    """(index, tick of completion) of the groups that nobody has waited for."""
    return [
        (queue.retired + i, max((done for done, _ in _members([group])), default=0))
        for i, group in enumerate(queue.committed)
    ]


# -- cp.async ----------------------------------------------------------------------------------


def cp_async_maker(b: Bound, op: ops.CpAsync) -> Maker:
    """One warp instruction; amount = bytes of all lanes and warps, work = LSU time of them."""
    numbers, stage = b.model.numbers, b.ev.value(op.dst.stage)
    cost = numbers.ticks("cp_async.issue")
    amount = op.bytes * b.times
    work, aside = (numbers.ticks("cp_async.issue_contended") * b.warps,), b.model.among(op)
    ratio = numbers.fill() / numbers.rate("cp_async.port")
    port = int(amount * ratio)

    def build(values: Values) -> Step:
        step = b.step(cp_async, cost)
        step.amount, step.count, step.work = amount, port, work
        step.value, step.name, step.aside = stage(values), op.src.tensor, aside
        return step

    return b.boxed(op.src, build)


def cp_async(a: Agent, s: Step) -> bool:
    """Collected until the commit: memory sees the group as one request at its first issue."""
    if not a.copies:
        a.copies_cause = a.cause()
    a.copies.append((a.t, s))
    a.aside += s.aside
    a.t += s.cost
    return True


def commit_cp(a: Agent, s: Step) -> bool:
    if not a.copies:
        a.cp.commit()
        a.t += s.cost
        if a.rec is not None:
            a.rec.group_committed(a, "cp_async", len(a.cp.committed))
        return True
    clock = a.model.clock  # at the commit, as strict order does: who commits first is served first
    clock.post(max(clock.now, a.t), a.key, _copies_issued, a)
    return False


def _copies_issued(a: Agent) -> None:
    """The last copy's data completes the group."""
    s = a.blocked
    assert s is not None
    a.cp.issue(_send_copies(a, s))
    a.cp.commit()
    if a.rec is not None:
        a.rec.group_committed(a, "cp_async", len(a.cp.committed))
    a.t += s.cost
    a.advance()
    a.model.drain()


def _send_copies(a: Agent, s: Step) -> tuple[int, Cause]:
    """The LSU of the SM takes the instructions; when the last one's data is there, and why."""
    sm, model = a.cta.sm, a.model
    first, work = a.copies[0][0], sum(step.work[0] for _, step in a.copies)
    start, end, link = sm.lsu.serve(first, work, a.copies_cause)
    last = a.cause()
    if end > a.t and sm.lsu.last is not None:
        a.enabled(s, end, sm.lsu.last)
        last = sm.lsu.last
    landing, why = 0, last
    for step, amount, port in _by_op(a.copies):
        share = a.cta.share(step.op_id)
        at, because = model.memory.load(
            *(sm, a.cta, start, Moved(amount, port, amount, amount), step.box, share),
            *(model.cp_latency, link, last),
        )
        if at > landing:
            landing, why = at, because
    if a.rec is not None:
        a.rec.flight(a, a.copies[0][1], a.indices, first, landing)
    a.copies.clear()
    if a.copies_landing is None or landing > a.copies_landing[0]:
        a.copies_landing = landing, why
    return landing, why


def raise_and_track(a: Agent, s: Step) -> bool:
    """cp.async.mbarrier.arrive: the phase needs these arrivals besides those that init counts."""
    a.cta.mbarriers[s.barrier].add_pending(s.count)
    return track_copies(a, s)


def track_copies(a: Agent, s: Step) -> bool:
    """cp.async.mbarrier.arrive.noinc: arrivals when all copies so far are there."""
    clock = a.model.clock
    clock.post(max(clock.now, a.t), a.key, _tracked, a)
    return False


def _tracked(a: Agent) -> None:
    s, model = a.blocked, a.model
    assert s is not None
    if a.copies:
        _send_copies(a, s)
    landing, why = max(a.copies_landing or (0, a.cause()), (a.t, a.cause()), key=lambda of: of[0])
    stamp = landing + model.handover
    if model.strict:
        model.clock.post(stamp, a.cta.sm.key, _track_lands, (a, s, stamp, why))
    else:
        arrive_all(a, a.cta.mbarriers[s.barrier], s, stamp, why)
    a.t += s.cost
    a.advance()
    model.drain()


def _track_lands(args: tuple[Agent, Step, int, Cause]) -> None:
    a, s, stamp, why = args
    arrive_all(a, a.cta.mbarriers[s.barrier], s, stamp, why)
    a.model.drain()


def _by_op(copies: list[tuple[int, Step]]) -> list[tuple[Step, int, int]]:
    """Copies merged into one request per source tensor: (first step, bytes, port bytes)."""
    merged: dict[str, tuple[Step, int, int]] = {}
    for _, step in copies:
        assert step.box is not None
        first, amount, port = merged.get(step.box[0], (step, 0, 0))
        merged[step.box[0]] = (first, amount + step.amount, port + step.count)
    return list(merged.values())


def wait_cp(a: Agent, s: Step) -> bool:
    a.t += s.cost
    a.sync += s.cost
    _wait_groups(a, s, "cp_async")
    return True
