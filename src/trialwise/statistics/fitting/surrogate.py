"""Minimise a function that takes long and is noisy: a Sobol design, then a Gaussian process with expected improvement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import special

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array

_CHOICES = 512
_LENGTHS = (0.05, 10.0)
_NOISES = (1e-6, 1.0)


def sobol(number: int, dimensions: int, seed: int) -> Array:
    """Return points of a scrambled Sobol sequence in the unit cube (Owen 1998), one in each row."""
    from scipy.stats import qmc

    power = max(1, int(np.ceil(np.log2(max(number, 2)))))
    return qmc.Sobol(dimensions, rng=np.random.default_rng(seed)).random_base2(power)[:number]


@dataclass(frozen=True, slots=True)
class GaussianProcess:
    """A Gaussian process of known points: Matérn 5/2 with a length for each dimension, constant mean, and a noise term.

    Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), equations 2.25, 2.26, 4.17 and algorithm 2.1.
    """

    points: Array
    lengths: Array
    noise: float
    mean: float
    scale: float
    factor: Array
    weights: Array

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of the function (without noise) at points, one in each row."""
        from scipy.linalg import solve_triangular

        between = _matern(points, self.points, self.lengths)
        spread = solve_triangular(self.factor, between.T, lower=True)
        variance = np.maximum(1 - (spread**2).sum(axis=0), 1e-12)
        return self.mean + self.scale * between @ self.weights, self.scale * np.sqrt(variance)


def fitted(points: Array, values: Array) -> GaussianProcess:
    """Return the process of greatest marginal likelihood over lengths and noise."""
    from scipy.optimize import minimize

    mean, scale = float(values.mean()), float(values.std()) or 1.0
    standard = (values - mean) / scale
    dimensions = points.shape[1]
    bounds = [np.log(_LENGTHS)] * dimensions + [np.log(_NOISES)]
    starts = [np.append(np.full(dimensions, np.log(length)), np.log(1e-2)) for length in (0.3, 1.0)]
    tried = [
        minimize(_surprise, start, (points, standard), "L-BFGS-B", bounds=bounds, options={"maxiter": 50})
        for start in starts
    ]
    best = min(tried, key=lambda found: float(found.fun)).x
    lengths, noise = np.exp(best[:-1]), float(np.exp(best[-1]))
    factor = _factor(points, lengths, noise)
    return GaussianProcess(points, lengths, noise, mean, scale, factor, _solved(factor, standard))


def proposal(process: GaussianProcess, best: float, seed: int, near: Sequence[Array] = ()) -> Array:
    """Return the point of greatest expected improvement on `best`, of 512 Sobol points and 64 around each one in `near`.

    Source: Jones, Schonlau and Welch, "Efficient global optimization", J. Global Optim. 13 (1998), equation 15.
    """
    dimensions = process.points.shape[1]
    rng = np.random.default_rng(seed)
    around = [np.clip(one + rng.normal(0, 0.05, (64, dimensions)), 0, 1) for one in near]
    choices = np.concatenate([sobol(_CHOICES, dimensions, seed), *around])
    mean, deviation = process.predict(choices)
    gain = (best - mean) / deviation
    density = np.exp(-(gain**2) / 2) / np.sqrt(2 * np.pi)
    return choices[int(np.argmax((best - mean) * special.ndtr(gain) + deviation * density))]


def _matern(a: Array, b: Array, lengths: Array) -> Array:
    apart = np.sqrt((((a[:, None, :] - b[None, :, :]) / lengths) ** 2).sum(axis=2))
    root = np.sqrt(5) * apart
    return (1 + root + root**2 / 3) * np.exp(-root)


def _factor(points: Array, lengths: Array, noise: float) -> Array:
    kernel = _matern(points, points, lengths)
    return np.linalg.cholesky(kernel + (noise + 1e-8) * np.eye(len(points))).astype(np.float64, copy=False)


def _solved(factor: Array, values: Array) -> Array:
    from scipy.linalg import cho_solve

    return cho_solve((factor, True), values)


def _surprise(logs: Array, points: Array, values: Array) -> float:
    """Return the negative logarithm of the marginal likelihood, without its constant."""
    try:
        factor = _factor(points, np.exp(logs[:-1]), float(np.exp(logs[-1])))
    except np.linalg.LinAlgError:
        return 1e10
    return float(values @ _solved(factor, values) / 2 + np.log(np.diag(factor)).sum())
