"""Controls for several statistics of the same trials at once, so that their differences have them too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent
from trialwise.statistics.pooled.control_variates import (
    Design,
    Known,
    as_controls,
    independent_controls,
    reach_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_SINGULAR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ControlledValues:
    """One number per trial and side, whose means are the controlled means and whose spread is that of these.

    `gains` is, for sides i and j, the variance of the plain difference of means over that of the controlled one; on its diagonal, that
    of the means. `largest` is the share of the largest residual in the variance of a side's residuals, the largest of all sides, and
    `kept` are the controls that are used.
    """

    values: Array
    gains: Array
    largest: float
    kept: tuple[int, ...]


def controlled_values(
    y: ArrayLike,
    x: ArrayLike,
    known_means: ArrayLike,
    means_covariance: ArrayLike,
    lists: int,
    *,
    confidence: float = 95,
) -> ControlledValues:
    """Adjust the values of several sides for controls, so that paired differences of them are the controlled differences.

    All sides are regressed on the same controls. Least squares is linear, so that the difference of two adjusted means is the
    regression estimate of the difference (`control_variates` of b - a). What the controls leave is turned and stretched until
    Student's t of pairs, which knows nothing of the regression, has its standard errors: those of fitted values at the known means,
    with what these are uncertain by, on the degrees of freedom of the regression, and at the level of four fifths
    (`control_variates` says why).

    Parameters
    ----------
    y
        One number per trial and side: shape (n, sides).
    x, known_means, means_covariance, lists
        Controls of the trials, shape (n, k), and their means with the covariance of these, from `lists` lists at least.
    confidence
        In percent, of the intervals that follow.

    Raises
    ------
    StatisticsError
        As for `control_variates`; there are too few trials for the regression, or controls leave nothing that tells sides apart.
    """
    values = np.asarray(y, dtype=np.float64)
    as_percent(confidence, "confidence")
    n, sides = len(values), int(values.shape[1])
    kept = independent_controls(x)
    if not kept:
        raise StatisticsError("no control varies")
    if n < len(kept) + sides + 10:
        raise StatisticsError(
            f"{len(kept)} controls take at least {len(kept) + sides + 10} trials; there are {n}"
        )
    controls, means = as_controls(
        np.asarray(x, dtype=np.float64)[:, kept], np.asarray(known_means, dtype=np.float64)[kept], n
    )
    covariance = np.asarray(means_covariance, dtype=np.float64)[np.ix_(kept, kept)]
    known, design = Known(means, lists, covariance), Design.of(controls, means)
    along = design.left.T @ values
    rest = values - values.mean(axis=0) - design.left @ along
    on_axes = design.back.T @ covariance @ design.back
    noise = rest.T @ rest / (n - len(kept) - 1) * (1 / n + float(np.sum(design.away**2)))
    variance = noise + along.T @ on_axes @ along
    plain = np.atleast_2d(np.cov(values.T)) / n
    left, sizes, right = np.linalg.svd(rest, full_matrices=False)
    if float(sizes[-1]) <= _SINGULAR * max(float(sizes[0]), float(np.abs(values).max())):
        raise StatisticsError("the controls leave nothing that tells the sides apart")
    reach = reach_of(known.degrees_of_freedom(n), confidence)
    stretch = reach / float(special.stdtrit(n - 1, (1 + confidence / 100) / 2))
    root = _root(np.asarray(variance * n * (n - 1))) * stretch
    spread: Array = left @ right @ root
    squares = rest**2 / np.sum(rest**2, axis=0)
    return ControlledValues(
        np.asarray(values.mean(axis=0) - along.T @ design.away + spread),
        _of_differences(plain) / _of_differences(variance),
        float(squares.max()),
        tuple(kept),
    )


def _root(matrix: Array) -> Array:
    """Return the symmetric square root of a covariance."""
    sizes, axes = np.linalg.eigh(matrix)
    return np.asarray(axes * np.sqrt(np.maximum(sizes, 0.0)) @ axes.T)


def _of_differences(covariance: Array) -> Array:
    """Return the variance of the difference of each two sides, and of each side on the diagonal."""
    own = np.diag(covariance)
    found = own[:, None] + own[None, :] - 2 * covariance
    np.fill_diagonal(found, own)
    return np.asarray(found)
