"""Blocks of trials that were drawn together, each block a sample of its own: what drawing them so was worth."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def block_gain(values: ArrayLike, size: int) -> float:
    """Variance of a mean of independent trials over that of blocks of as many trials drawn together (randomised quasi-Monte Carlo).

    The variance of block means has to be what independent replicates say (Owen 1998; L'Ecuyer and Lemieux 2002). Each trial by
    itself is drawn as an independent one would be, so that the mean variance within blocks over `size` is what block means of
    independent trials would have. Of b blocks the ratio varies as that of variances of b - 1 degrees of freedom.

    Parameters
    ----------
    values
        One number for each trial, block after block.
    size
        Trials of a block, two or more.

    Raises
    ------
    StatisticsError
        Fewer than two blocks, no whole ones, or values that are not finite.
    """
    array = as_values(values)
    if size < 2 or array.size % size or array.size < 2 * size:
        raise StatisticsError(f"{array.size} trials are not two or more blocks of {size}")
    blocks = array.reshape(-1, size)
    between = float(blocks.mean(axis=1).var(ddof=1))
    return float(blocks.var(axis=1, ddof=1).mean()) / size / between if between else inf
