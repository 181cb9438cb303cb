"""Simulate: how long a schedule takes on a machine, and why. The only part that uses SimPy.

``simulate(schedule, machine, certified=...)`` gives a Prediction. See docs/model-notes.md.
"""

from asyncsim.sim.simulate import Deadlock, simulate

__all__ = ["Deadlock", "simulate"]
