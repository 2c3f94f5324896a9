"""The contribution of each trial to a statistic of all samples: one number per trial, for pairing, regression and comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent
from trialwise.statistics.estimates.quantiles import nearest_rank
from trialwise.statistics.pooled.clusters import ratio_standard_error
from trialwise.statistics.pooled.trial_samples import TrialSamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_REACH = float(special.ndtri(0.975))
"""Half-width, in standard errors of the share, over which the slope of the quantile function is estimated."""


def pooled_influence(trials: Sequence[ArrayLike], percentile: float | None = None) -> Array:
    """Return one number per trial with the mean or quantile of all samples as mean and its standard error as spread.

    Each is the statistic plus n times its linearisation in the trial: for the mean R = Σs/Σm, R + (s_i - R m_i)/m̄ (Cochran 1977,
    section 6.3); for the quantile Q, Q + q'(p) (c_i - c̄/m̄ m_i)/m̄ with c_i of the m_i samples above Q. The slope q'(p) of the
    quantile function is taken between the ends of Woodruff's interval of the share (Francisco and Fuller 1991), so that the standard
    error matches the width of that interval. Differences of such numbers from the same workloads have the variance of the difference
    of the statistics, covariance included.

    Parameters
    ----------
    trials
        Samples of each trial, two trials or more.
    percentile
        In percent, between 0 and 100, exclusive; None for the mean.

    Returns
    -------
    One number per trial, in the unit of the samples.

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
