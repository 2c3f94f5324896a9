"""What `trialwise effects` says in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from trialwise.analysis.effects.results import (
    AssumptionFacts,
    EffectsAnalysis,
    LevelComparison,
    LevelEffect,
    MetricEffects,
    PairDifference,
    TermEffect,
)
from trialwise.analysis.effects.sentences import part_text
from trialwise.analysis.nesting import plural
from trialwise.analysis.trial_set import Level
from trialwise.experiment.quantity import duration_text
from trialwise.report.numbers import (
    about,
    bounds,
    change,
    counted,
    decimals,
    interval,
    p_equals,
    percent,
    write,
)

_MOST = 20
_ALPHA = 0.05


def effects_lines(found: EffectsAnalysis) -> Iterator[str]:
    """The verdict, then each metric and part: terms, simple effects, comparisons, treatments, assumptions."""
    yield found.sentence
    families = f"terms: {found.family}; comparisons: {found.comparison_family}"
    yield f"  {found.source}: {found.method}, {percent(found.confidence)}; {families}"
    yield from (f"  {note}" for note in found.notes)
    for one in found.results:
        yield ""
        yield from _metric(found, one)


def _metric(found: EffectsAnalysis, one: MetricEffects) -> Iterator[str]:
    unit = f" ({one.unit})" if one.unit else ""
    yield f"{part_text(one)}{unit}: {one.verdict}"
    yield f"  {_size(one)}"
    yield from (f"  {note}" for note in one.notes)
    if one.refusal:
        yield f"  no inference: {one.refusal}"
        yield from _cells(one)
        return
    together = [term.term for term in one.terms if term.matters and len(term.factors) > 1]
    if one.simple:
        yield f"Simple effects, to be read first since {_and(together)} {'matters' if len(together) == 1 else 'matter'}"
        yield from (f"  {_simple(row)}" for row in one.simple)
    yield f"Terms (p by {found.family}; {_effect_name(one)} with {percent(found.confidence)})"
    yield from (f"  {_term(term)}" for term in one.terms)
    yield from _comparisons(found, one)
    yield from _cells(one)
    yield from _pairs(one)
    yield from _assumptions(one, one.assumptions)


def _effect_name(one: MetricEffects) -> str:
    return "partial ω²" if one.effect == "partial omega squared" else one.effect


def _size(one: MetricEffects) -> str:
    treatments = counted(len(one.cells), "treatment")
    trials = counted(one.n_trials, "trial")
    if one.level == "trial":
        return f"{trials} of {treatments}"
    return f"{trials} of {treatments}; values are the {one.n} means over {plural(one.level)}, the level of inference"


def _term(term: TermEffect) -> str:
    if term.reason:
        return f"{term.term}: {term.reason}"
    mark = "matters" if term.matters else "not shown"
    effect = f"ω² {_effect_words(term)}"
    df = f"{about(term.df)}, {about(term.residual_df)}"
    return f"{term.term}: {mark}, {p_equals(term.p_adjusted)}, {effect}, F({df}) = {write(term.f)}"


def _effect_words(found: TermEffect | LevelEffect) -> str:
    """The size of an effect with its bounds, which are rounded outward: "0.80 (0.57 to 0.89)"."""
    low, high = decimals(found.effect_low, 2, "down"), decimals(found.effect_high, 2, "up")
    return f"{decimals(found.effect_size, 2)} ({interval(low, high)})"


def _simple(row: LevelEffect) -> str:
    where = at_text(row.at)
    if row.reason:
        return f"{row.factor} at {where}: {row.reason}"
    mark = "matters" if row.matters else "not shown"
    effect = f"ω² {_effect_words(row)}"
    return f"{row.factor} at {where}: {mark}, {p_equals(row.p_adjusted)}, {effect}, n = {row.n}"


def at_text(at: Mapping[str, str]) -> str:
    """Levels that are held: "load=high rate=10"."""
    return " ".join(f"{name}={level}" for name, level in at.items())


def _comparisons(found: EffectsAnalysis, one: MetricEffects) -> Iterator[str]:
    if not one.comparisons:
        return
    margin = found.margins.get(one.metric)
    judged = f"margin ±{margin}" if margin else "no margin given"
    yield f"Levels against their base ({judged}, {percent(found.confidence)} each; verdicts by {found.comparison_family})"
    shown = one.comparisons[:_MOST]
    averaged = len(one.factors) > 1
    yield from (f"  {_comparison(row, one.level, one.unit, averaged=averaged)}" for row in shown)
    if len(one.comparisons) > len(shown):
        yield f"  … and {len(one.comparisons) - len(shown)} more (all with --json)"


def _comparison(row: LevelComparison, level: Level, unit: str, *, averaged: bool) -> str:
    where = f" at {at_text(row.at)}" if row.at else " on average" if averaged else ""
    name = f"{row.factor} {row.level} against {row.base}{where}"
    if row.verdict == "no inference":
        return f"{name}: no inference, {row.reason}"
    share = "" if isnan(row.percent) else f", {change(row.percent, row.percent_low, row.percent_high, ' %')}"
    size = f"{change(row.difference, row.low, row.high)} {unit}".rstrip() + share
    pairs = "pairs" if row.paired else f"{row.n[0]} and {row.n[1]}"
    n = f"n = {row.n[0]} {pairs}" if row.paired else f"n = {pairs}"
    if row.uneven:
        n += f" in the smallest treatments, {row.df:.1f} d.f."
    return f"{name}: {row.verdict}, {size}, {n}{_bill(row, level)}"


def _bill(row: LevelComparison, level: Level) -> str:
    if row.verdict != "undecided":
        return ""
    if row.more is None:
        return f"; {row.reason}"
    long = "" if row.more_seconds is None else f", about {duration_text(row.more_seconds)}"
    each = "" if row.paired else " of each treatment"
    return f"; {row.more} more {plural(level)}{each} would decide{long}"


def _cells(one: MetricEffects) -> Iterator[str]:
    if not one.cells:
        return
    yield f"Treatments ({', '.join(one.factors)}): mean with its interval"
    for cell in one.cells[:_MOST]:
        interval = "" if isnan(cell.low) else f" ({bounds(cell.low, cell.high)})"
        yield f"  {', '.join(cell.levels)}: {write(cell.mean)}{interval}, n = {cell.n}"
    if len(one.cells) > _MOST:
        yield f"  … and {len(one.cells) - _MOST} more (all with --json)"


def _pairs(one: MetricEffects) -> Iterator[str]:
    if not one.pairs:
        return
    there = sorted((pair for pair in one.pairs if pair.p_value <= _ALPHA), key=lambda pair: pair.p_value)
    method = (
        one.pairs_method.partition(":")[0]
        .replace("_", "-")
        .replace("games-howell", "Games-Howell")
        .replace("tukey", "Tukey")
    )
    yield f"Pairs of treatments that differ ({method}: {len(there)} of {len(one.pairs)}, all pairs together)"
    yield from (f"  {_pair(pair)}" for pair in there[:_MOST])
    if len(there) > _MOST:
        yield f"  … and {len(there) - _MOST} more (all with --json)"


def _pair(pair: PairDifference) -> str:
    size = change(pair.difference, pair.low, pair.high)
    return f"{', '.join(pair.b)} less {', '.join(pair.a)}: {size}, {p_equals(pair.p_value)}"


def _assumptions(one: MetricEffects, facts: AssumptionFacts | None) -> Iterator[str]:
    if facts is None:
        return
    yield "Assumptions (facts; nothing is chosen by them)"
    tested = [cell for cell in facts.cells if not isnan(cell.shapiro_p)]
    low = sum(cell.shapiro_p < _ALPHA for cell in tested)
    yield f"  Shapiro-Wilk: {low} of {counted(len(tested), 'treatment')} below p = 0.05"
    said = p_equals(facts.breusch_pagan_p)
    yield f"  Breusch-Pagan (studentised): {said} against one variance for all treatments"
    turned = [cell for cell in facts.cells if cell.turning_p is not None]
    odd = sum((cell.turning_p or 0.0) < _ALPHA for cell in turned)
    yield f"  turning points of {one.metric} in order of time: {odd} of {counted(len(turned), 'treatment')} below p = 0.05"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
