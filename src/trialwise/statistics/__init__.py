"""Statistics: pure functions, arrays in, frozen results out.

Each method of a paper is there as the paper has it (`method="paper"`); where a better one is known, it is the
default. Percentiles and confidences are in percent.
"""

from trialwise.statistics.carryover import CarryOver, CarryOverPair, LastingPair, carry_over
from trialwise.statistics.convergence import convergence
from trialwise.statistics.correlogram import Correlogram
from trialwise.statistics.independence import Independence, independence
from trialwise.statistics.kpi import Kpi, kpi
from trialwise.statistics.measures import measure_of
from trialwise.statistics.metric import TrialMetric, trial_metric
from trialwise.statistics.order import MedianInterval, OrderEffect, median_interval, order_effect
from trialwise.statistics.percentiles import CdfBand, PercentileInterval, cdf_band, percentile_interval
from trialwise.statistics.runtime import (
    PrefixCurve,
    RuntimeCombined,
    RuntimeNeeded,
    combine_pilots,
    runtime_needed,
)
from trialwise.statistics.seasonality import Period, Seasonality, recommended_span, seasonality
from trialwise.statistics.shift import Shift
from trialwise.statistics.sizing import samples_needed, series_needed
from trialwise.statistics.slopes import TheilSen, theil_sen
from trialwise.statistics.steadiness import Convergence
from trialwise.statistics.trends import Trend
from trialwise.statistics.variability import Variability, variability

__all__ = [
    "CarryOver",
    "CarryOverPair",
    "CdfBand",
    "Convergence",
    "Correlogram",
    "Independence",
    "Kpi",
    "LastingPair",
    "MedianInterval",
    "OrderEffect",
    "PercentileInterval",
    "Period",
    "PrefixCurve",
    "RuntimeCombined",
    "RuntimeNeeded",
    "Seasonality",
    "Shift",
    "TheilSen",
    "Trend",
    "TrialMetric",
    "Variability",
    "carry_over",
    "cdf_band",
    "combine_pilots",
    "convergence",
    "independence",
    "kpi",
    "measure_of",
    "median_interval",
    "order_effect",
    "percentile_interval",
    "recommended_span",
    "runtime_needed",
    "samples_needed",
    "seasonality",
    "series_needed",
    "theil_sen",
    "trial_metric",
    "variability",
]
