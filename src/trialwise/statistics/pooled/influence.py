"""What each trial contributes to a statistic of all samples: one number a trial, to be paired, regressed and compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from trialwise.statistics.checks import Array, as_percent
from trialwise.statistics.estimates.quantiles import nearest_rank
from trialwise.statistics.pooled.clusters import ratio_standard_error
from trialwise.statistics.pooled.trial_samples import TrialSamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_REACH = float(ndtri(0.975))
"""Standard errors of the share on either side of the quantile, over which the slope of the quantile is taken."""


def pooled_influence(trials: Sequence[ArrayLike], percentile: float | None = None) -> Array:
    """One number for each trial whose mean is the mean, or a quantile, of all samples, and whose spread is its standard error.

    The statistic plus n times its linearisation in each trial: of the mean R = Σs/Σm, R + (s_i - R m_i)/m̄ (Cochran 1977, section
    6.3); of the quantile Q, Q + q'(p) (c_i - c̄/m̄ m_i)/m̄ with c_i of the m_i samples above Q. The slope q'(p) of the quantile
    function is that between the ends of Woodruff's interval of the share (Francisco and Fuller 1991), so that the standard error
    is that of an interval of that width. Differences of such numbers from the same workloads have the variance of the difference
    of the statistics, covariance and all.

    Parameters
    ----------
    trials
        Samples of each trial, two trials or more.
    percentile
        In percent, 0 to 100, both excluded; None for the mean.

    Returns
    -------
    One number for each trial, in the unit of the samples.

    Raises
    ------
    StatisticsError
        As for `pooled_quantile`.
    """
    clusters = TrialSamples.of(trials).clusters
    size = float(clusters.sizes.mean())
    if percentile is None:
        sums = clusters.sums()
        mean = float(sums.sum() / clusters.sizes.sum())
        return mean + (sums - mean * clusters.sizes) / size
    p, count = as_percent(percentile, "percentile"), clusters.ordered.size
    rank = nearest_rank(count, p)
    above = clusters.above(rank)
    error = max(ratio_standard_error(above, clusters.sizes), 1 / count)
    low, high = (min(max(float(p) + way * _REACH * error, 1 / count), 1.0) for way in (-1, 1))
    ends = [clusters.ordered[int(np.ceil(share * count)) - 1] for share in (low, high)]
    slope = float(ends[1] - ends[0]) / (high - low) if high > low else 0.0
    share = float(above.sum() / clusters.sizes.sum())
    return float(clusters.ordered[rank - 1]) + slope * (above - share * clusters.sizes) / size
