"""A hang: who is blocked where, who would have to act, and which rule that breaks."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.check.balance import Kind
from asyncsim.check.barrier import Barrier
from asyncsim.check.describe import op_text, who_text
from asyncsim.check.execution import Execution
from asyncsim.check.model import Agent, Step
from asyncsim.check.registers import POOL
from asyncsim.ir import op as ops
from asyncsim.ir.op import MaxNRegDirection
from asyncsim.rules import Rule
from asyncsim.stream.dyn import BarrierKey
from asyncsim.sync.tmem import TMEM_COLUMNS

LOOK_AHEAD = 4096  # future ops of a blocked role that are read


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Why nobody can go on. ``steps``: the blocked op of each blocked role, the root first."""

    rule: Rule
    message: str
    steps: tuple[Step, ...]
    detail: tuple[str, ...]
    name: str
    condition: str = ""


def explain_hang(execution: Execution) -> Hang:
    """Name a hang by what starves: missing bytes, missing arrivals, or a cycle of waits."""
    blocked = [a for a in execution.agents if not a.done and a.current is not None]
    futures = {id(a): _future(a) for a in blocked}
    edges = {id(a): _needs(execution, a, blocked, futures) for a in blocked}
    starved = [a for a in blocked if not edges[id(a)]]
    starved.sort(key=lambda a: (not _short_of_bytes(execution, a), not _lapped(execution, a)))
    root = starved[0] if starved else blocked[0]
    rule, why = _cause(execution, root) if starved else (Rule.DEADLOCK, "")
    others = [a for a in blocked if a is not root]
    detail = [_line(execution, a) for a in (root, *others)]
    cycle = _cycle(blocked, edges)
    if cycle:
        detail.append("waits for each other: " + " -> ".join(cycle))
    if not starved and any(isinstance(_step(a).dyn.op, ops.SetMaxNReg) for a in blocked):
        rule = Rule.REGISTER_POOL
    message = why or "roles wait for each other: " + "; ".join(
        _line(execution, a) for a in blocked[:2]
    )
    name = root.current[0].barrier.name if root.current and root.current[0].barrier else ""
    return Hang(
        rule=rule,
        message=message,
        steps=tuple(_step(a) for a in (root, *others)),
        detail=tuple(detail),
        name=name,
    )


def _step(agent: Agent) -> Step:
    assert agent.current is not None
    return Step(agent.warp, agent.who, agent.pos, agent.current)


def _future(agent: Agent) -> dict[object, str]:
    """For each barrier, the kind of this role's next op that counts on it."""
    found: dict[object, str] = {}
    for i in range(1, LOOK_AHEAD):
        event = agent.warp.event(agent.pos + i)
        if event is None:
            break
        dyn = event[0]
        match dyn.op:
            case ops.MbarrierArrive() | ops.MbarrierArriveExpectTx() | ops.MbarrierExpectTx():
                found.setdefault(dyn.barrier, "arrival")
            case ops.CpAsyncMbarrierArrive():
                found.setdefault(dyn.barrier, "arrival")
            case ops.Tcgen05Alloc():
                found.setdefault(dyn.op.id, "pair")
            case ops.Tcgen05Dealloc():
                found.setdefault(dyn.op.id, "pair")
                found.setdefault("dealloc", "pair")
            case ops.Tcgen05Commit():
                for key in dyn.barriers:
                    found.setdefault(key, "arrival")
            case ops.TmaLoad() | ops.BulkLoad() | ops.ClcTryCancel():
                for key in dyn.barriers:
                    found.setdefault(key, "copy")
            case ops.StAsync() | ops.RedAsync() | ops.BulkSend() | ops.MbarrierCompleteTx():
                found.setdefault(dyn.barrier, "copy")
            case ops.BarSync(barrier=id) | ops.BarArrive(barrier=id):
                found.setdefault(id, "arrival")
            case ops.SetMaxNReg(direction=MaxNRegDirection.DEC):
                found.setdefault(POOL, "registers")
            case _:
                pass
    return found


