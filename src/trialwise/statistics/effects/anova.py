"""Analysis of variance of a factorial design: which factors and interactions matter."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import as_percent, one_of
from trialwise.statistics.effects.anova_permutation import permutation_p_values
from trialwise.statistics.effects.effect_sizes import EFFECT, EffectSize, partial_omega_squared
from trialwise.statistics.effects.factorial import (
    Cell,
    Fitted,
    Interactions,
    Model,
    Term,
    Trials,
    all_terms,
    fit,
    read_trials,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialwise.statistics.checks import Array
    from trialwise.statistics.frames import Table

AnovaMethod: TypeAlias = Literal["welch", "freedman_lane", "ordinary", "raw_permutation"]
METHODS: dict[str, str] = {
    "welch": "ANOVA-type statistic of Brunner, Dette and Munk (1997), separate variances for each treatment",
    "ordinary": "least squares, Type III sums of squares",
    "freedman_lane": "Type III F, permuting the residuals of the model without the term (Freedman and Lane 1983)",
    "raw_permutation": "Type III F, permuting the responses (Anderson 2001)",
}
DEFAULT_PERMUTATIONS = 9999
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class AnovaRow:
    """One main effect or interaction."""

    term: str
    """Its factors, joined by ":"."""
    factors: tuple[str, ...]
    df: float
    """Numerator degrees of freedom; for "welch" Box's approximation, fractional if the term has more than one."""
    residual_df: float
    """Denominator degrees of freedom."""
    sum_sq: float
    """Type III: what the term explains, adjusted for all others."""
    mean_sq: float
    """`sum_sq` per contrast of the term."""
    f: float
    """`mean_sq` over the residual mean square; for "welch" the ANOVA-type statistic."""
    p_value: float
    effect_size: float
    """Partial ω²; for "welch" from its F and degrees of freedom."""
    effect_low: float
    """Bounds from the noncentral F distribution, which assumes normal residuals whatever the method."""
    effect_high: float
    reason: str
    """Why the term has no numbers (they are NaN), and the remedy; empty otherwise."""
    partial: str = ""
    """For an interaction with empty cells, the cells and how many of its contrasts are tested."""


@dataclass(frozen=True, slots=True)
class Anova:
    """Tests of which factors of an experiment matter."""

    rows: tuple[AnovaRow, ...]
    """Main effects first, then two-factor interactions, and so on."""
    residual_df: float
    """Trials minus the rank of the model."""
    residual_sum_sq: float
    residual_mean_sq: float
    """NaN if no degrees of freedom are left."""
    cells: tuple[Cell, ...]
    """Every treatment of the full grid, including those without trials."""
    response: str
    factors: tuple[str, ...]
    n: int
    """Number of trials."""
    confidence: float
    """Of the effect sizes' intervals, in percent."""
    effect: str
    """Name of the effect size."""
    method: str
    permutations: int | None
    """Number of arrangements behind the p-values, without the observed one if they are drawn; None without permutation."""
    exact: bool
    """True if these are all distinct arrangements."""

    def row(self, term: str) -> AnovaRow:
        """Return the row of a term; its factors may be named in any order.

        Raises
        ------
        KeyError
            The term does not exist.
        """
        wanted = set(term.split(":"))
        for one in self.rows:
            if set(one.factors) == wanted:
                return one
        raise KeyError(term)


