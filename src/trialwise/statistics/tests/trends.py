"""Trends of trials over the positions of a round and over the rounds, pooled over all treatments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.order.predecessors import FIRST, Trials


@dataclass(frozen=True, slots=True)
class Trend:
    """A slope common to all treatments in units of their standard deviations; NaN if it cannot be estimated.

    It is reported as the mean over the treatments, in the unit of the values.
    """

    estimate: float
    low: float
    high: float
    p_value: float
    n: int
    """Number of rounds: the clusters that its standard error is estimated from."""


TrendName: TypeAlias = Literal["position", "drift", "first"]
_DETERMINED = 1e-9
_ABSENT = Trend(float("nan"), float("nan"), float("nan"), float("nan"), 0)


def trends(trials: Trials, level: float) -> dict[TrendName, Trend]:
    """Estimate slopes over positions and rounds, and the step of the first position, with intervals at a level (a share).

    Least squares within treatments, each in units of its standard deviation; standard errors by the jackknife over rounds (CR3;
    Bell and McCaffrey 2002); t with rounds - 2 degrees of freedom. The plain sandwich (CR1) is too small for few rounds, because
    the first and the last determine the drift. The standard error of the drift is inflated for correlation between neighbouring
    rounds, by sqrt((1 + r)/(1 - r)) if r > 0.
    """
    known = trials.measured
    codes, rounds = trials.treatment[known], np.unique(trials.round[known], return_inverse=True)[1]
    count = int(rounds.max()) + 1 if rounds.size else 0
    found: dict[TrendName, Trend] = {"position": _ABSENT, "drift": _ABSENT, "first": _ABSENT}
    if count < 4:
        return found
    columns: dict[TrendName, Array] = {
        "drift": trials.round[known].astype(np.float64),
        "position": trials.position[known],
        "first": (trials.predecessor[known] == FIRST).astype(np.float64),
    }
    y, unit = _standardised(trials.values[known], codes)
    made, kept = _independent({name: _within(column, codes) for name, column in columns.items()})
    if not kept:
        return found
    estimates, errors, residuals = _clustered(made, y, rounds, count)
    for place, name in enumerate(kept):
        error = errors[place] * (_widening(residuals, rounds) if name == "drift" else 1.0)
        found[name] = _trend(unit * estimates[place], unit * error, count, level)
    return found


def _independent(columns: Mapping[TrendName, Array]) -> tuple[Array, list[TrendName]]:
    """Return the columns that are linearly independent of those before them, and their names."""
    kept: list[TrendName] = []
    made: list[Array] = []
    for name, column in columns.items():
        more = np.column_stack([*made, column])
        if np.linalg.matrix_rank(more) == more.shape[1]:
            kept.append(name)
            made.append(column)
    return np.column_stack(made) if made else np.empty((0, 0)), kept


def _standardised(values: Array, codes: Indices) -> tuple[Array, float]:
    """Return values minus their treatment's mean, in units of its standard deviation, and the mean of these deviations."""
    centred = _within(values, codes)
    counts = np.bincount(codes)
    spreads = np.sqrt(np.bincount(codes, centred**2) / np.maximum(counts - 1, 1))
    positive = spreads[spreads > 0]
    return centred / np.where(spreads > 0, spreads, 1.0)[codes], float(
        positive.mean()
    ) if positive.size else 1.0


def _within(values: Array, codes: Indices) -> Array:
    return values - (np.bincount(codes, values) / np.maximum(np.bincount(codes), 1))[codes]


def _clustered(columns: Array, y: Array, rounds: Indices, count: int) -> tuple[Array, Array, Array]:
    lengths = np.sqrt((columns**2).sum(axis=0))
    columns = columns / lengths
    whole = columns.T @ columns
    estimates = np.linalg.solve(whole, columns.T @ y)
    residuals = y - columns @ estimates
    scores = np.column_stack([np.bincount(rounds, column * residuals) for column in columns.T])
    own = np.zeros((count, *whole.shape))
    np.add.at(own, rounds, columns[:, :, None] * columns[:, None, :])
    # Changes of the estimates when a round is left out; if a slope is then unknown, take the smallest possible change.
    without = np.linalg.pinv(whole - own, rcond=_DETERMINED, hermitian=True)
    changes = (without @ scores[:, :, None])[:, :, 0]
    errors = np.sqrt((count - 1) / count * (changes**2).sum(axis=0))
    return estimates / lengths, errors / lengths, residuals


def _widening(residuals: Array, rounds: Indices) -> float:
    means = np.bincount(rounds, residuals) / np.bincount(rounds)
    means = means - means.mean()
    whole = float(means @ means)
    r = float(means[1:] @ means[:-1]) / whole if whole else 0.0
    return float(np.sqrt((1 + r) / (1 - r))) if r > 0 else 1.0


def _trend(estimate: float, error: float, count: int, level: float) -> Trend:
    reach = -float(special.stdtrit(count - 2, (1 - level) / 2)) * error
    p_value = (
        2 * float(special.stdtr(count - 2, -abs(estimate) / error)) if error > 0 else float(estimate == 0)
    )
    return Trend(float(estimate), float(estimate - reach), float(estimate + reach), p_value, count)
