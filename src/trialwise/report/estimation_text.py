"""Estimates as `analyze` prints them in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialwise.analysis.estimation.results import (
    ControlledEstimate,
    DurationAdvice,
    Estimation,
    MetricEstimate,
)
from trialwise.experiment.quantity import duration_text
from trialwise.measurement.list_controls import FEATURES
from trialwise.report.document import Name, Table, table_of
from trialwise.report.estimation_tables import (
    bias_words,
    estimate_scales,
    interval_words,
    levels_words,
    other_words,
)
from trialwise.report.numbers import ABSENT, percent, write
from trialwise.report.units import Scale

_COLUMNS = (
    "",
    "estimate",
    "trials",
    "samples",
    "design effect",
    "the other estimand",
    "with control variates",
)
_NUMERIC = {"trials", "samples", "design effect"}


def estimate_blocks(found: Estimation, names: Mapping[str, str]) -> Iterator[tuple[Table, tuple[str, ...]]]:
    """Yield a table for each metric, whose caption names the estimand, with the reasons for refusals."""
    by_metric: dict[str, list[MetricEstimate]] = {}
    for one in found.estimates:
        by_metric.setdefault(one.metric, []).append(one)
    scales = estimate_scales(found)
    for name, members in by_metric.items():
        yield _table(members, names, scales[name]), (*_notes(members, names), *_warnings(members, names))


def _table(members: Sequence[MetricEstimate], names: Mapping[str, str], shown: Scale) -> Table:
    """Return a row for each treatment; empty columns are left out."""
    first, rows = members[0].own, [_cells(one, names, shown) for one in members]
    kept = [place for place in range(len(_COLUMNS)) if any(row[place] != ABSENT for row in rows)]
    convention = f", {first.convention.replace('_', ' ')}" if first.convention else ""
    return table_of(
        key=f"estimates-{members[0].metric}",
        caption=f"{members[0].metric}{shown.heading}: {first.what} "
        f"({percent(first.confidence)}{convention}; {first.method or 'refused'})",
        titles=tuple(_COLUMNS[place] for place in kept),
        rows=tuple(tuple(Name(row[0]) if place == 0 else row[place] for place in kept) for row in rows),
        numeric={at for at, place in enumerate(kept) if _COLUMNS[place] in _NUMERIC},
    )


def _cells(one: MetricEstimate, names: Mapping[str, str], shown: Scale) -> tuple[str, ...]:
    own = one.own
    return (
        names.get(one.treatment, one.treatment),
        ABSENT if own.estimate is None else interval_words(own, shown),
        str(own.trials),
        str(own.samples),
        write(own.design_effect),
        other_words(one.other, shown),
        controlled_words(one, shown),
    )


def controlled_words(one: MetricEstimate, shown: Scale) -> str:
    """Write the interval with control variates, its gain, and which of both to use if not this one."""
    if one.controlled is None:
        return ABSENT
    result = one.controlled.result
    worth = f", gain {_gain(one.controlled)}" if result.usable else f" (use {one.controlled.used})"
    return f"{interval_words(result.controlled, shown)}{worth}"


def _gain(found: ControlledEstimate) -> str:
    """Write the gain in variance, and in time if that is known."""
    in_time = None if found.engine is None else found.engine.gain_in_time
    return write(found.result.gain) + ("" if in_time is None else f" ({write(in_time)} in time)")


def _notes(members: Sequence[MetricEstimate], names: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on estimates, each once, naming the estimates unless it applies to all."""
    said: dict[str, list[str]] = {}
    for one in members:
        other = f"the other estimand: {one.other.note}" if one.other and one.other.note else ""
        for note in filter(None, (one.own.note, other, one.controls_note)):
            said.setdefault(note, []).append(names.get(one.treatment, one.treatment))
    for note, whose in said.items():
        yield note if len(whose) == len(members) else f"{', '.join(whose)}: {note}"


def _warnings(members: Sequence[MetricEstimate], names: Mapping[str, str]) -> Iterator[str]:
    """Yield warnings about intervals with control variates, each once, naming the estimates unless it applies to all."""
    said: dict[str, list[str]] = {}
    for one in members:
        for engine in one.controlled.engines if one.controlled else ():
            off = f"engine {engine.engine} alone is off by {bias_words(engine)}, on which the controlled estimate does not depend"
            said.setdefault(off, []).append(names.get(one.treatment, one.treatment))
        if one.controlled is not None and one.controlled.levels is not None:
            chosen = levels_words(one.controlled.levels)
            said.setdefault(chosen, []).append(names.get(one.treatment, one.treatment))
        for warning in _warned(one.controlled):
            said.setdefault(warning, []).append(names.get(one.treatment, one.treatment))
    for warning, whose in said.items():
        of = "" if len(whose) == len(members) else f", {', '.join(whose)}"
        yield f"with control variates{of}: {warning}"


def _warned(found: ControlledEstimate | None) -> tuple[str, ...]:
    """Return the warnings of an estimate, and which engines among its controls say nothing that others do not."""
    if found is None:
        return ()
    engines = [name for name in found.dropped if name not in FEATURES]
    dropped = (
        f"left out of the controls, since others determine it or it does not vary: {name}" for name in engines
    )
    return (*dropped, *found.result.warnings)


def duration_lines(all_advice: tuple[DurationAdvice, ...], names: Mapping[str, str]) -> Iterator[str]:
    """Describe how the duration of trials affects each quantile."""
    for one in all_advice:
        name = names.get(one.treatment, one.treatment)
        phases = (
            f"warm-up until {duration_text(one.warmup_end)}"
            if one.warmup_end is not None
            else "no stable phase"
        )
        yield (
            f"{one.metric}, {name}, trials of {duration_text(one.duration)} ({phases}, cool-down of "
            f"{duration_text(one.drain)}): {'; '.join((*one.sentences, one.reason))}"
        )
