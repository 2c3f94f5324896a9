"""Statistics: what the package offers, and the module that each name comes from; `__init__.py` imports it with its first use."""

from trialwise.statistics.comparing.difference import (
    Difference,
    Summary,
    difference,
    difference_of_averages,
    difference_of_summaries,
)
from trialwise.statistics.comparing.difference_family import DifferenceFamily, FamilyMember, difference_family
from trialwise.statistics.comparing.equivalence import Equivalence, equivalence
from trialwise.statistics.comparing.equivalence_size import equivalence_size
from trialwise.statistics.comparing.fieller import Ratio
from trialwise.statistics.comparing.geometric import geometric_ratio
from trialwise.statistics.comparing.holm import Correction
from trialwise.statistics.comparing.paired import paired_difference, paired_ratio
from trialwise.statistics.comparing.pairing import PairingGain, pairing_gain
from trialwise.statistics.comparing.pareto import ParetoSet, pareto_set
from trialwise.statistics.comparing.posthoc import Posthoc, PosthocRow, posthoc
from trialwise.statistics.comparing.ranking import RankSets, rank_sets
from trialwise.statistics.comparing.relative_margin import RelativeMarginStop, relative_margin_stop
from trialwise.statistics.comparing.shift import Shift
from trialwise.statistics.comparing.summary_difference import (
    SummaryDifference,
    printed_difference,
    summary_difference,
)
from trialwise.statistics.comparing.verdict import Verdict
from trialwise.statistics.comparing.welch import WelchDifference
from trialwise.statistics.effects.anova import Anova, AnovaRow, anova
from trialwise.statistics.effects.components import (
    Component,
    LevelInterval,
    VarianceComponents,
    variance_components,
)
from trialwise.statistics.effects.factorial import Cell
from trialwise.statistics.effects.simple_effects import SimpleEffect, SimpleEffects, simple_effects
from trialwise.statistics.estimates.convergence import convergence
from trialwise.statistics.estimates.kpi import Kpi, kpi
from trialwise.statistics.estimates.mean_interval import MeanInterval, mean_interval, tail_note
from trialwise.statistics.estimates.measures import measure_of
from trialwise.statistics.estimates.metric import TrialMetric, trial_metric, trial_metric_values
from trialwise.statistics.estimates.percentiles import (
    CdfBand,
    PercentileInterval,
    cdf_band,
    percentile_interval,
)
from trialwise.statistics.estimates.quantiles import quantile_refusal, trial_quantile
from trialwise.statistics.estimates.variability import Variability, variability
from trialwise.statistics.order.carryover import CarryOver, CarryOverPair, LastingPair, carry_over
from trialwise.statistics.order.order import MedianInterval, OrderEffect, median_interval, order_effect
from trialwise.statistics.pooled.control_quantile import control_variates_quantile
from trialwise.statistics.pooled.control_variates import (
    ControlVariates,
    control_variates,
    independent_controls,
)
from trialwise.statistics.pooled.controlled_values import ControlledValues, controlled_values
from trialwise.statistics.pooled.influence import pooled_influence
from trialwise.statistics.pooled.levels import Level, LevelAllocation, LevelMeans, allocate
from trialwise.statistics.pooled.mean import PerTrialMean, per_trial_mean, pooled_mean
from trialwise.statistics.pooled.quantile import PooledEstimate, pooled_quantile
from trialwise.statistics.pooled.size_fits import FAMILIES, SizeFit, fit_sizes
from trialwise.statistics.pooled.time_slices import DependentSlicesError, SlicedEstimate, sliced_estimate
from trialwise.statistics.pooled.trial_measures import trial_measures
from trialwise.statistics.pooled.trial_samples import TrialSamples
from trialwise.statistics.resampling import RESAMPLING_FALSE_ALARMS, RESAMPLING_WARNING, resampled
from trialwise.statistics.sequential.batches import SequentialBatches
from trialwise.statistics.sequential.blocks import SequentialBlocks
from trialwise.statistics.sequential.confidence_sequences import (
    ConfidenceSequence,
    mean_confidence_sequence,
    median_confidence_sequence,
)
from trialwise.statistics.sequential.controlled import SequentialControlled
from trialwise.statistics.sequential.mean import SequentialMean, sequential_mean
from trialwise.statistics.sequential.pooled_mean import SequentialPooledMean, sequential_pooled_mean
from trialwise.statistics.sequential.quantile import SequentialQuantile, sequential_quantile
from trialwise.statistics.sequential.sampling import TrialForecast
from trialwise.statistics.sequential.states import SequentialState
from trialwise.statistics.sequential.two_stage import (
    TwoStageInterval,
    TwoStageSize,
    two_stage_interval,
    two_stage_size,
)
from trialwise.statistics.sequential.weighted import SequentialImportance, WeightedTrial
from trialwise.statistics.simulation.cross_entropy import (
    CrossEntropy,
    adaptive_cross_entropy,
    cross_entropy_search,
    cross_entropy_update,
)
from trialwise.statistics.simulation.defensive import DefensiveChoice, DefensiveMixture, defensive_choice
from trialwise.statistics.simulation.importance import (
    BatchedQuantile,
    ImportanceQuantile,
    WeightDiagnostics,
    batched_quantile,
    importance_quantile,
    variance_ratio,
    weighted_tail_quantile,
)
from trialwise.statistics.sizing.allocation import Allocation
from trialwise.statistics.sizing.common_periods import recommended_span
from trialwise.statistics.sizing.detectable import DetectableDifference, detectable_difference
from trialwise.statistics.sizing.replicates import block_gain
from trialwise.statistics.sizing.rounds import RoundsNeeded, rounds_needed
from trialwise.statistics.sizing.runtime import combine_pilots, runtime_needed
from trialwise.statistics.sizing.runtime_results import PrefixCurve, RuntimeCombined, RuntimeNeeded
from trialwise.statistics.sizing.sizing import samples_needed, series_needed
from trialwise.statistics.sizing.steady_state import Convergence
from trialwise.statistics.sizing.switching import (
    Cycle,
    LognormalTilt,
    Proposal,
    Simulate,
    SwitchingSampler,
    run_cycle,
)
from trialwise.statistics.tests.assumptions import Assumptions, BreuschPagan, CellNormality, assumptions
from trialwise.statistics.tests.change_points import (
    ChangePoint,
    ChangePoints,
    LinearDrift,
    change_points,
    values_needed,
)
from trialwise.statistics.tests.correlogram import Correlogram
from trialwise.statistics.tests.independence import Independence, independence
from trialwise.statistics.tests.proportions import Proportion, proportion
from trialwise.statistics.tests.slopes import TheilSen, theil_sen
from trialwise.statistics.tests.trends import Trend
from trialwise.statistics.tests.turning_points import TurningPoints, turning_points
from trialwise.statistics.time.seasonality import seasonality
from trialwise.statistics.time.seasonality_results import LevelDrift, LevelShift, Period, Seasonality

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
    "ChangePoint",
    "ChangePoints",
    "Component",
    "ConfidenceSequence",
    "ControlVariates",
    "ControlledValues",
    "Convergence",
    "Correction",
    "Correlogram",
    "CrossEntropy",
    "Cycle",
    "DefensiveChoice",
    "DefensiveMixture",
    "DependentSlicesError",
    "DetectableDifference",
    "Difference",
    "DifferenceFamily",
    "Equivalence",
    "FamilyMember",
    "ImportanceQuantile",
    "Independence",
    "Kpi",
    "LastingPair",
    "Level",
    "LevelAllocation",
    "LevelDrift",
    "LevelInterval",
    "LevelMeans",
    "LevelShift",
    "LinearDrift",
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
    "RoundsNeeded",
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
    "SlicedEstimate",
    "Summary",
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
    "allocate",
    "anova",
    "assumptions",
    "batched_quantile",
    "block_gain",
    "carry_over",
    "cdf_band",
    "change_points",
    "combine_pilots",
    "control_variates",
    "control_variates_quantile",
    "controlled_values",
    "convergence",
    "cross_entropy_search",
    "cross_entropy_update",
    "defensive_choice",
    "detectable_difference",
    "difference",
    "difference_family",
    "difference_of_averages",
    "difference_of_summaries",
    "equivalence",
    "equivalence_size",
    "fit_sizes",
    "geometric_ratio",
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
    "printed_difference",
    "proportion",
    "quantile_refusal",
    "rank_sets",
    "recommended_span",
    "relative_margin_stop",
    "resampled",
    "rounds_needed",
    "run_cycle",
    "runtime_needed",
    "samples_needed",
    "seasonality",
    "sequential_mean",
    "sequential_pooled_mean",
    "sequential_quantile",
    "series_needed",
    "simple_effects",
    "sliced_estimate",
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
    "values_needed",
    "variability",
    "variance_components",
    "variance_ratio",
    "weighted_tail_quantile",
]
