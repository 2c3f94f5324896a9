"""Convert the trials of one experiment to two sides of a comparison: the base, once per flavour, and the flavours."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import level_text
from trialwise.late import pl

_ERROR = "error of "


@dataclass(frozen=True, slots=True)
class Sides:
    """Two trial sets under common treatment names, to be compared; questions that cannot be answered are in `lost`."""

    base: TrialSet
    flavours: TrialSet
    lost: tuple[str, ...]


def sides(trials: TrialSet, factor: str, base: str, errors: Sequence[str] = ()) -> Sides:
    """Pair the trials of the base with those of each flavour, and 0 with metrics that are tested as errors.

    One comparison of both sides then has all questions in one family. A metric of `errors` occurs twice: under its own name, and
    under `error_name` with the base 0 for the same trial, which makes it a one-sample test against 0.

    Raises
    ------
    AnalysisError
        The factor or level does not exist, or there is no other level.
    """
    _check(trials, factor, base)
    named = {treatment_name(dict(sorted(levels.items()))): levels for levels in trials.treatments.values()}
    stored = {
        treatment_name(dict(sorted(levels.items()))): name for name, levels in trials.treatments.items()
    }
    firsts: list[pl.DataFrame] = []
    seconds: list[pl.DataFrame] = []
    lost: list[str] = []
    for name, levels in named.items():
        own = trials.table.filter(pl.col("treatment") == stored[name]).with_columns(treatment=pl.lit(name))
        if level_text(levels[factor]) != base:
            like = next(_base_of(trials.treatments, levels, factor, base), None)
            if like is None:
                lost.append(f"{name}: there is no {factor}={base} to compare it with")
                continue
            firsts.append(
                trials.table.filter(pl.col("treatment") == like).with_columns(treatment=pl.lit(name))
            )
            seconds.append(own)
        exact = own.filter(pl.col("metric").is_in(list(errors))).with_columns(
            metric=pl.concat_str(pl.lit(_ERROR), "metric")
        )
        seconds.append(exact)
        firsts.append(exact.with_columns(value=pl.lit(0.0)))
    metrics = {**trials.metrics, **dict(_error_facts(trials.metrics, errors))}
    return Sides(
        _side(trials, f"{factor}={base}", metrics, named, firsts),
        _side(trials, f"the other levels of {factor}", metrics, named, seconds),
        tuple(lost),
    )


def in_order(trials: TrialSet, experiment: Experiment, factor: str) -> TrialSet:
    """Order the treatments by the levels in the file, load by load, instead of by time."""
    places = {
        one.name: {level_text(level): place for place, level in enumerate(one.levels)}
        for one in experiment.fixed_factors
    }

    def place(item: tuple[str, Mapping[str, Level]]) -> list[int]:
        names = sorted(item[1], key=lambda name: name == factor)
        return [places[name].get(level_text(item[1][name]), 0) for name in names]

    return dataclasses.replace(trials, treatments=dict(sorted(trials.treatments.items(), key=place)))


def error_name(metric: str) -> str:
    """Return the name of a metric when it is tested against 0."""
    return _ERROR + metric


def is_error(metric: str) -> bool:
    """Return True if a metric of the sides is tested against 0."""
    return metric.startswith(_ERROR)


def plain_name(metric: str) -> str:
    """Return the metric's own name."""
    return metric.removeprefix(_ERROR)


def _check(trials: TrialSet, factor: str, base: str) -> None:
    factors = {name: None for levels in trials.treatments.values() for name in levels}
    if factor not in factors:
        raise AnalysisError(
            f"{trials.name}: no factor {factor!r}",
            hint=f"name the one that tells flavours apart with --factor; there are: {', '.join(factors) or 'none'}",
        )
    levels = list(dict.fromkeys(level_text(found[factor]) for found in trials.treatments.values()))
    if base not in levels:
        raise AnalysisError(
            f"{trials.name}: {factor} has no level {base!r}", hint=f"there are: {', '.join(levels)}"
        )
    if len(levels) == 1:
        raise AnalysisError(f"{trials.name}: {factor} has one level, {base}: nothing to compare with it")


def _base_of(
    treatments: Mapping[str, Mapping[str, Level]], levels: Mapping[str, Level], factor: str, base: str
) -> Iterator[str]:
    """Yield the treatments that differ from one only by being of the base."""
    wanted = {name: level_text(level) for name, level in levels.items()} | {factor: base}
    for name, found in treatments.items():
        if {key: level_text(level) for key, level in found.items()} == wanted:
            yield name


def _error_facts(
    metrics: Mapping[str, MetricFacts], errors: Sequence[str]
) -> Iterator[tuple[str, MetricFacts]]:
    for name in errors:
        facts = metrics.get(name)
        if facts is None:
            raise AnalysisError(f"no metric {name!r}", hint=f"there are: {', '.join(metrics)}")
        if facts.margin is None or facts.margin.relative:
            raise AnalysisError(
                f"{name}: how far its error may be from 0 is not in percent, since of 0 there is none",
                hint=f"give a margin in the metric's unit: --margin {name}=NUMBER",
            )
        yield error_name(name), dataclasses.replace(facts, name=error_name(name))


def _side(
    trials: TrialSet,
    name: str,
    metrics: Mapping[str, MetricFacts],
    treatments: Mapping[str, Mapping[str, Level]],
    tables: Iterable[pl.DataFrame],
) -> TrialSet:
    table = pl.concat([pl.DataFrame(schema=SCHEMA), *(table.select(*SCHEMA) for table in tables)])
    there = set(table["treatment"])
    return TrialSet(
        name,
        metrics,
        {key: levels for key, levels in treatments.items() if key in there},
        table,
        trials.notes,
    )
