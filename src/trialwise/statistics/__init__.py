"""Statistics: pure functions, arrays in, frozen results out.

Each method of a paper is there as the paper has it (`method="paper"`); where a better one is known, it is the
default. Percentiles and confidences are in percent.
"""

from trialwise.statistics.allocation import Allocation
from trialwise.statistics.anova import Anova, AnovaRow, anova
from trialwise.statistics.assumptions import Assumptions, BreuschPagan, CellNormality, assumptions
from trialwise.statistics.carryover import CarryOver, CarryOverPair, LastingPair, carry_over
from trialwise.statistics.components import Component, LevelInterval, VarianceComponents, variance_components
from trialwise.statistics.confidence_sequences import (
    ConfidenceSequence,
    mean_confidence_sequence,
    median_confidence_sequence,
)
from trialwise.statistics.control_quantile import control_variates_quantile
from trialwise.statistics.control_variates import ControlVariates, control_variates, independent_controls
from trialwise.statistics.convergence import convergence
from trialwise.statistics.correlogram import Correlogram
from trialwise.statistics.cross_entropy import (
    CrossEntropy,
    adaptive_cross_entropy,
    cross_entropy_search,
    cross_entropy_update,
)
from trialwise.statistics.defensive import DefensiveChoice, DefensiveMixture, defensive_choice
from trialwise.statistics.detectable import DetectableDifference, detectable_difference
from trialwise.statistics.difference import Difference, difference, difference_of_averages
from trialwise.statistics.difference_family import DifferenceFamily, FamilyMember, difference_family
from trialwise.statistics.equivalence import Equivalence, equivalence
from trialwise.statistics.equivalence_size import equivalence_size
from trialwise.statistics.factorial import Cell
from trialwise.statistics.fieller import Ratio
from trialwise.statistics.importance import (
    BatchedQuantile,
    ImportanceQuantile,
    WeightDiagnostics,
    batched_quantile,
    importance_quantile,
    variance_ratio,
    weighted_tail_quantile,
)
from trialwise.statistics.independence import Independence, independence
from trialwise.statistics.kpi import Kpi, kpi
from trialwise.statistics.looking import TrialForecast
from trialwise.statistics.mean_interval import MeanInterval, mean_interval, tail_note
from trialwise.statistics.measures import measure_of
from trialwise.statistics.metric import TrialMetric, trial_metric, trial_metric_values
from trialwise.statistics.order import MedianInterval, OrderEffect, median_interval, order_effect
from trialwise.statistics.paired import paired_difference, paired_ratio
from trialwise.statistics.pairing import PairingGain, pairing_gain
from trialwise.statistics.pareto import ParetoSet, pareto_set
from trialwise.statistics.percentiles import CdfBand, PercentileInterval, cdf_band, percentile_interval
from trialwise.statistics.pooled_influence import pooled_influence
from trialwise.statistics.pooled_mean import PerTrialMean, per_trial_mean, pooled_mean
from trialwise.statistics.pooled_quantile import PooledEstimate, pooled_quantile
from trialwise.statistics.posthoc import Posthoc, PosthocRow, posthoc
from trialwise.statistics.proportions import Proportion, proportion
from trialwise.statistics.quantiles import quantile_refusal, trial_quantile
from trialwise.statistics.ranking import RankSets, rank_sets
from trialwise.statistics.relative_margin import RelativeMarginStop, relative_margin_stop
from trialwise.statistics.replicates import block_gain
from trialwise.statistics.resampling import RESAMPLING_FALSE_ALARMS, RESAMPLING_WARNING, resampled
from trialwise.statistics.runtime import combine_pilots, runtime_needed
from trialwise.statistics.runtime_results import PrefixCurve, RuntimeCombined, RuntimeNeeded
from trialwise.statistics.seasonality import seasonality
from trialwise.statistics.seasonality_results import LevelDrift, LevelShift, Period, Seasonality
from trialwise.statistics.sequential import SequentialState
from trialwise.statistics.sequential_batches import SequentialBatches
from trialwise.statistics.sequential_blocks import SequentialBlocks
from trialwise.statistics.sequential_controlled import SequentialControlled
from trialwise.statistics.sequential_importance import SequentialImportance, WeightedTrial
from trialwise.statistics.sequential_mean import SequentialMean, sequential_mean
from trialwise.statistics.sequential_pooled_mean import SequentialPooledMean, sequential_pooled_mean
from trialwise.statistics.sequential_quantile import SequentialQuantile, sequential_quantile
from trialwise.statistics.shift import Shift
from trialwise.statistics.simple_effects import SimpleEffect, SimpleEffects, simple_effects
from trialwise.statistics.size_fits import FAMILIES, SizeFit, fit_sizes
from trialwise.statistics.sizing import samples_needed, series_needed
from trialwise.statistics.slopes import TheilSen, theil_sen
from trialwise.statistics.spans import recommended_span
from trialwise.statistics.steadiness import Convergence
from trialwise.statistics.summary_difference import SummaryDifference, summary_difference
from trialwise.statistics.switching import (
    Cycle,
    LognormalTilt,
    Proposal,
    Simulate,
    SwitchingSampler,
    run_cycle,
)
from trialwise.statistics.trends import Trend
from trialwise.statistics.trial_measures import trial_measures
from trialwise.statistics.trial_samples import TrialSamples
from trialwise.statistics.turning_points import TurningPoints, turning_points
from trialwise.statistics.two_stage import TwoStageInterval, TwoStageSize, two_stage_interval, two_stage_size
from trialwise.statistics.variability import Variability, variability
from trialwise.statistics.verdicts import Verdict
from trialwise.statistics.welch import WelchDifference

