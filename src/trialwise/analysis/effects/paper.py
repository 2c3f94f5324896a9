"""The OML study's procedure, step by step, with samples of trials as observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TypeAlias

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.effects.paper_results import (
    CellShapiro,
    PaperEffects,
    PaperMetric,
    PaperTerm,
    SeriesTurns,
)
from trialwise.analysis.effects.results import CellMean, EffectsVerdict
from trialwise.analysis.effects.table import SampleSeries
from trialwise.analysis.effects.terms import VALUE, Columns, cell_means, pair_rows
from trialwise.analysis.effects.trials import FactorTrials, Part, by_levels, column_of, held_factors, parts
from trialwise.errors import StatisticsError
from trialwise.late import pl
from trialwise.statistics.effects.anova import DEFAULT_PERMUTATIONS

_LEVEL = 0.05
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
WORTH = (
    "Samples of a trial are not repetitions: where nothing had an effect, 45 % of simulated experiments of one trial for each "
    "treatment were significant at nominal 5 % with an autocorrelation of 0.5 inside the trial, and 95 % with 0.9; trials that differ "
    "by a tenth of a sample's standard deviation do the same to independent samples (78 %). Without --method paper each trial "
    "counts once."
)
TRIALS = (
    "Each trial has one value here, and trials are the observations: the procedure is then an ordinary one."
)


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """Options that the paper leaves open: whether series are resampled, by which parts, and the number of permutations."""

    by: tuple[str, ...] = ()
    resample: bool = False
    permutations: int = DEFAULT_PERMUTATIONS
    seed: int = 0
    confidence: float = 95.0


def paper_effects(given: FactorTrials, series: Sequence[SampleSeries], options: PaperOptions) -> PaperEffects:
    """Follow section 3.1 of the OML study for every metric in every part.

    The steps are: turning points of each trial's samples; with `resample`, resampling of each series with replacement; Breusch-Pagan
    over treatments; Shapiro-Wilk for each treatment; an ordinary analysis of variance if none of them rejects at 5 %, else one by
    permutation of the samples (Anderson 2001); Tukey's differences of all treatments.

    Raises
    ------
    AnalysisError
        A factor of `by` does not exist.
    """
    options = replace(options, by=held_factors(given, options.by))
    samples = {(one.metric, one.treatment, one.trial): one for one in series}
    results = tuple(
        _metric(given, part, _of_part(part, samples), options) for part in parts(given, options.by)
    )
    verdict = _overall(results)
    return PaperEffects(
        format="trialwise.effects/1",
        source=given.trials.name,
        method="paper",
        confidence=options.confidence,
        by=options.by,
        verdict=verdict,
        worth=WORTH if any(one.n > one.n_trials for one in results) else TRIALS,
        warning=st.RESAMPLING_WARNING if options.resample else "",
        results=results,
        notes=given.notes,
    )


@dataclass(frozen=True, slots=True)
class _Series:
    levels: tuple[str, ...]
    one: SampleSeries


def _of_part(part: Part, series: Mapping[tuple[str, str, str], SampleSeries]) -> list[_Series]:
    """Return the series of a part's trials, in the order of the levels of the factors."""
    columns = [column_of(name) for name in part.factors]
    rows = (
        part.trials.sort("started", maintain_order=True)
        if not part.trials["started"].null_count()
        else part.trials
    )
    rows = by_levels(part, rows)
    found: list[_Series] = []
    for treatment, trial, *levels in rows.select("treatment", "trial", *columns).iter_rows():
        one = series.get((part.metric, treatment, trial))
        if one is not None:
            found.append(_Series(tuple(map(str, levels)), one))
    return found if any(each.one.values.size > 1 for each in found) else _joined(found)


def _joined(series: Sequence[_Series]) -> list[_Series]:
    """Join the values of a treatment into one series if trials have one value each."""
    together: dict[tuple[str, ...], list[SampleSeries]] = {}
    for each in series:
        together.setdefault(each.levels, []).append(each.one)
    return [
        _Series(
            levels,
            SampleSeries(ones[0].metric, ones[0].treatment, "", np.concatenate([one.values for one in ones])),
        )
        for levels, ones in together.items()
    ]


_Facts: TypeAlias = tuple[str, int, int, tuple[SeriesTurns, ...], tuple[CellMean, ...]]


