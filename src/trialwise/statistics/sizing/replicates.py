"""Blocks of trials that were sampled jointly, each block an independent replicate, and the gain from doing so."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def block_gain(values: ArrayLike, size: int) -> float:
    """Estimate the variance ratio of a mean of independent trials to one of jointly sampled blocks (randomised quasi-Monte Carlo).

    The variance of block means must come from independent replicates (Owen 1998; L'Ecuyer and Lemieux 2002). Each single trial has
    the distribution of an independent one, so block means of independent trials would have the mean variance within blocks over
    `size`. With b blocks the ratio varies like one of variances with b - 1 degrees of freedom.

    Parameters
    ----------
    values
        One number per trial, block by block.
    size
        Trials per block, two or more.

    Raises
    ------
    StatisticsError
        Fewer than two blocks, an incomplete block, or values that are not finite.
    """
    array = as_values(values)
    if size < 2 or array.size % size or array.size < 2 * size:
        raise StatisticsError(f"{array.size} trials are not two or more blocks of {size}")
    blocks = array.reshape(-1, size)
    between = float(blocks.mean(axis=1).var(ddof=1))
    return float(blocks.var(axis=1, ddof=1).mean()) / size / between if between else inf