__all__ = [
    "FAMILIES",
    "RESAMPLING_FALSE_ALARMS",
    "RESAMPLING_WARNING",
    "Allocation",
    "Anova",
    "AnovaRow",
    "Assumptions",
    "BatchedQuantile",
    "BreuschPagan",
    "CarryOver",
    "CarryOverPair",
    "CdfBand",
    "Cell",
    "CellNormality",
    "Component",
    "ConfidenceSequence",
    "ControlVariates",
    "Convergence",
    "Correlogram",
    "CrossEntropy",
    "Cycle",
    "DefensiveChoice",
    "DefensiveMixture",
    "DetectableDifference",
    "Difference",
    "DifferenceFamily",
    "Equivalence",
    "FamilyMember",
    "ImportanceQuantile",
    "Independence",
    "Kpi",
    "LastingPair",
    "LevelDrift",
    "LevelInterval",
    "LevelShift",
    "LognormalTilt",
    "MeanInterval",
    "MedianInterval",
    "OrderEffect",
    "PairingGain",
    "ParetoSet",
    "PerTrialMean",
    "PercentileInterval",
    "Period",
    "PooledEstimate",
    "Posthoc",
    "PosthocRow",
    "PrefixCurve",
    "Proportion",
    "Proposal",
    "RankSets",
    "Ratio",
    "RelativeMarginStop",
    "RuntimeCombined",
    "RuntimeNeeded",
    "Seasonality",
    "SequentialBatches",
    "SequentialBlocks",
    "SequentialControlled",
    "SequentialImportance",
    "SequentialMean",
    "SequentialPooledMean",
    "SequentialQuantile",
    "SequentialState",
    "Shift",
    "SimpleEffect",
    "SimpleEffects",
    "Simulate",
    "SizeFit",
    "SummaryDifference",
    "SwitchingSampler",
    "TheilSen",
    "Trend",
    "TrialForecast",
    "TrialMetric",
    "TrialSamples",
    "TurningPoints",
    "TwoStageInterval",
    "TwoStageSize",
    "Variability",
    "VarianceComponents",
    "Verdict",
    "WeightDiagnostics",
    "WeightedTrial",
    "WelchDifference",
    "adaptive_cross_entropy",
    "anova",
    "assumptions",
    "batched_quantile",
    "block_gain",
    "carry_over",
    "cdf_band",
    "combine_pilots",
    "control_variates",
    "control_variates_quantile",
    "convergence",
    "cross_entropy_search",
    "cross_entropy_update",
    "defensive_choice",
    "detectable_difference",
    "difference",
    "difference_family",
    "difference_of_averages",
    "equivalence",
    "equivalence_size",
    "fit_sizes",
    "importance_quantile",
    "independence",
    "independent_controls",
    "kpi",
    "mean_confidence_sequence",
    "mean_interval",
    "measure_of",
    "median_confidence_sequence",
    "median_interval",
    "order_effect",
    "paired_difference",
    "paired_ratio",
    "pairing_gain",
    "pareto_set",
    "per_trial_mean",
    "percentile_interval",
    "pooled_influence",
    "pooled_mean",
    "pooled_quantile",
    "posthoc",
    "proportion",
    "quantile_refusal",
    "rank_sets",
    "recommended_span",
    "relative_margin_stop",
    "resampled",
    "run_cycle",
    "runtime_needed",
    "samples_needed",
    "seasonality",
    "sequential_mean",
    "sequential_pooled_mean",
    "sequential_quantile",
    "series_needed",
    "simple_effects",
    "summary_difference",
    "tail_note",
    "theil_sen",
    "trial_measures",
    "trial_metric",
    "trial_metric_values",
    "trial_quantile",
    "turning_points",
    "two_stage_interval",
    "two_stage_size",
    "variability",
    "variance_components",
    "variance_ratio",
    "weighted_tail_quantile",
]
