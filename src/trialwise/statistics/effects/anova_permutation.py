"""Permutation distributions of the F statistics of a factorial design."""

from __future__ import annotations

from math import lgamma, log
from typing import TYPE_CHECKING

import numpy as np

from trialwise import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialwise.statistics.checks import Array
    from trialwise.statistics.effects.factorial import Fitted, Model, Trials


def arrangements(counts: Sequence[int], most: int) -> int | None:
    """Return the number of ways to assign trials to cells of these sizes, N! / (n₁! n₂! …); None above `most`."""
    if lgamma(sum(counts) + 1) - sum(lgamma(count + 1) for count in counts) > log(most) + 1:
        return None
    ways, placed = 1, 0
    for count in counts:
        for one in range(1, count + 1):
            placed += 1
            ways = ways * placed // one
    return ways if ways <= most else None


def permutation_p_values(
    trials: Trials, model: Model, *, residuals: bool, permutations: int, seed: int
) -> tuple[list[float], int, bool]:
    """Return the p-value of each fitted term, the number of arrangements, and whether these are all of them.

    The arrangements are of the raw responses or, with `residuals`, for each term of the residuals of the model without it (Freedman
    and Lane 1983; adding its fitted values back would change neither sum of squares of the F). The observed arrangement is counted.
    """
    filled = trials.counts > 0
    sizes: list[int] = trials.counts[filled].tolist()
    roots = np.sqrt(np.array(sizes, dtype=np.float64))
    columns = (
        [_reduced(trials, one, model.whole, roots) for one in model.fitted] if residuals else [trials.values]
    )
    every = arrangements(sizes, permutations) is not None
    found, total = _core.term_exceedances(
        np.column_stack([_scaled(one) for one in columns]),
        sizes,
        np.ascontiguousarray((_complement(model.whole) / roots[:, None]).T),
        [np.ascontiguousarray((one.basis / roots[:, None]).T) for one in model.fitted],
        list(range(len(model.fitted))) if residuals else [0] * len(model.fitted),
        shuffles=None if every else permutations,
        seed=seed,
    )
    drawn = 0 if every else 1
    return [(one + drawn) / (total + drawn) for one in found], total, every


def _reduced(trials: Trials, term: Fitted, whole: Array, roots: Array) -> Array:
    """Return the residuals of the model without the term."""
    filled = trials.counts > 0
    weighted = trials.means()[filled] * roots
    expected = whole @ (whole.T @ weighted) - term.basis @ (term.basis.T @ weighted)
    return trials.values - np.repeat(expected / roots, trials.counts[filled])


def _scaled(values: Array) -> Array:
    """Centre and scale to at most 1; F is invariant to location and scale."""
    centred = values - values.mean()
    largest = float(np.abs(centred).max())
    return centred / largest if largest else centred


def _complement(directions: Array) -> Array:
    """Return an orthonormal basis of the orthogonal complement."""
    cells, count = directions.shape
    if cells == count:
        return directions[:, :0]
    return np.linalg.qr(directions, mode="complete")[0][:, count:]
