"""From a finished run to a Prediction."""

from __future__ import annotations

from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, Op
from asyncsim.machine import TICKS_PER_CYCLE
from asyncsim.predict.result import Prediction, Stall
from asyncsim.sim.activity import activity
from asyncsim.sim.machine_state import Model
from asyncsim.sim.path import LSU, PIPE, PORT, SMEM, STORE, TENSOR, TMA, bound_by, walk


def prediction(model: Model) -> Prediction:
    """The result of a run: totals, causes, utilisations, stalls."""
    total = max(1, model.end)
    shares, wraps = walk(model.end_cause, model.jumps)
    whole = sum(shares.values()) or 1
    path = {name: t / whole for name, t in sorted(shares.items(), key=lambda i: -i[1])}
    engines = utilisation(model, total)
    cycles = model.end / TICKS_PER_CYCLE
    mhz = float(model.clock_mhz)
    origins = model.numbers.origins()
    waves = -(-len(model.placement.queue) // len(model.placement.sms))
    return Prediction(
        cycles=cycles,
        time_us=cycles / mhz,
        clock_mhz=mhz,
        bound_by=bound_by(path, wraps, waves, engines),
        occupancy=model.placement.occupancy,
        path=path,
        engines=engines,
        l2_read_bytes=model.memory.read_bytes,
        stalls=_stalls(model),
        trace=model.sms[0].rec.trace() if model.sms and model.sms[0].rec else None,
        assumed=sum(origins.get("assumed", {}).values()),
        origins=origins,
        activity=activity(model),
    )


def utilisation(model: Model, total: int) -> dict[str, float]:
    """Busy shares of the engines of an SM (mean) and of the shared servers, those in use."""
    n = len(model.sms) * total
    use = {
        TMA: sum(sm.tma.busy for sm in model.sms) / n,
        PORT: sum(sm.port.busy_ticks for sm in model.sms) / n,
        TENSOR: sum(max(sm.tensor.busy, *(pipe.busy for pipe in sm.products)) for sm in model.sms)
        / n,
        SMEM: sum(sm.smem.busy_ticks for sm in model.sms) / n,
        LSU: sum(sm.lsu.busy for sm in model.sms) / n,
        STORE: sum(sm.store.busy for sm in model.sms) / n,
        PIPE: max(
            sum(sm.pipes[p][i].busy for sm in model.sms) / n
            for p in range(len(model.alike))
            for i in range(len(model.sms[0].pipes[p]))
        ),
        **model.memory.utilisation(total),
    }
    return {name: min(1.0, share) for name, share in use.items() if share > 0}


def _stalls(model: Model) -> tuple[Stall, ...]:
    """Mean over the warps of a role and the simulated CTAs."""
    by_op: dict[tuple[str, int], list[float]] = {}
    for c, stalls in zip(model.classes, model.stalls, strict=True):
        for op_id, (t, count) in stalls.items():
            entry = by_op.setdefault((c.role, op_id), [0.0, 0.0])
            entry[0] += t * len(c.warps)
            entry[1] += count * len(c.warps)
    warps = {c.role: 0 for c in model.classes}
    for c in model.classes:
        warps[c.role] += len(c.warps)
    operations = {op.id: op for op in model.schedule.ops()}
    ctas = max(1, len(model.placement.queue))
    out = [
        Stall(
            role=role,
            op_id=op_id,
            what=describe(operations[op_id]),
            where=str(operations[op_id].loc or ""),
            cycles=t / (warps[role] * ctas * TICKS_PER_CYCLE),
            count=max(1, round(count / (warps[role] * ctas))),  # some of its warps, perhaps
        )
        for (role, op_id), (t, count) in by_op.items()
    ]
    return tuple(sorted(out, key=lambda s: (-s.cycles, s.role, s.op_id)))


def describe(op: Op) -> str:
    """What a role waits for, in PTX words."""
    match op:
        case ops.MbarrierWait(mbarrier=ref) | ops.MbarrierWaitState(mbarrier=ref):
            return f"mbarrier wait {ref.name}"
        case ops.WaitGroup(kind=kind, n=n):
            name = {
                GroupKind.CP_ASYNC: "cp.async.wait_group",
                GroupKind.BULK: "bulk.wait_group",
                GroupKind.WGMMA: "wgmma.wait_group",
            }[kind]
            return f"{name} {n}"
        case ops.CommitGroup(kind=GroupKind.CP_ASYNC):
            return "cp.async issue"
        case ops.SetMaxNReg(direction=direction, count=n):
            return f"setmaxnreg.{direction.value} {n}"
        case ops.BarSync(barrier=n):
            return f"bar.sync {n}"
        case ops.TmaLoad(tensor_map=name) | ops.TmaStore(tensor_map=name):
            return f"TMA queue, {name}"
        case ops.WgmmaMmaAsync(n=n):
            return f"wgmma queue, m64n{n}"
        case ops.Compute(defn=defn):
            return f"compute {defn.name}"
        case _:
            return type(op).__name__
