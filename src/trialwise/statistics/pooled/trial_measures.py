"""One number for each of many trials at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.checks import Array
from trialwise.statistics.estimates.measures import Measure, as_measure, measured
from trialwise.statistics.estimates.quantiles import Convention, trial_quantiles
from trialwise.statistics.pooled.trial_samples import TrialSamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROWS = {"mean": np.mean, "min": np.min, "max": np.max}
_SAFE = 1e290
"""Below this, no sum of samples overflows (`overflow_scale`)."""


def trial_measures(
    trials: Sequence[ArrayLike], measure: Measure, convention: Convention = "nearest_rank"
) -> Array:
    """Compute the measure of each trial, bit-identical to `measure_of`, or to `trial_quantile` for its convention.

    Parameters
    ----------
    trials
        The samples of each trial, none of them empty.
    measure
        "mean", "median", "min", "max", or a percentile in percent.
    convention
        Of a quantile; see `trial_quantile`.

    Returns
    -------
    Shape (trials,), in the unit of the samples.

    Raises
    ------
    StatisticsError
        An empty trial, samples that are not finite, or an option out of range.
    """
    wanted = as_measure(measure)
    percentile = 50.0 if wanted == "median" else wanted
    if not isinstance(percentile, str):
        return trial_quantiles(trials, percentile, convention)
    samples = TrialSamples.of(trials).checked(minimum=1)
    if float(np.abs(samples.values).max(initial=0.0)) >= _SAFE:
        return np.array([measured(each, percentile) for each in samples])
    found = np.empty(len(samples))
    for places, rows in samples.by_size():
        found[places] = _ROWS[percentile](rows, axis=1)
    return found
