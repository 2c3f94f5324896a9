"""Welch's one-sided tests of all pairs of treatment means at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, as_values, one_of
from trialwise.statistics.comparing.welch import least_p_value, least_paired_p_value
from trialwise.statistics.estimates.moments import Moments, pair_differences, shared_variance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

_EVEN = 0.5
Direction: TypeAlias = Literal["higher", "lower"]


def as_direction(better: str) -> int:
    """Return 1 if higher is better, -1 if lower is.

    Raises
    ------
    StatisticsError
        The direction is neither "higher" nor "lower".
    """
    return 1 if one_of(better, "better", ("higher", "lower")) == "higher" else -1


def as_groups(groups: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Check the values of each group.

    Raises
    ------
    StatisticsError
        There are no groups, or one has fewer than two values or values that are not finite.
    """
    if not groups:
        raise StatisticsError("there are no groups; expected at least one")
    return {name: as_values(values, f"the group {name!r}", minimum=2) for name, values in groups.items()}


def better_p_values(groups: Sequence[Array], sign: int) -> Array:
    """Compute one-sided p-values of "the mean of row i is better than that of column j" (Welch 1947).

    If neither of two groups varies, only ranks remain: the p-value is that of complete separation by Mann and Whitney's U, as in
    `difference`.
    """
    scale = max(float(np.abs(values).max()) for values in groups) or 1.0
    scaled = [values / scale for values in groups]
    means = sign * np.array([values.mean() for values in scaled])
    # The mean of equal numbers may differ from them by rounding; their variance must still be 0.
    squares = np.array([values.var(ddof=1) / values.size if np.ptp(values) else 0.0 for values in scaled])
    sizes = [values.size for values in scaled]
    own = np.repeat(squares[:, None], len(sizes), axis=1)
    for row, column, variance in _shared(scaled):
        own[row, column], own[column, row] = variance / sizes[row], variance / sizes[column]
    variance = own + own.T
    lower_df = own**2 / (np.array(sizes) - 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (means[:, None] - means) / np.sqrt(variance)
        df = variance**2 / (lower_df + lower_df.T)
    p_values = np.asarray(special.stdtr(df, -t), dtype=np.float64)
    least = np.array([[least_p_value(row, column) for column in sizes] for row in sizes])
    firsts = sign * np.array([values[0] for values in scaled])
    separated = np.where(firsts[:, None] > firsts, least, 1.0)
    p_values = np.where(variance > 0, p_values, separated)
    np.fill_diagonal(p_values, 1.0)
    return p_values


def _shared(groups: Sequence[Array]) -> Iterator[tuple[int, int, float]]:
    """Yield each pair whose smaller group is one repeated number that also occurs in the other, with their pooled variance."""
    moments = [Moments.of(values) for values in groups]
    constant = [at for at, one in enumerate(moments) if not one.variance]
    for row in constant:
        for column, other in enumerate(moments):
            variance = shared_variance(moments[row], other, groups[row], groups[column])
            if variance is not None:
                yield row, column, variance


def paired_p_values(groups: Sequence[Array], sign: int) -> Array:
    """Compute `better_p_values` by Student's t of the differences of values at the same index (Student 1908).

    If all differences of two groups are equal, only their signs remain: the p-value is that of the sign test.

    Raises
    ------
    StatisticsError
        The groups have different lengths.
    """
    sizes = sorted({values.size for values in groups})
    if len(sizes) > 1:
        raise StatisticsError(
            f"paired groups have {sizes[0]} to {sizes[-1]} values; every unit takes one of each group"
        )
    scale = max(float(np.abs(values).max()) for values in groups) or 1.0
    stacked = sign * np.array(groups) / scale
    t = np.full((len(groups), len(groups)), -np.inf)
    for row, column in zip(*np.triu_indices(len(groups), k=1), strict=True):
        differences = pair_differences(stacked[row], stacked[column])
        if np.ptp(differences):
            t[row, column] = differences.mean() / (differences.std(ddof=1) / sizes[0] ** 0.5)
            t[column, row] = -t[row, column]
        elif differences[0]:
            better = (row, column) if differences[0] > 0 else (column, row)
            t[better] = -special.stdtrit(sizes[0] - 1, least_paired_p_value(sizes[0]))
    return np.asarray(special.stdtr(sizes[0] - 1, -t), dtype=np.float64)


def better_at(p_values: Array, alpha: float) -> NDArray[np.bool_]:
    """Return which row is better than which column at a level, but only if its mean is better, however high the level."""
    return (p_values <= alpha) & (p_values < _EVEN)


def without_variance(groups: Mapping[str, Array]) -> str:
    """Name the groups without variance, and say how they are compared."""
    constant = [name for name, values in groups.items() if not np.ptp(values)]
    if len(constant) < 2:
        return ""
    return (
        f"{', '.join(constant)} do not vary: they are told from each other by ranks (Mann and Whitney) alone"
    )
