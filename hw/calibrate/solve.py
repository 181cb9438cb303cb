"""Robust least squares of a law: values, 95 % half widths, residuals.  Needs scipy.

See docs/machine.md.
"""

__all__ = ["Model", "Solution", "UnidentifiedError", "solve"]

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Model = Callable[[Floats, Floats], Floats]
"""(parameters, one row of x for each point) -> the law's value at each point."""

_CAUCHY = 2.4  # residuals beyond so many scales count less and less; 95 % efficient on clean data
_CONSISTENT = 1.4826  # from the median absolute deviation to a standard deviation
_FINER = 8.0  # times, from one scale of absolute residuals to the next; 4 and 16 end the same
_ROUNDS = 3  # of scale and fit; the scale moves little after the second


class UnidentifiedError(ValueError):
    """The points do not say what a parameter is."""


@dataclass(frozen=True, slots=True)
class Solution:
    """``values`` and ``half_widths`` (95 %) by parameter; ``residuals``: measured minus law, by
    point, in the unit of the points; ``kept``: weight of each point in the fit, 0..1."""

    values: tuple[float, ...]
    half_widths: tuple[float, ...]
    residuals: tuple[float, ...]
    kept: tuple[float, ...]

    @property
    def rms(self) -> float:
        """Root mean square of the residuals, each with its weight."""
        weights, squares = np.array(self.kept), np.array(self.residuals) ** 2
        return float(np.sqrt((weights * squares).sum() / weights.sum()))


def solve(model: Model, x: Floats, y: Floats, sigma: Floats, start: Sequence[float]) -> Solution:
    """Fit ``model`` with parameters of 0 or more, Cauchy loss, and a scale from the residuals.

    ``sigma`` are the points' own standard errors, above 0.  Where the law misses points by more,
    the scale of the residuals takes their place.  Raises UnidentifiedError.
    """
    from scipy.optimize import least_squares
    from scipy.stats import t as student

    count, free = len(y), len(y) - len(start)
    if free < 0:
        raise UnidentifiedError(f"{count} points for {len(start)} parameters")

    def miss(theta: Floats, scale: float = 1.0) -> Floats:
        missed: Floats = (model(theta, x) - y) / (sigma * scale)
        return missed

    def fitted(theta: Sequence[float] | Floats, loss: str, scale: float = 1.0) -> Floats:
        width = _CAUCHY if loss == "cauchy" else 1.0
        found = least_squares(
            miss, theta, bounds=(0, np.inf), loss=loss, f_scale=width, x_scale="jac", args=(scale,)
        )
        if not found.success:
            raise UnidentifiedError(f"the fit has not ended after {found.nfev} steps")
        best: Floats = found.x
        return best

    theta, scale = fitted(start, "linear"), 1.0
    for coarse in _descending(_scale(miss(theta), free)) if free else ():
        theta = fitted(theta, "soft_l1", coarse)
    for _ in range(_ROUNDS if free else 0):
        scale = max(1.0, _scale(miss(theta), free))
        theta = fitted(theta, "cauchy", scale)
    misses = miss(theta)
    jacobian = _jacobian(miss, theta)
    inverse = _inverse(jacobian)
    variance = max(1.0, scale**2 * _sandwich(misses / scale, free)) if free else 1.0
    quantile = float(student.ppf(0.975, max(free, 1))) if variance > 1.0 else 1.96
    half = quantile * np.sqrt(variance * np.diag(inverse))
    weights = 1 / (1 + (misses / scale / _CAUCHY) ** 2)
    return Solution(
        tuple(map(float, theta)),
        tuple(map(float, half)),
        tuple(map(float, -misses * sigma)),
        tuple(map(float, weights)),
    )


def _descending(scale: float) -> Iterator[float]:
    """Scales from that of the plain fit down to the points' own errors, 1.

    At 1 at once, a start that is many errors away takes more steps than the solver has: the loss
    is nearly flat for it.
    """
    while scale > 1.0:
        yield scale
        scale /= _FINER
    yield 1.0


def _scale(misses: Floats, free: int) -> float:
    """A robust standard deviation; few points beyond the parameters make it larger."""
    spread = float(np.median(np.abs(misses)))
    return _CONSISTENT * spread * float(np.sqrt(len(misses) / free))


def _sandwich(u: Floats, free: int) -> float:
    """Huber's factor on the covariance of an M-estimator, by the influence of each point."""
    z = (u / _CAUCHY) ** 2
    influence, slope = u / (1 + z), (1 - z) / (1 + z) ** 2
    steep = max(float(np.mean(slope)), 0.1)
    return float(np.mean(influence**2)) * len(u) / free / steep**2


def _jacobian(miss: Callable[[Floats], Floats], theta: Floats) -> Floats:
    """Central differences over steps that no point's kink is likely to lie in."""
    columns = []
    for i, value in enumerate(theta):
        step = np.zeros_like(theta)
        step[i] = max(abs(value) * 1e-5, 1e-9)
        columns.append((miss(theta + step) - miss(theta - step)) / (2 * step[i]))
    return np.array(columns).T


def _inverse(jacobian: Floats) -> Floats:
    """Inverse of JᵀJ; UnidentifiedError where a parameter, or a sum of some, moves no point."""
    sizes = np.sqrt((jacobian**2).sum(axis=0))
    if not (sizes > 0).all():
        raise UnidentifiedError("a parameter moves no point")
    scaled = jacobian / sizes
    if np.linalg.cond(scaled) > 1e7:
        raise UnidentifiedError("parameters stand for each other")
    inverse: Floats = np.linalg.inv(scaled.T @ scaled) / np.outer(sizes, sizes)
    return inverse
