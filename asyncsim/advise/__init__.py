"""advise: which values of a scenario's free parameters to use, and why. See docs/advise.md."""

from asyncsim.advise.advise import Interrupted, advise
from asyncsim.advise.result import Advice, Relief, Step, Why
from asyncsim.advise.space import Space
from asyncsim.advise.trial import Measured, Status, Trial

__all__ = [
    "Advice",
    "Interrupted",
    "Measured",
    "Relief",
    "Space",
    "Status",
    "Step",
    "Trial",
    "Why",
    "advise",
]