def _needs(
    execution: Execution, agent: Agent, blocked: list[Agent], futures: dict[int, dict[object, str]]
) -> list[Agent]:
    """The blocked roles that would have to act before this one can go on."""
    dyn = _step(agent).dyn
    if isinstance(dyn.op, ops.BarrierClusterWait):
        return [u for u in blocked if u.warp.index not in execution.cluster.state.arrived]
    if isinstance(dyn.op, ops.BarSync):
        arrived = execution.named.by_id[agent.warp.place.rank, dyn.op.barrier].state.warps
        return [
            u
            for u in blocked
            if u.warp.index not in arrived
            and u.warp.place.rank == agent.warp.place.rank
            and dyn.op.barrier in futures[id(u)]
        ]
    if isinstance(dyn.op, ops.SetMaxNReg):
        rank = agent.warp.place.rank
        return [u for u in blocked if u.warp.place.rank == rank and POOL in futures[id(u)]]
    if isinstance(dyn.op, ops.Tcgen05Alloc | ops.Tcgen05Dealloc):
        rank, columns = agent.warp.place.rank, _lacks_columns(execution, agent)
        others = [u for u in blocked if u.warp.place.rank == (rank if columns else rank ^ 1)]
        key = "dealloc" if columns else dyn.op.id
        return [u for u in others if u is not agent and key in futures[id(u)]]
    if dyn.barrier is None:
        group = execution.tensor.groups.get(agent.warp.index)
        return [
            u
            for u in blocked
            if u is not agent and execution.tensor.groups.get(u.warp.index) is group
        ]
    b = execution.barriers.by_key[dyn.barrier]
    if b.state.pending:
        return [
            u
            for u in blocked
            if futures[id(u)].get(dyn.barrier) == "arrival" and not _arrived(b, u)
        ]
    return [u for u in blocked if futures[id(u)].get(dyn.barrier) == "copy"]


def _lacks_columns(execution: Execution, agent: Agent) -> bool:
    return agent in execution.tcgen05.allocations.blocked


def _arrived(b: Barrier, agent: Agent) -> bool:
    last = b.last_arrivals.get(agent.warp.index)
    return last is not None and last.generation == b.state.generation


def _barrier(execution: Execution, agent: Agent) -> Barrier | None:
    key: BarrierKey | None = _step(agent).dyn.barrier
    return execution.barriers.by_key[key] if key else None


def _short_of_bytes(execution: Execution, agent: Agent) -> bool:
    b = _barrier(execution, agent)
    return b is not None and b.state.tx != 0 and b.state.pending == 0


def _lapped(execution: Execution, agent: Agent) -> bool:
    """The phase that it waited for completed, and the next one too before it looked again."""
    b = _barrier(execution, agent)
    return b is not None and agent.since is not None and b.state.generation >= agent.since + 2


def _cause(execution: Execution, root: Agent) -> tuple[Rule, str]:
    b = _barrier(execution, root)
    if b is None:
        if _lacks_columns(execution, root):
            taken = execution.tcgen05.allocations.used(root.warp.place.rank)
            return Rule.TMEM_CAPACITY, (
                f"{_line(execution, root)}: {taken} of {TMEM_COLUMNS} columns are taken, and "
                "nobody frees any"
            )
        if isinstance(_step(root).dyn.op, ops.Tcgen05Alloc | ops.Tcgen05Dealloc):
            return Rule.DEADLOCK, f"{_line(execution, root)}: the peer CTA never comes to it"
        if isinstance(_step(root).dyn.op, ops.BarSync | ops.BarrierClusterWait):
            return Rule.DEADLOCK, f"{_line(execution, root)}: the other warps never arrive"
        if isinstance(_step(root).dyn.op, ops.SetMaxNReg):
            return Rule.REGISTER_POOL, (
                f"{_line(execution, root)}, and nobody gives any back; {_fitting(execution, root)}"
            )
        return Rule.DEADLOCK, ""
    state, key = b.state, b.key
    if state.count == 0 and state.tx == 0:
        return Rule.ARRIVAL_SHORTFALL, (
            f"phase {state.generation} of {key} expects no arrivals any more, all dropped out: "
            f"{who_text(_step(root))} waits for ever"
        )
    if state.pending == 0:
        return uneven_rule(b), (
            f"{uneven_bytes(b)}: phase {state.generation} never completes, and "
            f"{who_text(_step(root))} waits for ever"
        )
    if _lapped(execution, root):
        assert root.since is not None
        return Rule.LAPPED_WAITER, (
            f"{who_text(_step(root))} waits for phase {root.since} of {key}; it completed, and so "
            f"did phase {root.since + 1} before the wait was tested again: the parity is the same"
        )
    if state.pending < state.count:
        return Rule.ARRIVAL_SHORTFALL, (
            f"phase {state.generation} of {key} gets {state.count - state.pending} of "
            f"{state.count} arrivals: {who_text(_step(root))} waits for ever"
        )
    if any(c.kind is Kind.RAISE for c in b.counted):
        return Rule.ARRIVAL_SHORTFALL, (
            f"phase {state.generation} of {key} gets 0 of {state.count} arrivals: "
            "cp.async.mbarrier.arrive without noinc adds the arrival that it makes, and "
            f"{who_text(_step(root))} waits for ever"
        )
    return Rule.DEADLOCK, (
        f"{who_text(_step(root))} waits for phase {state.generation} of {key}, on which nobody "
        "will arrive"
    )


