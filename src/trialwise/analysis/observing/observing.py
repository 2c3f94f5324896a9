"""Judge flavours against their base: different, equivalent within the margin, or undecided with the trials needed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite

from trialwise.analysis.comparison.comparing import CompareOptions, compare, tails_of
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.analysis.observing.observer_designs import Sides, is_error, plain_name, sides
from trialwise.analysis.observing.results import FORMAT, Observation, ObservedRow, Outcome
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Experiment, Extent, Level
from trialwise.experiment.placeholders import level_text

FLAVOUR = "flavour"
"""Default name of the factor that distinguishes flavours."""


@dataclass(frozen=True, slots=True)
class ObserveOptions:
    """Options: the factor and its base level (None: the experiment's), the confidence in percent, and margins.

    The margin of a metric is that in `margins`, else `margin`, else the experiment's. `errors` are metrics that are themselves
    errors: for every flavour and for the base they are also tested for being 0 within their margin.
    """

    factor: str | None = None
    base: str | None = None
    confidence: float = 95.0
    margin: Extent | None = None
    margins: Mapping[str, Extent] = field(default_factory=dict[str, Extent])
    errors: tuple[str, ...] = ()


def factor_and_base(experiment: Experiment, options: ObserveOptions) -> tuple[str, str]:
    """Return the factor that distinguishes flavours, and its base level.

    Raises
    ------
    AnalysisError
        The experiment has no such factor, or the base level is not specified.
    """
    stated = experiment.design.base
    factor = options.factor or (stated[0] if stated else FLAVOUR)
    levels = {one.name: one.levels for one in experiment.fixed_factors}.get(factor)
    if levels is None:
        raise AnalysisError(
            f"{experiment.name}: no factor {factor!r} whose levels are all run",
            hint="name the factor that tells flavours apart with --factor",
        )
    if options.base is not None:
        return factor, options.base
    if stated is None or stated[0] != factor:
        raise AnalysisError(
            f"{experiment.name}: nothing says which level of {factor} is the base",
            hint=f'add base = "{factor}={level_text(levels[0])}" to [design], or --base {level_text(levels[0])}',
        )
    return factor, level_text(stated[1])


def observe(trials: TrialSet, factor: str, base: str, options: ObserveOptions | None = None) -> Observation:
    """Compare every flavour with the base at each load, for every metric, in one family.

    Raises
    ------
    AnalysisError
        The factor, level or metric does not exist, there is nothing to compare, or an error has no margin in the metric's unit.
    """
    options = options or ObserveOptions()
    trials = _with_margins(trials, options)
    found = sides(trials, factor, base, options.errors)
    _check_common(trials, found, factor, base)
    compared = compare(found.base, found.flavours, CompareOptions(confidence=options.confidence))
    levels = {**found.base.treatments, **found.flavours.treatments}
    rows = tuple(_row(row, levels[row.treatment], factor) for row in compared.rows)
    return Observation(
        format=FORMAT,
        source=trials.name,
        factor=factor,
        base=base,
        confidence=compared.confidence,
        correction=compared.correction,
        verdict=_verdict(rows),
        rows=rows,
        notes=(
            *trials.notes,
            *found.lost,
            *_one_sided(compared),
            *_without_margin(rows),
            *tails_of(trials),
        ),
    )


def _check_common(trials: TrialSet, found: Sides, factor: str, base: str) -> None:
    """Raise an error in the terms of the question if no flavour has anything to be compared with."""
    cells = ["treatment", "metric"]
    if found.base.table.join(found.flavours.table, on=cells, how="semi").is_empty():
        notes = "; ".join((*trials.notes, *found.lost))
        raise AnalysisError(
            f"{trials.name}: no other level of {factor} has a metric and a load in common with {base}"
            + (f" ({notes})" if notes else "")
        )


def _with_margins(trials: TrialSet, options: ObserveOptions) -> TrialSet:
    for name in options.margins:
        if name not in trials.metrics:
            raise AnalysisError(
                f"a margin is given for {name!r}, which is not a metric of {trials.name}",
                hint=f"there are: {', '.join(trials.metrics)}",
            )
    metrics = {
        name: dataclasses.replace(facts, margin=options.margins.get(name) or options.margin or facts.margin)
        for name, facts in trials.metrics.items()
    }
    return dataclasses.replace(trials, metrics=metrics)


def _row(row: ComparisonRow, levels: Mapping[str, Level], factor: str) -> ObservedRow:
    difference, margin = row.difference, row.metric.margin
    percent = difference and difference.percent
    has_percent = percent is not None and not is_error(row.metric.name) and isfinite(percent.estimate)
    return ObservedRow(
        question="error" if is_error(row.metric.name) else "effect",
        flavour=level_text(levels[factor]),
        load={name: level for name, level in levels.items() if name != factor},
        metric=plain_name(row.metric.name),
        unit=row.metric.unit,
        better=row.metric.better,
        n_base=row.units.a.size,
        n=row.units.b.size,
        unit_of_inference=row.units.level,
        mean_base=float(row.units.a.mean()),
        mean=float(row.units.b.mean()),
        estimate=difference and difference.welch.estimate,
        low=difference and difference.welch.low,
        high=difference and difference.welch.high,
        percent=percent.estimate if percent and has_percent else None,
        percent_low=percent.low if percent and has_percent and percent.bounded else None,
        percent_high=percent.high if percent and has_percent and percent.bounded else None,
        margin=margin and margin.value,
        margin_relative=margin is not None and margin.relative,
        p_different=difference and difference.p_different,
        p_equivalent=difference and difference.p_equivalent,
        p_adjusted=row.p_adjusted,
        verdict=row.verdict,
        direction=None if is_error(row.metric.name) else row.direction,
        more=row.more,
        more_seconds=row.more_seconds,
        reason=row.reason,
        method=difference.method if difference else "none",
    )


def _verdict(rows: tuple[ObservedRow, ...]) -> Outcome:
    words = {row.verdict for row in rows}
    if "different" in words:
        return "different"
    return "equivalent" if words == {"equivalent"} else "undecided"


def _one_sided(compared: Comparison) -> Iterator[str]:
    for one in compared.one_sided:
        if not is_error(one.name):
            yield f"{one.name}: only {one.side} has values, so that it is not judged"


def _without_margin(rows: tuple[ObservedRow, ...]) -> Iterator[str]:
    for name in dict.fromkeys(row.metric for row in rows if row.margin is None):
        yield f"{name} has no margin: a difference can be found, and no effect cannot (--margin {name}=…)"
