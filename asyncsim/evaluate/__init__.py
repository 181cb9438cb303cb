"""Evaluate: what a schedule computes, in NumPy, one CTA after the other."""

from asyncsim.evaluate.errors import EvaluateError
from asyncsim.evaluate.inputs import make_inputs
from asyncsim.evaluate.order import Landing, Order
from asyncsim.evaluate.run import evaluate

__all__ = ["EvaluateError", "Landing", "Order", "evaluate", "make_inputs"]