def anova(
    table: Table,
    response: str,
    factors: Sequence[str] | str,
    *,
    method: AnovaMethod = "welch",
    permutations: int = DEFAULT_PERMUTATIONS,
    seed: int = 0,
    interactions: Interactions = "all",
    confidence: float = 95,
) -> Anova:
    """Test every main effect and interaction of one to four factors.

    Parameters
    ----------
    table
        A mapping of columns, a pandas or a polars frame with one row per trial: one number per trial, never one per sample within
        it.
    response, factors
        Column names. Levels may be of any plain type.
    method
        "welch": the ANOVA-type statistic of Brunner, Dette and Munk (1997), F = N/tr(M V) with N = x̄ᵀM x̄, x̄ the cell means, V =
        diag(s²/n) and M the projection on the term's contrasts; F has tr(M V)²/tr(M V M V) and tr(M V)²/Σ m²v²/(n - 1) degrees of
        freedom (Box 1954). Treatments may have unequal variances. "ordinary": least squares, Type III sums of squares (sum coding),
        F distribution. "freedman_lane" and "raw_permutation": the same F with its permutation distribution, from residuals of the
        model without the term (Freedman and Lane 1983) or from the responses (Anderson 2001, PERMANOVA of one response).
    permutations
        Arrangements to draw. All distinct ones are used if there are no more than this; the p-value includes the observed one.
    seed
        Of SplitMix64; the result depends on nothing else, not even the number of threads.
    interactions
        Highest order of interactions: "all", or 1 for main effects only.
    confidence
        Of the intervals of effect sizes, in percent.

    Empty cells: if the levels of an interaction were not all combined, its estimable contrasts are tested, as the last term of R's
    `anova(lm(…))` of the full model, and its row names the empty cells. Terms that it contains are tested adjusted for the terms
    that do not contain them (Type II), with the full model's residuals.

    Raises
    ------
    StatisticsError
        A column is missing or has entries other than the trials' numbers and levels, a factor has one level, all responses are
        equal, or too few trials are repeated: "welch" needs two of each treatment, the others two of some treatment unless
        interactions are omitted.
    """
    one_of(method, "method", tuple(METHODS))
    _check_draws(permutations, seed)
    share = float(as_percent(confidence, "confidence"))
    trials = read_trials(table, response, factors)
    terms = all_terms(len(trials.factors), interactions)
    model = fit(trials, terms, trials.counts.astype(np.float64))
    squares = _Squares(trials, model)
    _check_repeats(trials, squares, method)
    exact, count = False, None
    if method == "welch":
        tests = _welch(trials, terms)
    else:
        tests = squares.tests()
        if method != "ordinary":
            p_values, count, exact = permutation_p_values(
                trials,
                model,
                residuals=method == "freedman_lane",
                permutations=int(permutations),
                seed=int(seed),
            )
            tests = {
                one.term: tests[one.term].with_p_value(p_value)
                for one, p_value in zip(model.fitted, p_values, strict=True)
            }
    return Anova(
        rows=tuple(_row(trials, term, squares, tests.get(term), model, share) for term in terms),
        residual_df=squares.residual_df,
        residual_sum_sq=squares.residual,
        residual_mean_sq=squares.mean_square,
        cells=trials.cells,
        response=response,
        factors=trials.factors,
        n=trials.values.size,
        confidence=float(confidence),
        effect=EFFECT,
        method=f"{method}: {METHODS[method]}",
        permutations=count,
        exact=exact,
    )


def _check_draws(permutations: int, seed: int) -> None:
    if permutations < 1 or permutations != int(permutations):
        raise StatisticsError(f"permutations are {permutations!r}; expected an integer ≥ 1")
    if not 0 <= seed < 2**64 or seed != int(seed):
        raise StatisticsError(f"the seed is {seed!r}; expected an integer from 0 to 2**64 - 1")


@dataclass(frozen=True, slots=True)
class _Test:
    """The F test of a term."""

    f: float
    df: float
    residual_df: float
    p_value: float

    @classmethod
    def of(cls, f: float, df: float, residual_df: float) -> _Test:
        return cls(f, df, residual_df, 0.0 if f == inf else float(special.fdtrc(df, residual_df, f)))

    def with_p_value(self, p_value: float) -> _Test:
        return _Test(self.f, self.df, self.residual_df, p_value)


class _Squares:
    """Sums of squares of a model."""

    def __init__(self, trials: Trials, model: Model) -> None:
        filled = trials.counts > 0
        counts = trials.counts[filled].astype(np.float64)
        centre = float(trials.values.mean())
        weighted = (trials.means()[filled] - centre) * np.sqrt(counts)
        within = float(np.nansum(trials.variances()[filled] * (counts - 1)))
        total = float(((trials.values - centre) ** 2).sum())
        left = weighted - model.whole @ (model.whole.T @ weighted)
        residual = within + float(left @ left)
        self.residual = residual if residual > _ROUNDING * total else 0.0
        self.residual_df = float(trials.values.size - model.whole.shape[1])
        self.mean_square = self.residual / self.residual_df if self.residual_df else nan
        self.of_terms = {one.term: float(((one.basis.T @ weighted) ** 2).sum()) for one in model.fitted}
        self.sizes = {one.term: one.basis.shape[1] for one in model.fitted}

    def tests(self) -> dict[Term, _Test]:
        """Return the F test of each term."""
        return {
            term: _Test.of(
                found / size / self.mean_square if self.mean_square else inf, float(size), self.residual_df
            )
            for term, found in self.of_terms.items()
            for size in (self.sizes[term],)
        }


