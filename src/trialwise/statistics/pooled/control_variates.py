"""Control variates: known properties of the workload reduce the variance of a mean over trials."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent, as_tolerance, as_values
from trialwise.statistics.estimates.mean_interval import MeanInterval, mean_interval
from trialwise.statistics.sequential.sampling import INNER

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEWEST = 200
"""Minimum number of trials to trust the interval of the residuals, which are spiky: almost all small, a few large."""
_SHARE_OF_PLAIN = 0.1
_MIN_AT_ALL = 10
"""Minimum residual degrees of freedom for a regression."""
SPIKE = 0.2
"""Share of the residual variance above which one trial is too dominant: others like it have not occurred yet."""
ALONE = 0.5
"""Share above which an interval rests on one trial and is not used, unless its floor is at least as wide."""
_SINGULAR = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class ControlVariates:
    """A mean with control variates, and without."""

    estimate: float
    low: float
    high: float
    """Of the controlled mean if `usable`, else of the plain one."""
    usable: bool
    """True if there are enough trials for the controlled interval, it gains something, and it is no wider than the plain one."""
    controlled: MeanInterval
    plain: MeanInterval
    gain: float
    """Variance of the plain mean over that of the controlled one, in this experiment."""
    largest: float
    """Share of the residual variance due to the largest residual."""
    coefficients: Array
    n: int
    needed: int
    """Minimum number of trials to use the controlled interval."""
    confidence: float
    """Reported, in percent."""
    warnings: tuple[str, ...]
    method: str


@dataclass(frozen=True, slots=True)
class Regression:
    """A least-squares fit at the known means of the controls."""

    shift: float
    """The adjustment that the fit subtracts from the mean."""
    variance: float
    """Variance of the controlled mean."""
    coefficients: Array
    residuals: Array
    degrees_of_freedom: int


def control_variates(
    y: ArrayLike,
    x: ArrayLike,
    known_means: ArrayLike,
    *,
    confidence: float = 95,
    precision: float | None = None,
    surrogate_trials: int | None = None,
    means_covariance: ArrayLike | None = None,
) -> ControlVariates:
    """Estimate the mean of y at the known means of x: the regression estimator (Lavenberg and Welch 1981).

    The estimate is mean(y) - β (mean(x) - μ), with β by least squares; its variance is that of a fitted value at μ, s² (1/n + d'
    Sxx⁻¹ d) with d = mean(x) - μ, on n - k - 1 degrees of freedom. Means estimated from m surrogate trials add β' S β / m, and means
    with the covariance C add β' C β (`LevelMeans` gives it for controls that are known from unequal numbers of lists).

    Residuals of a fluid surrogate are mostly near 0 and rarely large, so few trials understate them: nominal 95 % intervals covered
    70 % with 30 trials and 86 % with 100 (DCTCP, p99). The controlled interval is therefore used only from 200 trials on, or from a
    tenth of what the plain interval would take for the `precision`, if that is smaller; it has four fifths of the reported error
    probability, and its half-width is at least half of the precision. If this makes it wider than the plain interval, which needs no
    such guards, the plain one is used. Nor is it used where one trial makes over half of the residual variance and the floor is
    narrower: it then rests on that trial. Both are returned.

    Parameters
    ----------
    y
        One number per trial.
    x
        Controls of the same trials: shape (n,) or (n, k), for example offered load, number of flows, largest flow, and the same
        metric by a fluid model of the same flows.
    known_means
        Expected values of the controls, k numbers.
    confidence
        In percent.
    precision
        Desired half-width, in percent of the estimate; without it there is no floor and no tenth of a forecast.
    surrogate_trials
        Number of independent surrogate trials behind the known means; None if they are exact.
    means_covariance
        Covariance of the known means, shape (k, k). `surrogate_trials` are then the fewest lists behind one of them, which limit the
        degrees of freedom.

    Raises
    ------
    StatisticsError
        Shapes do not match, controls do not vary or are collinear, there are too few trials for any regression, values are not
        finite, or an option is out of range.
    """
    values = as_values(y, "y", minimum=2)
    controls, means = as_controls(x, known_means, values.size)
    as_percent(confidence, "confidence")
    wanted = None if precision is None else as_tolerance(precision)
    plain = mean_interval(values, confidence=confidence)
    fit = regression(values, controls, Known(means, surrogate_trials, means_covariance))
    estimate = plain.estimate - fit.shift
    floor = 0.0 if wanted is None else wanted / 2 * abs(estimate)
    reached = reach_of(fit.degrees_of_freedom, confidence) * sqrt(fit.variance)
    half = max(reached, floor)
    controlled = MeanInterval(
        estimate,
        estimate - half,
        estimate + half,
        values.size,
        float(confidence),
        "regression on control variates",
    )
    return guarded(
        plain, controlled, fit, float(values.var(ddof=1)) / values.size, wanted, floored=reached <= floor
    )


def guarded(
    plain: MeanInterval,
    controlled: MeanInterval,
    fit: Regression,
    plain_variance: float,
    precision: float | None,
    least: int = 0,
    *,
    floored: bool = False,
) -> ControlVariates:
    """Return both intervals, and which of them to use.

    The precision is a share, `least` a minimum of trials for another reason, and `floored` whether the controlled interval is as wide
    as its floor, which does not depend on single trials.
    """
    n, confidence = controlled.n, controlled.confidence
    needed = max(_trials_needed(plain, precision), least)
    gains = n >= needed and plain_variance > fit.variance
    largest = _largest(fit.residuals)
    alone = largest > ALONE and not floored
    narrower = controlled.high - controlled.low <= plain.high - plain.low
    usable = gains and narrower and not alone
    used = controlled if usable else plain
    return ControlVariates(
        estimate=used.estimate,
        low=used.low,
        high=used.high,
        usable=usable,
        controlled=controlled,
        plain=plain,
        gain=plain_variance / fit.variance if fit.variance else inf,
        largest=largest,
        coefficients=fit.coefficients,
        n=n,
        needed=needed,
        confidence=confidence,
        warnings=tuple(
            _warnings(
                largest,
                n,
                needed,
                floored=precision is not None,
                wider=gains and not narrower,
                tail=least > 0,
                alone=alone,
            )
        ),
        method=f"{controlled.method}, at {100 - INNER * (100 - confidence):g} % for a reported {confidence:g} %",
    )


def reach_of(degrees_of_freedom: int, confidence: float) -> float:
    """Return the half-width of a controlled interval in standard errors."""
    miss = INNER * (1 - confidence / 100)
    return float(special.stdtrit(degrees_of_freedom, 1 - miss / 2))


def as_controls(x: ArrayLike, known_means: ArrayLike, n: int) -> tuple[Array, Array]:
    """Check controls and their means: shapes (n, k) and (k,).

    Raises
    ------
    StatisticsError
        As for `control_variates`.
    """
    raw = np.asarray(x, dtype=np.float64)
    columns = raw[:, None] if raw.ndim == 1 else raw
    if columns.ndim != 2 or columns.shape[0] != n:
        raise StatisticsError(f"x has the shape {raw.shape}; expected one row for each of {n} trials")
    if n - columns.shape[1] - 1 < _MIN_AT_ALL:
        raise StatisticsError(
            f"{columns.shape[1]} control variates take at least {columns.shape[1] + 1 + _MIN_AT_ALL} trials; there are {n}"
        )
    checked = [as_values(column, f"x[:, {at}]") for at, column in enumerate(columns.T)]
    means = as_values(np.atleast_1d(np.asarray(known_means)), "known_means")
    if means.size != len(checked):
        raise StatisticsError(f"there are {means.size} known means for {len(checked)} control variates")
    for at, column in enumerate(checked):
        if not np.ptp(column):
            raise StatisticsError(f"x[:, {at}] does not vary and controls nothing; leave it out")
    return np.column_stack(checked), means


def independent_controls(x: ArrayLike) -> list[int]:
    """Return the columns that vary and are not determined by earlier ones, unlike bytes and the number of flows of one size.

    Parameters
    ----------
    x
        Shape (n, k).
    """
    columns = np.asarray(x, dtype=np.float64)
    centred = columns - columns.mean(axis=0)
    kept: list[int] = []
    basis: list[Array] = []
    for at, column in enumerate(centred.T):
        rest: Array = column
        for _ in range(2):  # what rounding leaves of the first time goes the second time
            for direction in basis:
                rest = rest - float(direction @ rest) * direction
        length = float(np.linalg.norm(rest))
        if length > _SINGULAR * np.linalg.norm(columns[:, at]):
            kept.append(at)
            basis.append(rest / length)
    return kept


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The means of controls, with what says how well they are known: the arguments of `control_variates`."""

    means: Array
    surrogate_trials: int | None = None
    covariance: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Check them.

        Raises
        ------
        StatisticsError
            The number of surrogate trials is not above 1, or the covariance is not one of these means.
        """
        if self.surrogate_trials is not None and self.surrogate_trials < 2:
            raise StatisticsError(f"surrogate_trials is {self.surrogate_trials!r}; expected an integer ≥ 2")
        if self.covariance is None:
            return
        given, k = np.asarray(self.covariance, dtype=np.float64), self.means.size
        if given.shape != (k, k) or not np.isfinite(given).all() or not np.allclose(given, given.T):
            raise StatisticsError(
                f"means_covariance has the shape {given.shape}; expected a symmetric one of {k} × {k}"
            )

    def degrees_of_freedom(self, n: int) -> int:
        """Return those of n trials, at most those of the lists behind the means."""
        own = n - self.means.size - 1
        if self.covariance is None or self.surrogate_trials is None:
            return own
        return max(1, min(own, self.surrogate_trials - self.means.size))

    def noise(self, design: Design, along: Array) -> Array:
        """Return what the means add to a variance, for responses with the coordinates `along` the axes: shape (…, controls)."""
        if self.covariance is not None:
            on_axes = design.back.T @ np.asarray(self.covariance, dtype=np.float64) @ design.back
            return np.asarray(np.sum((along @ on_axes) * along, axis=-1))
        if self.surrogate_trials is None:
            return np.zeros(along.shape[:-1])
        return np.sum(along**2, axis=-1) / (design.left.shape[0] - 1) / self.surrogate_trials


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Centred controls on orthonormal axes: `left` (trials, controls), the rest to come back, and how far the known means are away.

    The adjustment of a mean of y is `(left.T @ y) @ away`.
    """

    left: Array
    back: Array
    """From the coordinates on the axes to coefficients of the controls: shape (controls, controls)."""
    away: Array
    """Of the means of the controls in the trials from the known ones, on the axes."""

    @classmethod
    def of(cls, controls: Array, means: Array) -> Design:
        """Decompose controls.

        Raises
        ------
        StatisticsError
            A control is determined by the others.
        """
        scale = controls.std(axis=0, ddof=1)
        centred = (controls - controls.mean(axis=0)) / scale
        off = (controls.mean(axis=0) - means) / scale
        left, sizes, right = np.linalg.svd(centred, full_matrices=False)
        if float(sizes[-1]) < _SINGULAR * float(sizes[0]):
            raise StatisticsError(
                "a control variate is determined by the others (a constant sum, a copy); leave one out"
            )
        return cls(left, right.T / sizes / scale[:, None], right @ off / sizes)