def uneven_rule(b: Barrier) -> Rule:
    """Bytes that a multicast brings to a CTA that announced none are a case of their own."""
    copy = b.last_landing[1].dyn.op if b.last_landing else None
    multicast = isinstance(copy, ops.LoadOp) and copy.multicast is not None
    return Rule.RECEIVER_NOT_ARMED if multicast and not b.expected else Rule.TX_BYTES_MISMATCH


def uneven_bytes(b: Barrier) -> str:
    """Bytes announced and copied on a barrier, in words."""
    phases = f" in {b.state.generation + 1} phases" if b.state.generation else ""
    return f"{b.key} expects {b.expected} bytes and gets {b.landed}{phases}"


def _fitting(execution: Execution, root: Agent) -> str:
    """How many registers the warps that ask for more could have."""
    place = root.warp.place
    alike = {
        w.place.warp
        for w in execution.warps
        if (w.place.rank, w.place.role) == (place.rank, place.role)
    }
    fits = execution.registers.pool(root.warp).fits(alike)
    return f"beside what others hold, {fits} fit all {len(alike)} warps of {place.role or 'block'}"


def _line(execution: Execution, agent: Agent) -> str:
    step = _step(agent)
    text = f"{who_text(step)} at {op_text(step.dyn)}"
    if step.dyn.op.loc:
        text += f" ({step.dyn.op.loc})"
    return text + _state_text(execution, agent)


def _state_text(execution: Execution, agent: Agent) -> str:
    step = _step(agent)
    dyn = step.dyn
    if isinstance(dyn.op, ops.BarrierClusterWait):
        c = execution.cluster.state
        return f": round {c.generation}, {len(c.arrived)} of {len(execution.warps)} warps"
    if dyn.barrier is not None:
        b = execution.barriers.by_key[dyn.barrier]
        s = b.state
        return (
            f": generation {s.generation}, {max(0, s.count - s.pending)} of {s.count} arrivals, "
            f"{b.tx_bytes - s.tx} of {b.tx_bytes} bytes"
        )
    if isinstance(dyn.op, ops.BarSync):
        n = execution.named.by_id[step.warp.place.rank, dyn.op.barrier].state
        return f": round {n.generation}, {n.arrived} of {dyn.value} threads"
    if isinstance(dyn.op, ops.SetMaxNReg):
        pool = execution.registers.pool(agent.warp)
        needed = pool.needs(agent.warp.place.warp, dyn.value)
        return f": {needed} registers wanted, {pool.free} of {pool.size} free"
    return ""


def _cycle(blocked: list[Agent], edges: dict[int, list[Agent]]) -> list[str]:
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    names = {id(a): who_text(_step(a)) for a in blocked}
    for a in blocked:
        graph.add_edges_from((id(a), id(u)) for u in edges[id(a)])
    try:
        found = nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return []
    return [names[a] for a, _ in found] + [names[found[0][0]]]
