"""The fluid surrogate as a control variate: the same metric of the same flow lists by a model without packets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.experiment.model import Metric

Array = npt.NDArray[np.float64]
NAME = "the metric of a fluid model of the same flows"


def surrogate_controls(metric: Metric, own: Sequence[Array], drawn: Sequence[Array]) -> tuple[Array, Array]:
    """One control for each trial, and for each of many drawn flow lists, whose mean is then known.

    Of a per-trial metric it is the metric of the surrogate's trial. Of a pooled one it is what the trial adds to the estimating
    equation at the surrogate's own value Q of all drawn lists: samples above Q less (1 - p) times all, or their sum less Q times
    their number.

    Parameters
    ----------
    own, drawn
        The surrogate's samples of each trial, and of each drawn flow list.

    Returns
    -------
    Shapes (trials,) and (lists,); of a per-trial metric lists without a sample are left out, as such trials are.
    """
    if metric.estimand == "per_trial":
        return _values(metric, own), _values(metric, [each for each in drawn if each.size])
    everything, percentile = np.concatenate(drawn), metric.percentile
    if percentile is None:
        mean = float(everything.mean())
        return _sums(own, mean), _sums(drawn, mean)
    quantile = st.trial_quantile(everything, percentile, "nearest_rank")
    return _exceedances(own, quantile, percentile), _exceedances(drawn, quantile, percentile)


def _values(metric: Metric, trials: Sequence[Array]) -> Array:
    return np.array([trial_value(metric, each) for each in trials])


def trial_value(metric: Metric, samples: Array) -> float:
    """The metric of one trial, by its convention."""
    if metric.percentile is None:
        return float(st.measure_of(samples, metric.measure))
    return float(st.trial_quantile(samples, metric.percentile, metric.convention))


def _sums(trials: Sequence[Array], mean: float) -> Array:
    return np.array([each.sum() - mean * each.size for each in trials])


def _exceedances(trials: Sequence[Array], quantile: float, percentile: float) -> Array:
    beyond = 1 - percentile / 100
    return np.array([np.count_nonzero(each > quantile) - beyond * each.size for each in trials])
