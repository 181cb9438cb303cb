"""Predictions and their verdict: what check and simulate give, together."""

from asyncsim.predict.predict import predict
from asyncsim.predict.result import CheckResult, Occupancy, Prediction, Stall, Verdict

__all__ = ["CheckResult", "Occupancy", "Prediction", "Stall", "Verdict", "predict"]
