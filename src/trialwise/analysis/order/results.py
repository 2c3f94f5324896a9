"""Frozen records of an analysis of order, read by the terminal, JSON, figures and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise import statistics as st
from trialwise.experiment.model import Better, Method

Correction = Literal["holm", "bonferroni", "none"]
Change = Literal["location", "distribution", "small", "same", "open", "untested"]
Outcome = Literal["same winner", "no winner", "another winner", "winner in one order only", "untested"]
Verdict = Literal["order matters", "order does not matter", "undecided"]


@dataclass(frozen=True, slots=True)
class TreatmentOrder:
    """The effect of order on one treatment.

    `change`: "location" and "distribution" (spread or shape) passed the corrected test; "small" passed it, but its shift lies within
    the margin; "same" lies within the margin (never in the paper's method); "open" is neither; "untested" has too few values.
    p-values are None without a test; those of both tests (one in the paper's method) are corrected together, over all treatments of
    the family. Differences in percent are relative to the fixed mean or median. `alpha_corrected` is the level divided by the number
    of tests of the family (Bonferroni); `further_rounds` of each order would settle an open treatment with a probability of 90 %.
    Cases: by the paper's text, and strictly by its Algorithm 2.
    """

    metric: str
    group: str | None
    treatment: str
    family: str
    n_fixed: int
    n_random: int
    change: Change
    h: float | None
    p_value: float | None
    p_corrected: float | None
    alpha_corrected: float
    significant: bool
    eta_squared: float | None
    epsilon_squared: float | None
    percent_difference: float | None
    shift: st.Shift | None
    shift_percent: float | None
    shift_percent_low: float | None
    shift_percent_high: float | None
    p_distribution: float | None
    p_distribution_corrected: float | None
    spread_ratio: float | None
    fixed: st.MedianInterval | None
    random: st.MedianInterval | None
    case: int | None
    case_strict: int | None
    shapiro_fixed: float | None
    shapiro_random: float | None
    further_rounds: int | None


@dataclass(frozen=True, slots=True)
class PairConclusion:
    """The comparison of two treatments under both orders: the winner by non-overlapping intervals of medians.

    `better` says which median wins.
    """

    metric: str
    group: str | None
    first: str
    second: str
    better: Better
    fixed_winner: str | None
    random_winner: str | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class PairEffect:
    """A treatment that runs differently immediately after a predecessor; bounds and p-value hold for all pairs jointly."""

    treatment: str
    predecessor: str
    effect: float
    low: float
    high: float
    percent: float | None
    percent_low: float | None
    percent_high: float | None
    p_value: float
    n: int


@dataclass(frozen=True, slots=True)
class LastingEffect:
    """A treatment that runs differently once another one has run in the round, whatever ran between.

    Bounds and p-value hold for all pairs of both kinds jointly. `alike` are others that the order confounds with `earlier`;
    `explains` are predecessors that are significant alone, but not given this effect.
    """

    treatment: str
    earlier: str
    effect: float
    low: float
    high: float
    percent: float | None
    percent_low: float | None
    percent_high: float | None
    p_value: float
    n_before: int
    n_after: int
    alike: tuple[str, ...]
    explains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Effects of all pairs: a row for each treatment, a column for each predecessor; None if a pair has none.

    `counts` are the trials of the treatment immediately after the predecessor, 0 if there are none.
    """

    treatments: tuple[str, ...]
    percent: tuple[tuple[float | None, ...], ...]
    p_values: tuple[tuple[float | None, ...], ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class GroupCarryOver:
    """Carry-over, position and drift of one metric in one group; `matrix` is None for more than 40 treatments.

    `pairs` are of a treatment and its immediate predecessor, `lasting` of a treatment and one that ran anywhere earlier in the
    round. `not_excluded` is the largest effect that the intervals of pairs do not exclude, in percent, None if none is tested;
    without any effect, `further_rounds` would bring all of them within the margin with a probability of 90 %.
    """

    metric: str
    group: str | None
    n: int
    n_pairs: int
    tested: int
    pairs: tuple[PairEffect, ...]
    tested_lasting: int
    lasting: tuple[LastingEffect, ...]
    matrix: Matrix | None
    position: st.Trend
    drift: st.Trend
    first: st.Trend
    not_excluded: float | None
    further_rounds: int | None
    confidence: float
    method: str
    note: str


@dataclass(frozen=True, slots=True)
class WorkerDifference:
    """A worker that differs from the others: in its `level`, or in the effect of `order` there (percent; corrected p)."""

    metric: str
    group: str | None
    worker: str
    treatment: str
    what: Literal["level", "order"]
    percent: float | None
    p_corrected: float


@dataclass(frozen=True, slots=True)
class WorkerSpread:
    """The number of workers on which a treatment affected by order changes in the same direction."""

    metric: str
    group: str | None
    treatment: str
    workers: int
    alike: int


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in the data; `line` is the line of the file, None if a row is missing."""

    line: int | None
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class OrderAnalysis:
    """The effect of the order of trials on results, as `trialwise order --json` prints it.

    `alpha` is the level of each family as a share, `confidence` and `margin` are in percent. `problems` holds at most a hundred of
    `n_problems`.
    """

    format: Literal["trialwise.order/1"]
    source: str
    method: Method
    correction: Correction
    alpha: float
    confidence: float
    margin: float
    n_trials: int
    rounds_fixed: int
    rounds_random: int
    workers: tuple[str, ...]
    verdict: Verdict
    treatments: tuple[TreatmentOrder, ...]
    conclusions: tuple[PairConclusion, ...]
    carry_over: tuple[GroupCarryOver, ...]
    worker_spread: tuple[WorkerSpread, ...]
    worker_differences: tuple[WorkerDifference, ...]
    problems: tuple[Problem, ...]
    n_problems: int
    notes: tuple[str, ...]
    blocked: bool
    """Fixed and random rounds did not take turns."""
    unvaried: bool
    """No treatment changed its position in rounds that are not fixed."""
