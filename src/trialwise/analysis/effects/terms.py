"""One metric and part: its terms, treatments, simple effects, pairs and assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.effects.results import (
    AssumptionFacts,
    CellFacts,
    CellMean,
    LevelEffect,
    PairDifference,
    TermEffect,
)
from trialwise.analysis.effects.trials import Part, at_level, column_of
from trialwise.analysis.equal_trials import tail_notes
from trialwise.analysis.trial_set import Level
from trialwise.analysis.unit_words import plural, repeating
from trialwise.errors import StatisticsError
from trialwise.late import pl
from trialwise.statistics.effects.anova import AnovaMethod
from trialwise.statistics.effects.factorial import MAX_FACTORS

VALUE = "\0value"
Columns = dict[str, list[object]]


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a part at the level of inference, as columns; `refusal` says why there is no inference."""

    level: Level
    columns: Columns
    n: int
    cells: tuple[CellMean, ...]
    notes: tuple[str, ...]
    refusal: str


def values_of(part: Part, level: Level | None, method: AnovaMethod, confidence: float) -> Values:
    """Take the values at the level of inference, and say what prevents an analysis."""
    chosen, table = at_level(part, level)
    names = [column_of(name) for name in part.factors]
    cells = tuple(cell_means(table, names, confidence))
    notes: list[str] = []
    refusal = _refusal(part, chosen, cells)
    single = [cell for cell in cells if cell.n == 1]
    if not refusal and method == "welch" and single:
        # A spread takes two values, so treatments with fewer are dropped as if they had not run.
        said = "; ".join(named(part.factors, cell.levels) for cell in single[:3])
        more = f" and {len(single) - 3} more" if len(single) > 3 else ""
        notes.append(
            f"one {chosen} at {said}{more}, which shows no spread: left out of the terms (repeat, or take --method ordinary)"
        )
        counts = pl.len().over(names)
        table = table.filter(counts > 1)
        refusal = _one_level(part, table)
    notes += _tails(part, chosen, table)
    columns: Columns = {VALUE: table["value"].to_list()}
    for name in part.factors:
        columns[name] = table[column_of(name)].to_list()
    return Values(chosen, columns, table.height, cells, tuple(notes), refusal)


def _tails(part: Part, level: Level, table: pl.DataFrame) -> Iterator[str]:
    """Yield warnings on treatments in which one value, or skewness, makes intervals and tests of means unreliable."""
    names = [column_of(name) for name in part.factors]
    values = {named(part.factors, levels): each for levels, each in _by_cell(table, names)}
    return tail_notes(part.metric, values, what=level)


def _by_cell(table: pl.DataFrame, names: list[str]) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    if names:
        for levels, cell in table.group_by(names, maintain_order=True):
            yield tuple(map(str, levels)), cell["value"].to_list()


def _refusal(part: Part, level: Level, cells: Sequence[CellMean]) -> str:
    if not part.factors:
        return "no factor has two levels here"
    if len(part.factors) > MAX_FACTORS:
        return f"there are {len(part.factors)} factors, and at most {MAX_FACTORS} are analysed at once: hold some with --by"
    if all(cell.n == 1 for cell in cells):
        what = "one trial" if level == "trial" else f"one {level}"
        return f"each treatment ran in {what}; repeat every treatment in at least two {plural(level)}{repeating(level)}"
    return ""


def _one_level(part: Part, table: pl.DataFrame) -> str:
    for name in part.factors:
        if table[column_of(name)].n_unique() < 2:
            return f"treatments with two trials or more are at one level of {name} only: repeat the others"
    return ""


def named(factors: Sequence[str], levels: Sequence[str]) -> str:
    """Describe a treatment in words."""
    return " ".join(f"{factor}={level}" for factor, level in zip(factors, levels, strict=True))


def cell_means(table: pl.DataFrame, names: list[str], confidence: float) -> Iterator[CellMean]:
    """Compute the mean of each treatment, from a column called value."""
    for levels, values in _by_cell(table, names):
        if len(values) < 2:
            yield CellMean(levels, len(values), float(np.mean(values)), nan, nan, nan)
            continue
        found = st.mean_interval(values, confidence=confidence)
        yield CellMean(levels, found.n, found.estimate, float(np.std(values, ddof=1)), found.low, found.high)


