"""Frozen records of an analysis of effects, read by text, tables, figures and files for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.trial_set import Level
from trialwise.statistics import Verdict

EffectsVerdict = Literal["factors matter", "no factor matters", "undecided"]


@dataclass(frozen=True, slots=True)
class TermEffect:
    """A main effect or an interaction; numbers are null if `reason` says why there are none."""

    term: str
    factors: tuple[str, ...]
    df: float
    residual_df: float
    sum_sq: float
    mean_sq: float
    f: float
    p_value: float
    p_adjusted: float
    """Corrected over the family of all terms of all parts and metrics."""
    matters: bool
    """True if `p_adjusted` is at most 1 - confidence."""
    effect_size: float
    effect_low: float
    effect_high: float
    reason: str


@dataclass(frozen=True, slots=True)
class CellMean:
    """A treatment with its mean and the interval from its own spread; no bounds below two values."""

    levels: tuple[str, ...]
    n: int
    mean: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LevelEffect:
    """The effect of a factor at one level of each of the others that it interacts with."""

    factor: str
    at: Mapping[str, str]
    df: float
    residual_df: float
    f: float
    p_value: float
    p_adjusted: float
    """Corrected over the levels."""
    matters: bool
    effect_size: float
    effect_low: float
    effect_high: float
    n: int
    reason: str


@dataclass(frozen=True, slots=True)
class LevelComparison:
    """A level of a factor compared with its base: second minus first.

    At one level of each other factor (`at`), or averaged equally over them (`at` is empty). `percent` and its bounds are relative to
    the first mean; `more` is the number of further units on each side for a 90 % chance to decide, null if none up to 10,000
    suffices, and `more_seconds` their duration, null if unknown.
    """

    factor: str
    base: str
    level: str
    at: Mapping[str, str]
    n: tuple[int, int]
    means: tuple[float, float]
    difference: float
    low: float
    high: float
    percent: float
    percent_low: float
    percent_high: float
    shift: float
    """Hodges and Lehmann's estimate."""
    shift_low: float
    shift_high: float
    margin: float | None
    p_different: float
    p_equivalent: float | None
    p_adjusted: float | None
    """Of the likelier claim, over the family of all comparisons; null without inference."""
    verdict: Verdict | Literal["no inference"]
    more: int | None
    more_seconds: float | None
    paired: bool
    reason: str
    method: str
    """Of the interval and of both tests; empty without inference."""
    df: float
    """Degrees of freedom of the difference."""
    uneven: bool
    """True if treatments of a side have different numbers of values; `n` are then the smallest."""


@dataclass(frozen=True, slots=True)
class PairDifference:
    """Two treatments: b minus a, with bounds and a p-value corrected over all pairs of its metric and part."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    difference: float
    low: float
    high: float
    p_value: float
    n: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CellFacts:
    """Facts about the assumptions from the values of one treatment; null if there are too few, or all are equal."""

    levels: tuple[str, ...]
    n: int
    shapiro_p: float
    turning_points: int | None
    turning_expected: float | None
    turning_p: float | None


@dataclass(frozen=True, slots=True)
class AssumptionFacts:
    """Displayed, but never used to choose a method or to withhold a result."""

    cells: tuple[CellFacts, ...]
    breusch_pagan: float
    """Koenker's studentised statistic."""
    breusch_pagan_df: int
    breusch_pagan_p: float


@dataclass(frozen=True, slots=True)
class MetricEffects:
    """One metric, in one part of the data (all, or one level of each factor of `by`).

    If `refusal` is not empty, it says why there is no inference, and only `cells` are present. `level` is the level of inference:
    each of its units contributes one value for each treatment that it ran, the mean of its trials.
    """

    metric: str
    unit: str
    part: Mapping[str, str]
    factors: tuple[str, ...]
    level: Level
    n: int
    """Number of values."""
    n_trials: int
    refusal: str
    method: str
    effect: str
    permutations: int | None
    exact: bool
    residual_df: float
    residual_sum_sq: float
    residual_mean_sq: float
    terms: tuple[TermEffect, ...]
    cells: tuple[CellMean, ...]
    simple: tuple[LevelEffect, ...]
    simple_method: str
    comparisons: tuple[LevelComparison, ...]
    pairs: tuple[PairDifference, ...]
    """All pairs of treatments, if a term matters."""
    pairs_method: str
    assumptions: AssumptionFacts | None
    verdict: EffectsVerdict | Literal["no inference"]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EffectsAnalysis:
    """The factors that matter; `format` names this format and its version."""

    format: str
    source: str
    method: str
    confidence: float
    """In percent: of each interval, and of each family of tests."""
    margins: Mapping[str, str]
    """By metric, as given."""
    by: tuple[str, ...]
    base: Mapping[str, str]
    """The level of each factor that its others are compared with."""
    family: str
    """The family over which the terms are corrected."""
    comparison_family: str
    verdict: EffectsVerdict
    results: tuple[MetricEffects, ...]
    notes: tuple[str, ...]
