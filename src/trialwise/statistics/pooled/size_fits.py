"""Parametric flow sizes fitted to a distribution function as in CCEval, the basis of its model-based estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.numbers import about
from trialwise.statistics.checks import Array, as_values, one_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Family: TypeAlias = Literal["lognormal", "normal", "exponential", "poisson"]
FAMILIES: tuple[Family, ...] = ("lognormal", "normal", "exponential", "poisson")


@dataclass(frozen=True, slots=True)
class SizeFit:
    """A family of distributions, fitted to a distribution function of sizes."""

    family: Family
    parameters: tuple[float, ...]
    """Lognormal: mean and standard deviation of ln S; normal: mean and standard deviation; exponential, Poisson: mean."""
    mean: float
    """Of the fitted distribution, in the unit of the sizes."""
    mean_ratio: float
    """Mean relative to that of the distribution function: the factor on the offered load if arrivals stay the same."""
    rmse: float
    """Root mean squared difference of the two distribution functions."""
    largest_error: float
    """Largest difference of the two distribution functions."""
    beyond: float
    """Probability of a size above the largest one."""
    note: str
    """Effect of the fit on the load."""

    def shares(self, sizes: ArrayLike) -> Array:
        """Return the fitted distribution function at sizes above 0, from 0 to 1."""
        points, first = np.asarray(sizes, dtype=np.float64), self.parameters[0]
        if self.family == "lognormal":
            at = [first, log(self.parameters[1])]
        elif self.family == "normal":
            at = [first / self.parameters[1], log(self.parameters[1])]
        else:
            at = [log(first)]
        return _MODELS[self.family](points, np.array(at))

    def true_load(self, load: float) -> float:
        """Return the load that sizes of this fit offer with arrivals set for `load` by the true mean size."""
        return load * self.mean_ratio


def fit_sizes(sizes: ArrayLike, shares: ArrayLike, family: Family = "lognormal") -> SizeFit:
    """Fit a family by non-linear least squares on the distribution function (CCEval section 5).

    Each point (size, share) with a size above 0 counts once. CCEval uses the lognormal (its Figure 14b), whose mean may be several
    times the true one (4.0 for WebSearch, from the knots), so that the model's load differs by `mean_ratio`.

    Parameters
    ----------
    sizes
        In ascending order, from 0; the distribution function is linear between them.
    shares
        P(S <= size) in percent, in ascending order, the last 100.
    family
        "lognormal", "normal", "exponential" or "poisson".

    Raises
    ------
    StatisticsError
        Sizes and shares are not a distribution function, or the family is unknown.
    """
    from scipy.optimize import least_squares

    one_of(family, "family", FAMILIES)
    knots, levels = as_distribution(sizes, shares)
    true_mean = mean_size(knots, levels)
    model = _MODELS[family]
    known = knots > 0
    points, wanted = knots[known], levels[known]
    start = min(
        _starts(family, points, wanted), key=lambda at: float(np.sum((model(points, at) - wanted) ** 2))
    )
    found = least_squares(lambda at: model(points, at) - wanted, start, method="lm")
    parameters = np.asarray(found.x, dtype=np.float64)
    errors = model(points, parameters) - wanted
    natural, mean = _natural(family, parameters)
    ratio = mean / true_mean
    return SizeFit(
        family=family,
        parameters=natural,
        mean=mean,
        mean_ratio=ratio,
        rmse=sqrt(float(np.mean(errors**2))),
        largest_error=float(np.abs(errors).max()),
        beyond=1 - float(model(knots[-1:], parameters)[0]),
        note=(
            f"the fitted mean is {about(ratio)} times the true one: arrivals that are set by the true mean offer "
            f"{about(ratio)} times the load that was meant"
        ),
    )


def as_distribution(sizes: ArrayLike, shares: ArrayLike) -> tuple[Array, Array]:
    """Check a distribution function: its sizes, and its shares from 0 to 1.

    Raises
    ------
    StatisticsError
        As for `fit_sizes`.
    """
    knots = as_values(sizes, "sizes", minimum=3)
    levels = as_values(shares, "shares", minimum=3) / 100
    if knots.size != levels.size:
        raise StatisticsError(f"there are {knots.size} sizes for {levels.size} shares")
    if knots[0] < 0 or (np.diff(knots) <= 0).any():
        raise StatisticsError("the sizes are not from 0 upwards; sort them and leave repetitions out")
    if levels[0] < 0 or (np.diff(levels) < 0).any() or levels[-1] != 1:
        raise StatisticsError("the shares do not rise to 100; give P(S <= size) in percent")
    return knots, levels


def mean_size(knots: Array, levels: Array) -> float:
    """Return the mean of a distribution function that is linear between its knots."""
    return float(levels[0] * knots[0] + np.sum(np.diff(levels) * (knots[1:] + knots[:-1]) / 2))


# Parameters are searched on the whole real line: logarithms of what must be positive.


def _lognormal(sizes: Array, at: Array) -> Array:
    return np.asarray(special.ndtr((np.log(sizes) - at[0]) / np.exp(at[1])), dtype=np.float64)


def _normal(sizes: Array, at: Array) -> Array:
    return np.asarray(special.ndtr(sizes / np.exp(at[1]) - at[0]), dtype=np.float64)


def _exponential(sizes: Array, at: Array) -> Array:
    return -np.expm1(-sizes / np.exp(at[0]))


def _poisson(sizes: Array, at: Array) -> Array:
    return np.asarray(special.gammaincc(np.floor(sizes) + 1, np.exp(at[0])), dtype=np.float64)


_MODELS: dict[Family, Callable[[Array, Array], Array]] = {
    "lognormal": _lognormal,
    "normal": _normal,
    "exponential": _exponential,
    "poisson": _poisson,
}


def _starts(family: Family, points: Array, wanted: Array) -> list[Array]:
    median = max(float(np.interp(0.5, wanted, points)), 1e-9)
    if family == "lognormal":
        return [np.array([np.log(median), np.log(spread)]) for spread in (0.5, 1.0, 2.0, 4.0)]
    if family == "normal":
        spreads = _between(points, 30)
        return [
            np.array([ratio, np.log(spread)]) for ratio in (0.1, 0.3, 1.0, 2.0, 4.0) for spread in spreads
        ]
    # A Poisson distribution function is a step function, so its error has a local minimum at every point.
    beside = points + np.sqrt(points) * np.arange(-3.0, 3.5, 0.5)[:, None]
    means = [*_between(points, 400).tolist(), *beside[beside > 0].tolist()]
    return [np.array([np.log(mean)]) for mean in means]


def _between(points: Array, count: int) -> Array:
    return np.exp(np.linspace(float(np.log(points[0])), float(np.log(points[-1])), count))


def _natural(family: Family, at: Array) -> tuple[tuple[float, ...], float]:
    """Return the usual parameters, and the mean."""
    if family == "lognormal":
        mu, sigma = float(at[0]), exp(float(at[1]))
        return (mu, sigma), exp(mu + sigma**2 / 2)
    if family == "normal":
        sigma = exp(float(at[1]))
        return (float(at[0]) * sigma, sigma), float(at[0]) * sigma
    mean = exp(float(at[0]))
    return (mean,), mean