def _metric(given: FactorTrials, part: Part, series: Sequence[_Series], options: PaperOptions) -> PaperMetric:
    unit = given.trials.metrics[part.metric].unit
    drawn = [
        st.resampled(each.one.values, options.seed + place) if options.resample else each.one.values
        for place, each in enumerate(series)
    ]
    columns: Columns = {VALUE: np.concatenate(drawn).tolist() if drawn else []}
    for place, name in enumerate(part.factors):
        columns[name] = [
            each.levels[place] for each, values in zip(series, drawn, strict=True) for _ in range(values.size)
        ]
    n, n_trials = sum(values.size for values in drawn), part.trials.height
    turns = tuple(_turns(each) for each in series)
    names = [column_of(name) for name in part.factors]
    frame = pl.DataFrame(
        {"value": columns[VALUE]}
        | {column: columns[name] for column, name in zip(names, part.factors, strict=True)}
    )
    cells = tuple(cell_means(frame, names, options.confidence)) if n else ()
    try:
        return _analysed(part, columns, options, (unit, n, n_trials, turns, cells))
    except StatisticsError as error:
        refusal = (
            str(error).replace(repr(VALUE), part.metric) if part.factors else "no factor has two levels here"
        )
    return PaperMetric(
        part.metric, unit, part.held, part.factors, n, n_trials, refusal, cells, turns, options.resample, nan, 0, nan, (),
        False, "", None, (), nan, nan, nan, (), "", "no inference", part.notes,
    )  # fmt: skip


def _turns(each: _Series) -> SeriesTurns:
    values = each.one.values
    tested = values.size >= 3 and np.ptp(values)
    found = st.turning_points(values, method="paper") if tested else None
    numbers = (None, None, None) if found is None else (found.count, found.expected, found.p_value)
    return SeriesTurns(each.levels, each.one.trial, values.size, *numbers)


def _analysed(part: Part, columns: Columns, options: PaperOptions, facts: _Facts) -> PaperMetric:
    unit, n, n_trials, turns, cells = facts
    factors = list(part.factors)
    assumed = st.assumptions(columns, VALUE, factors, method="paper")
    # Above 5000 values Shapiro and Wilk's p-value is unknown; such treatments do not affect the choice.
    normal = not any(cell.p_value < _LEVEL for cell in assumed.normality)
    found = st.anova(
        columns,
        VALUE,
        factors,
        method="ordinary" if normal else "raw_permutation",
        permutations=options.permutations,
        seed=options.seed,
        confidence=options.confidence,
    )
    pairs, pairs_method, note = pair_rows(columns, factors, "ordinary", options.confidence)
    terms = tuple(_terms(found))
    some = any(term.stars for term in terms)
    return PaperMetric(
        metric=part.metric,
        unit=unit,
        part=part.held,
        factors=part.factors,
        n=n,
        n_trials=n_trials,
        refusal="",
        cells=cells,
        turns=turns,
        resampled=options.resample,
        breusch_pagan=assumed.breusch_pagan_original.statistic,
        breusch_pagan_df=assumed.breusch_pagan_original.df,
        breusch_pagan_p=assumed.breusch_pagan_original.p_value,
        shapiro=tuple(
            CellShapiro(tuple(map(str, cell.levels)), cell.n, cell.p_value) for cell in assumed.normality
        ),
        normal=normal,
        method=found.method,
        permutations=found.permutations,
        terms=terms,
        residual_df=found.residual_df,
        residual_sum_sq=found.residual_sum_sq,
        residual_mean_sq=found.residual_mean_sq,
        pairs=pairs,
        pairs_method=pairs_method,
        verdict="factors matter" if some else "undecided",
        notes=(*part.notes, *([note] if note else [])),
    )


def _terms(found: st.Anova) -> Iterator[PaperTerm]:
    for row in found.rows:
        yield PaperTerm(
            row.term,
            row.factors,
            row.df,
            row.sum_sq,
            row.mean_sq,
            row.f,
            row.p_value,
            stars(row.p_value),
            row.reason,
        )


def stars(p_value: float) -> str:
    """Return the paper's significance stars."""
    if isnan(p_value):
        return ""
    return next((mark for level, mark in _STARS if p_value <= level), "")


def _overall(results: Sequence[PaperMetric]) -> EffectsVerdict:
    """Return the overall verdict, never "no factor matters": an effect that is not significant may still exist."""
    return "factors matter" if any(one.verdict == "factors matter" for one in results) else "undecided"