def _check_repeats(trials: Trials, squares: _Squares, method: str) -> None:
    single = trials.counts == 1
    if method == "welch" and single.any():
        levels = trials.cells[int(np.argmax(single))].levels
        names = ", ".join(f"{name}={level}" for name, level in zip(trials.factors, levels, strict=True))
        more = f" and {int(single.sum()) - 1} other treatments have" if single.sum() > 1 else " has"
        raise StatisticsError(
            f"{names}{more} one trial, which shows no spread: at least 2 trials of each treatment are needed "
            '(method="ordinary" takes the spread of all treatments together)'
        )
    if squares.residual_df == 0:
        raise StatisticsError(
            "each treatment has one trial, and the model explains them all: repeat treatments (at least 2 trials of some), or "
            f"leave out the highest interaction (interactions={max(1, len(trials.factors) - 1)})"
            if len(trials.factors) > 1
            else "each treatment has one trial: repeat treatments (at least 2 trials of some)"
        )
    if squares.residual == 0:
        raise StatisticsError(
            "trials of the same treatment do not differ at all: there is no spread against which to judge a difference; "
            "compare the means of the treatments as they are"
        )


def _welch(trials: Trials, terms: list[Term]) -> dict[Term, _Test]:
    filled = trials.counts > 0
    counts = trials.counts[filled]
    means = trials.means()[filled] - float(trials.values.mean())
    spreads = _variances(trials)[filled] / counts
    # Unweighted, because the hypothesis is about the cell means, whatever the number of trials in each.
    model = fit(trials, terms, np.ones(trials.counts.size))
    return {one.term: _anova_type(one, means, spreads, counts.astype(np.float64) - 1) for one in model.fitted}


def _variances(trials: Trials) -> Array:
    """Return the variance of each cell; if a cell is one repeated number that larger cells also have, their pooled variance.

    `shared_variance` does the same for two samples.
    """
    own = trials.variances()
    found = own.copy()
    for place in np.flatnonzero(own == 0).tolist():
        number = trials.of_cell(place)[0]
        larger = [
            other
            for other in np.flatnonzero(trials.counts > trials.counts[place]).tolist()
            if (trials.of_cell(other) == number).any()
        ]
        freedoms = trials.counts[larger] - 1
        if larger:
            found[place] = float(own[larger] @ freedoms) / float(freedoms.sum() + trials.counts[place] - 1)
    return found


def _anova_type(term: Fitted, means: Array, spreads: Array, freedoms: Array) -> _Test:
    """Compute the ANOVA-type test of a term.

    Brunner, Dette and Munk 1997, "Box-type approximations in nonparametric factorial designs", JASA 92, eq. 2.4 to 2.6.
    """
    projected = (term.basis * spreads[:, None]).T @ term.basis
    trace = float(np.trace(projected))
    leverages = (term.basis**2).sum(axis=1)
    f = float(((term.basis.T @ means) ** 2).sum()) / trace
    df = trace**2 / float((projected**2).sum())
    return _Test.of(f, df, trace**2 / float(((leverages * spreads) ** 2 / freedoms).sum()))


def _row(
    trials: Trials, term: Term, squares: _Squares, test: _Test | None, model: Model, confidence: float
) -> AnovaRow:
    names = tuple(trials.factors[place] for place in term)
    if test is None:
        effect = EffectSize(nan, nan, nan)
        test = _Test(nan, nan, nan, nan)
        sum_sq = mean_sq = nan
    else:
        effect = partial_omega_squared(test.f, test.df, test.residual_df, confidence)
        sum_sq = squares.of_terms[term]
        mean_sq = sum_sq / squares.sizes[term]
    return AnovaRow(
        term=":".join(names),
        factors=names,
        df=test.df,
        residual_df=test.residual_df,
        sum_sq=sum_sq,
        mean_sq=mean_sq,
        f=test.f,
        p_value=test.p_value,
        effect_size=effect.estimate,
        effect_low=effect.low,
        effect_high=effect.high,
        reason=model.refused.get(term, ""),
        partial=model.partial.get(term, ""),
    )
