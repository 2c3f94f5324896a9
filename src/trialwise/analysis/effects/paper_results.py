"""Frozen records of the OML study's procedure, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.effects.results import CellMean, EffectsVerdict, PairDifference


@dataclass(frozen=True, slots=True)
class SeriesTurns:
    """The turning-point test of the samples of one trial; null below three samples and if all are equal."""

    levels: tuple[str, ...]
    trial: str
    n: int
    count: int | None
    expected: float | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class CellShapiro:
    """Shapiro and Wilk's test of the samples of one treatment; null below 3 and above 5000, and if all are equal."""

    levels: tuple[str, ...]
    n: int
    p_value: float


@dataclass(frozen=True, slots=True)
class PaperTerm:
    """A row of the paper's Table 3."""

    term: str
    factors: tuple[str, ...]
    df: float
    sum_sq: float
    mean_sq: float
    f: float
    p_value: float
    stars: str
    """Of the p-value: * at most 0.05, ** 0.01, *** 0.001."""
    reason: str


@dataclass(frozen=True, slots=True)
class PaperMetric:
    """One metric, in one part of the data, with samples as observations."""

    metric: str
    unit: str
    part: Mapping[str, str]
    factors: tuple[str, ...]
    n: int
    """Number of samples."""
    n_trials: int
    refusal: str
    cells: tuple[CellMean, ...]
    """Means of samples; their bounds treat samples as repetitions."""
    turns: tuple[SeriesTurns, ...]
    resampled: bool
    breusch_pagan: float
    """Breusch and Pagan's (1979) original form."""
    breusch_pagan_df: int
    breusch_pagan_p: float
    shapiro: tuple[CellShapiro, ...]
    normal: bool
    """True if no treatment's test rejects at 5 %: the analysis is then ordinary, else by permutation."""
    method: str
    permutations: int | None
    terms: tuple[PaperTerm, ...]
    residual_df: float
    residual_sum_sq: float
    residual_mean_sq: float
    pairs: tuple[PairDifference, ...]
    pairs_method: str
    verdict: EffectsVerdict | Literal["no inference"]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PaperEffects:
    """The procedure of the OML study (Mehani et al., section 3.1) on all metrics and parts."""

    format: str
    source: str
    method: str
    """Always paper."""
    confidence: float
    by: tuple[str, ...]
    verdict: EffectsVerdict
    worth: str
    """The value of an analysis of samples, or a note that trials are the observations."""
    warning: str
    """About resampling; empty if not requested."""
    results: tuple[PaperMetric, ...]
    notes: tuple[str, ...]
