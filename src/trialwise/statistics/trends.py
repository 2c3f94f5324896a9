"""Trends of trials over the positions of a round and over the rounds, all treatments together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from scipy import stats

from trialwise.statistics.checks import Array
from trialwise.statistics.predecessors import FIRST, Trials


@dataclass(frozen=True, slots=True)
class Trend:
    """A slope common to all treatments, in the unit of the values; NaN where it cannot be estimated."""

    estimate: float
    low: float
    high: float
    p_value: float
    n: int
    """Rounds: the clusters that its error is estimated from."""


class Trends(TypedDict):
    """The three of `carry_over`."""

    position: Trend
    drift: Trend
    first: Trend


_ABSENT = Trend(float("nan"), float("nan"), float("nan"), float("nan"), 0)


def trends(trials: Trials, level: float) -> Trends:
    """Slopes over positions and rounds, and the step of the first position, with intervals at a level (a share).

    Weighted least squares within treatments (weights: one over each treatment's variance), errors by clusters of rounds
    (CR1), t with rounds - 2 degrees of freedom. Errors of the drift are widened for the correlation of neighbouring
    rounds, by sqrt((1 + r)/(1 - r)) where r > 0.
    """
    known = trials.measured
    codes, rounds = trials.treatment[known], np.unique(trials.round[known], return_inverse=True)[1]
    count = int(rounds.max()) + 1 if rounds.size else 0
    found: Trends = {"position": _ABSENT, "drift": _ABSENT, "first": _ABSENT}
    if count < 4:
        return found
    columns = {
        "drift": trials.round[known].astype(np.float64),
        "position": trials.position[known],
        "first": (trials.predecessor[known] == FIRST).astype(np.float64),
    }
    y, weights = _weighted(trials.values[known], codes)
    root = np.sqrt(weights)
    kept: list[str] = []
    made = np.empty((y.size, 0))
    for name, column in columns.items():
        more = np.column_stack([made, root * _within(column, codes)])
        if np.linalg.matrix_rank(more) == more.shape[1]:
            kept.append(name)
            made = more
    if not kept:
        return found
    estimates, errors, residuals = _clustered(made, root * y, rounds, count)
    for place, name in enumerate(kept):
        widened = _widening(residuals * root, rounds) if name == "drift" else 1.0
        trend = _trend(estimates[place], errors[place] * widened, count, level)
        found[name] = trend  # pyright: ignore[reportGeneralTypeIssues]
    return found


def _weighted(values: Array, codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[Array, Array]:
    """Values less their treatment's mean, and one over its variance (over the largest one where it has none)."""
    centred = _within(values, codes)
    counts = np.bincount(codes)
    variances = np.bincount(codes, centred**2) / np.maximum(counts - 1, 1)
    positive = variances[variances > 0]
    fallback = float(positive.max()) if positive.size else 1.0
    return centred, 1 / np.where(variances > 0, variances, fallback)[codes]


def _within(values: Array, codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Array:
    return values - (np.bincount(codes, values) / np.maximum(np.bincount(codes), 1))[codes]


def _clustered(
    columns: Array, y: Array, rounds: np.ndarray[tuple[int], np.dtype[np.int64]], count: int
) -> tuple[Array, Array, Array]:
    inverse = np.linalg.inv(columns.T @ columns)
    estimates = inverse @ (columns.T @ y)
    residuals = y - columns @ estimates
    scores = np.column_stack([np.bincount(rounds, column * residuals) for column in columns.T])
    middle = scores.T @ scores * count / (count - 1)
    return estimates, np.sqrt(np.diag(inverse @ middle @ inverse)), residuals


def _widening(residuals: Array, rounds: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    means = np.bincount(rounds, residuals) / np.bincount(rounds)
    means = means - means.mean()
    whole = float(means @ means)
    r = float(means[1:] @ means[:-1]) / whole if whole else 0.0
    return float(np.sqrt((1 + r) / (1 - r))) if r > 0 else 1.0


def _trend(estimate: float, error: float, count: int, level: float) -> Trend:
    reach = float(stats.t.isf((1 - level) / 2, count - 2)) * error
    p_value = 2 * float(stats.t.sf(abs(estimate) / error, count - 2)) if error > 0 else float(estimate == 0)
    return Trend(float(estimate), float(estimate - reach), float(estimate + reach), p_value, count)
