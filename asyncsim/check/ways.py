"""Ways to execute a CTA again: the reference, and those that a failing condition suggests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from asyncsim.check.model import Who
from asyncsim.check.policy import Delayed, Directed, Eager, HeldBack, Lazy, Policy, Random
from asyncsim.check.report import Breach
from asyncsim.ir import op as ops
from asyncsim.ir.op import Scope

RANDOM_RUNS = 4


@dataclass(frozen=True, slots=True)
class Way:
    """How to execute a CTA, as often as one likes. ``parts``: lanes of a warp are held back."""

    policy: Callable[[], Policy]
    chain_phases: bool = True
    meets: bool = False
    parts: bool = False


REFERENCE = Way(Eager, chain_phases=False, meets=True)


def directed(breaches: list[Breach]) -> list[Way]:
    """Executions that a failing condition suggests: one of its ops held back, or run early."""
    policies: list[Callable[[], Policy]] = []
    parted: list[Callable[[], Policy]] = []
    for breach in breaches[:4]:
        if breach.together:
            places = [(s.warp.index, s.pos) for s in breach.together]
            policies.append(partial(HeldBack, places))
            continue
        for step in (breach.step, breach.other):
            if step is None:
                continue
            if step.dyn.barriers and isinstance(step.dyn.op, ops.TmaLoad | ops.StAsync):
                policies.append(partial(Delayed, [(step.warp.index, step.pos)]))
            for ahead in (False, True):
                since = 0 if ahead else step.pos
                for eager in (True, False):
                    at = step.warp.index, since
                    policies.append(partial(Directed, *at, ahead=ahead, eager=eager))
            if step.dyn.op.scope is Scope.ALL_LANES:  # its lanes may be tested at different times
                for who in (Who.OTHERS, Who.ELECTED):
                    at = step.warp.index, step.pos
                    parted.append(partial(Directed, *at, ahead=False, eager=True, who=who))
    policies += [partial(Random, seed) for seed in range(RANDOM_RUNS)]
    ways = [Way(policy) for policy in (Lazy, *policies)]
    return ways + [Way(policy, parts=True) for policy in parted]