def term_rows(found: st.Anova, adjusted: Mapping[str, float], confidence: float) -> Iterator[TermEffect]:
    """Return the terms with their p-values corrected over the family."""
    for row in found.rows:
        p_adjusted = adjusted.get(row.term, nan)
        yield TermEffect(
            row.term,
            row.factors,
            row.df,
            row.residual_df,
            row.sum_sq,
            row.mean_sq,
            row.f,
            row.p_value,
            p_adjusted,
            p_adjusted <= 1 - confidence / 100,
            row.effect_size,
            row.effect_low,
            row.effect_high,
            row.reason,
        )


def interactions_that_matter(terms: Sequence[TermEffect]) -> list[tuple[str, ...]]:
    """Return the factors of each interaction that matters and is not part of a larger one that does."""
    there = [term.factors for term in terms if term.matters and len(term.factors) > 1]
    return [one for one in there if not any(set(one) < set(other) for other in there)]


def simple_rows(
    columns: Columns,
    together: Sequence[tuple[str, ...]],
    first: Sequence[str],
    method: AnovaMethod,
    permutations: int,
    seed: int,
    confidence: float,
) -> Iterator[LevelEffect]:
    """Test each factor of an interaction at each level of the others, those of `first` before the others."""
    for factors in together:
        for factor in sorted(factors, key=lambda name: name not in first):
            others = [name for name in factors if name != factor]
            found = st.simple_effects(
                columns,
                VALUE,
                factor,
                others,
                method=method,
                permutations=permutations,
                seed=seed,
                confidence=confidence,
            )
            for one in found.rows:
                at = dict(zip(others, map(str, one.at), strict=True))
                yield _level_effect(factor, at, one, confidence)


def _level_effect(factor: str, at: Mapping[str, str], one: st.SimpleEffect, confidence: float) -> LevelEffect:
    row = one.row
    numbers = (nan, nan, nan, nan) if row is None else (row.df, row.residual_df, row.f, row.p_value)
    sizes = (nan, nan, nan) if row is None else (row.effect_size, row.effect_low, row.effect_high)
    matters = not isnan(one.p_value) and one.p_value <= 1 - confidence / 100
    return LevelEffect(factor, at, *numbers, one.p_value, matters, *sizes, one.n, one.reason)


def pair_rows(
    columns: Columns, factors: Sequence[str], method: AnovaMethod, confidence: float
) -> tuple[tuple[PairDifference, ...], str, str]:
    """Compare all pairs of treatments; return the method and what could not be judged, too."""
    equal = "tukey" if method == "ordinary" else "games_howell"
    try:
        found = st.posthoc(columns, VALUE, list(factors), method=equal, confidence=confidence)
    except StatisticsError as error:
        return (), "", str(error)
    rows = tuple(
        PairDifference(_levels(row.a), _levels(row.b), row.difference, row.low, row.high, row.p_value, row.n)
        for row in found.rows
    )
    return rows, found.method, found.note


def _levels(name: object) -> tuple[str, ...]:
    return tuple(map(str, name)) if isinstance(name, tuple) else (str(name),)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def assumption_facts(part: Part, columns: Columns) -> AssumptionFacts | None:
    """Apply Shapiro-Wilk and Breusch-Pagan to the values, and the turning-point test to each treatment's trials in time order."""
    try:
        found = st.assumptions(columns, VALUE, list(part.factors))
    except StatisticsError:
        return None
    trials = part.trials
    if trials["started"].null_count() == 0:
        trials = trials.sort("started", maintain_order=True)
    series = {
        tuple(map(str, levels)): one["value"].to_numpy()
        for levels, one in trials.group_by([column_of(name) for name in part.factors], maintain_order=True)
    }
    return AssumptionFacts(
        tuple(
            _cell_facts(cell, series.get(tuple(map(str, cell.levels)), np.empty(0)))
            for cell in found.normality
        ),
        found.breusch_pagan.statistic,
        found.breusch_pagan.df,
        found.breusch_pagan.p_value,
    )


def _cell_facts(
    cell: st.CellNormality, series: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> CellFacts:
    turns = st.turning_points(series) if series.size >= 3 and np.ptp(series) else None
    return CellFacts(
        tuple(map(str, cell.levels)),
        cell.n,
        cell.p_value,
        turns and turns.count,
        turns and turns.expected,
        turns and turns.p_value,
    )
