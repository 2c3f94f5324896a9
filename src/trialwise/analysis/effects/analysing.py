"""Analysis of factors: terms, simple effects and comparisons of all metrics and parts, each family corrected once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Literal

from trialwise import statistics as st
from trialwise.analysis.effects.comparing import Compared, Judging, alone, averaged, judged
from trialwise.analysis.effects.results import (
    EffectsAnalysis,
    EffectsVerdict,
    LevelComparison,
    MetricEffects,
    TermEffect,
)
from trialwise.analysis.effects.terms import (
    VALUE,
    Values,
    assumption_facts,
    interactions_that_matter,
    pair_rows,
    simple_rows,
    term_rows,
    values_of,
)
from trialwise.analysis.effects.trials import FactorTrials, Part, held_factors, parts
from trialwise.analysis.trial_set import Level
from trialwise.errors import AnalysisError, StatisticsError
from trialwise.experiment.model import Extent
from trialwise.numbers import as_given
from trialwise.statistics.comparing.holm import holm
from trialwise.statistics.effects.anova import DEFAULT_PERMUTATIONS, AnovaMethod

Watch = Callable[[int, int], None]
_NO_AVERAGE = "it depends on the other factors, and not all of their levels ran: read it at each of these"


@dataclass(frozen=True, slots=True)
class EffectsOptions:
    """Options of the analysis and its verdicts.

    `confidence` (percent) applies to intervals and to each family of tests. `margins` are by metric; `margin` applies to the others
    and takes precedence over the experiment's. `base` names the level of a factor that its others are compared with, by default the
    first.
    """

    method: AnovaMethod = "welch"
    confidence: float = 95.0
    margin: Extent | None = None
    margins: Mapping[str, Extent] = field(default_factory=dict[str, Extent])
    by: tuple[str, ...] = ()
    base: Mapping[str, str] = field(default_factory=dict[str, str])
    level: Level | None = None
    interactions: int | Literal["all"] = "all"
    permutations: int = DEFAULT_PERMUTATIONS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Started:
    """One part before its families are judged."""

    part: Part
    values: Values
    anova: st.Anova | None
    refusal: str


@dataclass(frozen=True, slots=True)
class _Tested:
    """One part with its terms, the basis of simple effects and comparisons."""

    started: _Started
    terms: tuple[TermEffect, ...]
    together: tuple[tuple[str, ...], ...]
    compared: tuple[Compared, ...]


def analyse_effects(
    given: FactorTrials, options: EffectsOptions | None = None, watch: Watch | None = None
) -> EffectsAnalysis:
    """Analyse every metric in every part.

    Raises
    ------
    AnalysisError
        A factor or level of the options does not exist.
    """
    options = options or EffectsOptions()
    options = replace(options, by=held_factors(given, options.by))
    base = _bases(given, options)
    found = list(parts(given, options.by))
    started: list[_Started] = []
    for place, part in enumerate(found):
        if watch is not None:
            watch(place, len(found))
        started.append(_start(part, options))
    tested = _with_terms(started, given, base, options)
    family = _family(tested)
    results = tuple(
        _result(one, given, options, _judged(one, place, family)) for place, one in enumerate(tested)
    )
    verdict = _overall([one.verdict for one in results])
    margins = {
        name: _margin_text(margin)
        for name in given.trials.metrics
        if (margin := _margin(given, name, options)) is not None
    }
    n_terms = sum(not isnan(term.p_adjusted) for one in results for term in one.terms)
    return EffectsAnalysis(
        format="trialwise.effects/1",
        source=given.trials.name,
        method=options.method,
        confidence=options.confidence,
        margins=margins,
        by=options.by,
        base={name: level for name, level in base.items() if name not in options.by},
        family=_corrected_over(n_terms, results),
        comparison_family="none: there is no inference" if family is None else family.method,
        verdict=verdict,
        results=results,
        notes=(*given.notes, *_default_bases(base, options, results)),
    )


def _default_bases(
    base: Mapping[str, str], options: EffectsOptions, results: Sequence[MetricEffects]
) -> Iterator[str]:
    """Say which level the others are compared with if none was chosen."""
    compared = {row.factor for one in results for row in one.comparisons}
    first = [
        f"{name}={level}" for name, level in base.items() if name in compared and name not in options.base
    ]
    if first:
        yield f"compared with the first level of each factor, {', '.join(first)}; --base FACTOR=LEVEL chooses another"


def _bases(given: FactorTrials, options: EffectsOptions) -> dict[str, str]:
    for name, level in options.base.items():
        if name not in given.levels:
            raise AnalysisError(
                f"{given.trials.name}: no factor {name!r} with two levels",
                hint=f"there are: {', '.join(given.levels)}",
            )
        if level not in given.levels[name]:
            raise AnalysisError(
                f"{given.trials.name}: {name} has no level {level!r}",
                hint=f"there are: {', '.join(given.levels[name])}",
            )
    return {name: options.base.get(name, levels[0]) for name, levels in given.levels.items()}


def _margin(given: FactorTrials, metric: str, options: EffectsOptions) -> Extent | None:
    return options.margins.get(metric) or options.margin or given.trials.metrics[metric].margin


def _start(part: Part, options: EffectsOptions) -> _Started:
    values = values_of(part, options.level, options.method, options.confidence)
    if values.refusal:
        return _Started(part, values, None, values.refusal)
    try:
        found = st.anova(
            values.columns,
            VALUE,
            list(part.factors),
            method=options.method,
            permutations=options.permutations,
            seed=options.seed,
            interactions=options.interactions,
            confidence=options.confidence,
        )
    except StatisticsError as error:
        return _Started(part, values, None, str(error).replace(repr(VALUE), part.metric))
    return _Started(part, values, found, "")


def _with_terms(
    started: Sequence[_Started], given: FactorTrials, base: Mapping[str, str], options: EffectsOptions
) -> list[_Tested]:
    """Correct the terms over all parts and metrics, and make the comparisons that follow from them."""
    keys = [
        (place, row.term, row.p_value)
        for place, one in enumerate(started)
        if one.anova is not None
        for row in one.anova.rows
        if not isnan(row.p_value)
    ]
    corrected = holm([p_value for _, _, p_value in keys])
    adjusted: dict[int, dict[str, float]] = {}
    for (place, term, _), p_value in zip(keys, corrected, strict=True):
        adjusted.setdefault(place, {})[term] = p_value
    tested: list[_Tested] = []
    for place, one in enumerate(started):
        terms = tuple(term_rows(one.anova, adjusted.get(place, {}), options.confidence)) if one.anova else ()
        together = tuple(interactions_that_matter(terms))
        judging = Judging(options.confidence, _margin(given, one.part.metric, options))
        compared = _compared(one, together, base, judging) if one.anova else ()
        tested.append(_Tested(one, terms, together, compared))
    return tested


def _compared(
    one: _Started, together: Sequence[tuple[str, ...]], base: Mapping[str, str], judging: Judging
) -> tuple[Compared, ...]:
    part, level = one.part, one.values.level
    incomplete = {
        name for row in (one.anova.rows if one.anova else ()) if row.partial for name in row.factors
    }
    crossed = {name for factors in together if incomplete.issuperset(factors) for name in factors}
    found = [
        replace(each, difference=None, reason=_NO_AVERAGE) if each.factor in crossed else each
        for each in averaged(part, base, level, judging)
    ]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for factors in together:
        for factor in factors:
            others = tuple(name for name in factors if name != factor)
            if (factor, others) not in seen:
                seen.add((factor, others))
                found += alone(part, factor, others, base, level, judging)
    return tuple(found)


def _family(tested: Sequence[_Tested]) -> st.DifferenceFamily | None:
    differences: dict[Hashable, st.Difference] = {
        (place, row): one.difference
        for place, each in enumerate(tested)
        for row, one in enumerate(each.compared)
        if one.difference is not None
    }
    return st.difference_family(differences) if differences else None


def _judged(one: _Tested, place: int, family: st.DifferenceFamily | None) -> tuple[LevelComparison, ...]:
    return tuple(
        judged(each, family.members.get((place, row)) if family else None)
        for row, each in enumerate(one.compared)
    )


def _result(
    one: _Tested, given: FactorTrials, options: EffectsOptions, comparisons: tuple[LevelComparison, ...]
) -> MetricEffects:
    part, values, found = one.started.part, one.started.values, one.started.anova
    simple = tuple(
        simple_rows(
            values.columns,
            one.together,
            list(options.base),
            options.method,
            options.permutations,
            options.seed,
            options.confidence,
        )
    )
    some = any(term.matters for term in one.terms)
    pairs, pairs_method, unjudged = (
        pair_rows(values.columns, part.factors, options.method, options.confidence) if some else ((), "", "")
    )
    margin = _margin(given, part.metric, options)
    return MetricEffects(
        metric=part.metric,
        unit=given.trials.metrics[part.metric].unit,
        part=part.held,
        factors=part.factors,
        level=values.level,
        n=values.n,
        n_trials=part.trials.height,
        refusal=one.started.refusal,
        method=found.method if found else options.method,
        effect=found.effect if found else "",
        permutations=found.permutations if found else None,
        exact=found.exact if found else False,
        residual_df=found.residual_df if found else nan,
        residual_sum_sq=found.residual_sum_sq if found else nan,
        residual_mean_sq=found.residual_mean_sq if found else nan,
        terms=one.terms,
        cells=values.cells,
        simple=simple,
        simple_method="one factor at each level of the others, Holm over the levels of each"
        if simple
        else "",
        comparisons=comparisons,
        pairs=pairs,
        pairs_method=pairs_method,
        assumptions=assumption_facts(part, values.columns) if found else None,
        verdict=_verdict(found, one.terms, comparisons, judged_by_margin=margin is not None),
        notes=(*part.notes, *values.notes, *_partial(found), *([unjudged] if unjudged else [])),
    )


def _partial(found: st.Anova | None) -> Iterator[str]:
    """Say which parts of interactions remain estimable with empty cells."""
    return (f"{row.term}: {row.partial}" for row in (found.rows if found else ()) if row.partial)


def _verdict(
    found: st.Anova | None,
    terms: Sequence[TermEffect],
    comparisons: Sequence[LevelComparison],
    *,
    judged_by_margin: bool,
) -> EffectsVerdict | Literal["no inference"]:
    """Judge by the margin if there is one: every level, and if an interaction matters, every level at each of the others."""
    if found is None:
        return "no inference"
    if not judged_by_margin:
        return "factors matter" if any(term.matters for term in terms) else "undecided"
    words = {one.verdict for one in comparisons}
    if "different" in words:
        return "factors matter"
    return "no factor matters" if words == {"equivalent"} else "undecided"


def _overall(verdicts: Sequence[str]) -> EffectsVerdict:
    if "factors matter" in verdicts:
        return "factors matter"
    return "no factor matters" if set(verdicts) == {"no factor matters"} else "undecided"


def _margin_text(margin: Extent) -> str:
    """Write a margin as in an experiment file."""
    return f"{as_given(margin.value)} %" if margin.relative else f"{as_given(margin.value)}"


def _corrected_over(tests: int, results: Sequence[MetricEffects]) -> str:
    """Name the family over which the p-values of the terms are corrected."""
    if not tests:
        return "none: there is no inference"
    metrics, parts = len({one.metric for one in results}), len({tuple(one.part.items()) for one in results})
    over = [*(["metrics"] if metrics > 1 else []), *(["parts"] if parts > 1 else []), "terms"]
    return f"Holm over all {tests} {' × '.join(over)}" if tests > 1 else "one test"