def regression(y: Array, controls: Array, known: Known) -> Regression:
    """Fit y on centred controls and evaluate the adjustment at the known means.

    Raises
    ------
    StatisticsError
        A control is determined by the others.
    """
    n, k = controls.shape
    design = Design.of(controls, known.means)
    along = design.left.T @ y
    residuals = y - y.mean() - design.left @ along
    noise = float(residuals @ residuals) / (n - k - 1)
    variance = noise * (1 / n + float(np.sum(design.away**2))) + float(known.noise(design, along))
    return Regression(
        float(along @ design.away), variance, design.back @ along, residuals, known.degrees_of_freedom(n)
    )


def _trials_needed(plain: MeanInterval, precision: float | None) -> int:
    """Return the minimum number of trials for the controlled interval: 200, or a tenth of the plain forecast if that is smaller."""
    if precision is None or not plain.estimate:
        return FEWEST
    half = (plain.high - plain.low) / 2
    forecast = plain.n * (half / (precision * abs(plain.estimate))) ** 2
    return ceil(min(FEWEST, _SHARE_OF_PLAIN * forecast))


def _largest(residuals: Array) -> float:
    squares = residuals**2
    total = float(squares.sum())
    return float(squares.max()) / total if total else 0.0


def _warnings(
    largest: float, n: int, needed: int, *, floored: bool, wider: bool, tail: bool, alone: bool
) -> list[str]:
    """List the reasons against the controlled interval."""
    found: list[str] = []
    if tail:
        found.append(
            f"few trials make the tail: the controlled interval takes about {needed} trials and there are {n}, the plain one is used"
        )
    elif n < needed:
        found.append(
            f"the controlled interval takes {needed} trials and there are {n}: the plain one is used; the residuals of few trials "
            "look smaller than they are"
        )
    if wider:
        level = "at the level of four fifths" + (" and never below half of the precision" if floored else "")
        found.append(f"the plain interval is used: the controlled one, {level}, is wider")
    if alone:
        found.append(
            f"the plain interval is used: the controlled one rests on one trial, which makes {100 * largest:.0f} % of what the "
            "controls leave; more trials, of which others are like it, lift this"
        )
    elif largest > SPIKE:
        found.append(
            f"one trial makes {100 * largest:.0f} % of what the controls leave: the interval may be too short"
        )
    if not floored:
        found.append("no precision was given: the half-width has no floor")
    return found
