"""The advice of a sweep as text for 80 columns, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from asyncsim.advise.result import Advice, Relief, Step, foreseen_us
from asyncsim.advise.rows import row
from asyncsim.advise.trial import Status, Trial
from asyncsim.cli.output import table, wrap
from asyncsim.predict.result import Prediction

ALIKE = 0.03
"""Predictions that differ by less do not say which schedule is faster."""

MEANING = {
    Status.NO_SCHEDULE: "no schedule",
    Status.NO_END: "runs that do not end",
    Status.FINDINGS: "with findings",
    Status.INCOMPLETE: "incomplete",
    Status.FAILED: "failed",
}
HEAD = 11


def advice_text(advice: Advice, top: int) -> str:
    """What was swept and proven, the ranking, and why the best is the best."""
    parts = ["\n".join(_swept(advice))]
    best = advice.best
    if best is None or best.prediction is None:
        return "\n".join([*parts, "best       none: nothing was proven clean"])
    shown = advice.ranked[:top]
    parts.append(_ranking(advice, shown, best.prediction))
    parts.append("\n".join(_why(advice, best, best.prediction)))
    return "\n\n".join(parts)


def _swept(advice: Advice) -> Iterator[str]:
    fixed = _pairs(advice.space.fixed)
    yield wrap(f"{advice.scenario} {fixed} on {advice.machine}, L2 {advice.l2}", indent="    ")
    vary = " ".join(f"{n}={','.join(map(str, v))}" for n, v in advice.space.vary.items())
    counts, n = advice.counts, len(advice.trials)
    predicted = sum(t.prediction is not None for t in advice.trials)
    yield _line("swept", f"{vary}: {n} combination{'s' * (n > 1)}, {predicted} predicted")
    unchecked = counts.get(Status.UNCHECKED, 0)
    behind = f", {unchecked} slower one{'s' * (unchecked > 1)} not checked" if unchecked else ""
    yield _line("proven", f"{counts.get(Status.CLEAN, 0)} clean{behind}")
    for status, said in MEANING.items():
        if trials := advice.of(status):
            first = trials[0]
            where = _pairs({name: first.params[name] for name in advice.space.vary})
            yield _line("left out", f"{len(trials)} {said}; first {where}: {first.why}")


def _ranking(advice: Advice, shown: Sequence[Trial], best: Prediction) -> str:
    names = [n for n, values in advice.space.vary.items() if len(values) > 1]
    measured = any(t.measured for t in shown)
    head = [*names, "cycles", "time us", "sustained", "slower", *(["measured"] if measured else [])]
    rows = []
    for t in shown:
        p = t.prediction
        assert p is not None
        cells = [str(t.params[n]) for n in names]
        cells += [
            f"{p.cycles:,.0f}",
            f"{p.time_us:,.2f}",
            f"{foreseen_us(t):,.2f}",
            _slower(t, shown[0]),
        ]
        if measured:
            cells.append(_measured(t))
        rows.append([*cells, _loss(p, best)])
    return table([*head, "bound by, or lost to"], rows, "r" * len(head) + "l")


def _measured(trial: Trial) -> str:
    m = trial.measured
    if m is None:
        return ""
    return "trouble" if m.trouble else f"{m.cycles or 0:,.0f}"


def _slower(trial: Trial, best: Trial) -> str:
    """By measured cycles where both were measured, else by predicted time, sustained."""
    if (m := trial.measured) and m.trouble:
        return ""
    if m and m.cycles and best.measured and best.measured.cycles:
        return _percent(m.cycles, best.measured.cycles)
    return _percent(foreseen_us(trial), foreseen_us(best))


def _loss(p: Prediction, best: Prediction) -> str:
    """What most of the critical path goes through; of a slower schedule, what takes longer."""
    if p is best:
        name, share = max(p.path.items(), key=lambda item: item[1], default=("nothing", 0.0))
        return f"{name} {100 * share:.0f} %"
    more = {
        name: p.cycles * p.path.get(name, 0.0) - best.cycles * best.path.get(name, 0.0)
        for name in {**best.path, **p.path}
    }
    name = max(more, key=lambda n: more[n], default="")
    return f"{name} +{more[name]:,.0f}" if name and more[name] >= 0.5 else ""


def _why(advice: Advice, best: Trial, p: Prediction) -> Iterator[str]:
    chosen = {name: best.params[name] for name in advice.space.vary}
    yield _line("best", _pairs(chosen))
    yield _line("bound by", p.bound_by)
    yield _line(
        "occupancy",
        f"{p.occupancy.ctas_per_sm} CTAs per SM (limit: {p.occupancy.limited_by}), "
        f"{p.occupancy.smem_bytes:,} bytes of shared memory",
    )
    for i, relief in enumerate(advice.why.reliefs):
        yield _line("next" if i == 0 else "then", _relief(relief, p, also=i > 0))
    for i, step in enumerate(advice.why.steps):
        yield _line("a step" if i == 0 else "", _step(step, best, p))
    yield from _foreseen(advice, best)
    within = (1 + ALIKE) * foreseen_us(best)
    near = [t for t in advice.trials if foreseen_us(t) < within]
    if len(near) > 1 and best.measured is None:
        yield _line(
            "alike",
            f"{len(near)} combinations are predicted within {100 * ALIKE:.0f} % of the best, "
            "which is no difference; --measure tells them apart",
        )


def _foreseen(advice: Advice, best: Trial) -> Iterator[str]:
    """What the GPU says of the choice that was predicted."""
    first = advice.foreseen
    if first is None or first.measured is None:
        return
    if first is best:
        yield _line("measured", "the fastest of those measured, as predicted")
        return
    where = _pairs({name: first.params[name] for name in advice.space.vary})
    slower = _slower(first, best)
    what = f"takes {slower} more" if slower else f"failed: {first.measured.trouble}"
    yield _line("measured", f"the fastest; {where}, predicted to be, {what}")


def _relief(relief: Relief, best: Prediction, *, also: bool) -> str:
    p = relief.prediction
    with_ = f"with {relief.name} {'too ' if also else ''}in half the time"
    return f"{with_} {p.cycles:,.0f} cycles ({_signed(p.cycles, best.cycles)}): {p.bound_by}"


def _step(step: Step, best: Trial, p: Prediction) -> str:
    at = f"{step.name} {best.params[step.name]} -> {step.value}: "
    t = step.trial
    if t.status is Status.CLEAN and t.prediction is not None:
        return f"{at}{t.cycles:,.0f} cycles ({_signed(t.cycles, p.cycles)})"
    return f"{at}{t.status.value}: {t.why}"


def _line(head: str, text: str) -> str:
    return wrap(text, first=f"{head:<{HEAD}}")


def _pairs(values: Mapping[str, int]) -> str:
    return " ".join(f"{n}={v}" for n, v in values.items())


def _percent(value: float, base: float) -> str:
    return f"{100 * (value / base - 1):.1f} %"


def _signed(value: float, base: float) -> str:
    return f"{100 * (value / base - 1):+.1f} %"


def advice_json(advice: Advice, top: int) -> dict[str, Any]:
    """``best`` and ``ranked`` are rows as in the Parquet file; ``trials`` are all."""
    best = advice.best
    return {
        "scenario": advice.scenario,
        "machine": advice.machine,
        "l2": advice.l2,
        "params": advice.space.fixed,
        "vary": {name: list(values) for name, values in advice.space.vary.items()},
        "counts": {status.value: n for status, n in advice.counts.items()},
        "best": row(advice, best) if best else None,
        "ranked": [row(advice, t) for t in advice.ranked[:top]],
        "next": [
            {
                "halved": r.name,
                "cycles": r.prediction.cycles,
                "bound_by": r.prediction.bound_by,
            }
            for r in advice.why.reliefs
        ],
        "steps": [
            {"param": s.name, "value": s.value, **row(advice, s.trial)} for s in advice.why.steps
        ],
        "trials": [row(advice, t) for t in advice.trials],
    }
