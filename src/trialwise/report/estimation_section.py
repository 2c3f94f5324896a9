"""The section of a report, and the part of the text, on what is estimated from simulated trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.analysis.estimation.results import DurationAdvice, Estimation, MetricEstimate
from trialwise.experiment.quantity import duration_text
from trialwise.report.estimation_tables import estimate_scales, estimation_tables, interval_words
from trialwise.report.estimation_text import controlled_words
from trialwise.report.figures.estimation import estimation_figures
from trialwise.report.figures.looks import Look
from trialwise.report.figures.sheets import Sheet
from trialwise.report.numbers import counted, percent
from trialwise.report.section import FigureGroup, Line, Part, Section, part

_ESTIMANDS = (
    "Pooled is of all flows of all trials, with trials as the unit of the interval; per trial is the mean over trials of each one's "
    "own number; with few flows a trial they differ by tens of percent, and neither is a check of the other"
)


def estimation_section(
    found: Estimation, looks: Mapping[str, Look], names: Mapping[str, str], sheets: dict[str, Sheet]
) -> Section:
    """The section; figures put their data into `sheets`."""
    figures = tuple(estimation_figures(found, looks, names, sheets))
    groups = [
        FigureGroup(title, chosen)
        for title, chosen in (
            ("By treatment", tuple(one for one in figures if one.key.startswith(("estimates", "slowdowns")))),
            (
                "Duration of a trial",
                tuple(one for one in figures if one.key.startswith(("duration", "phases"))),
            ),
        )
        if chosen
    ]
    refused = sum(one.own.estimate is None for one in found.estimates)
    return Section(
        verdict=f"{counted(len(found.estimates) - refused, 'estimate')}"
        + (f", {refused} refused" if refused else ""),
        notes=(_ESTIMANDS, *found.remarks),
        warnings=found.notes,
        parts=tuple(_parts(found, names)),
        groups=tuple(groups),
        tables=tuple(estimation_tables(found, names)),
    )


def _parts(found: Estimation, names: Mapping[str, str]) -> Iterator[Part]:
    refused = [
        Line(f"{one.metric}, {names.get(one.treatment, one.treatment)}: {one.own.note}", "refusal", "refused")
        for one in found.estimates
        if one.own.estimate is None
    ]
    yield from part("Refused", refused)
    known = [_line(one, found, names) for one in found.estimates if one.own.estimate is not None]
    yield from part("Estimates", known, more="; the table has all")
    yield from part("Duration of a trial", [Line(text) for text in duration_lines(found.durations, names)])


def _line(one: MetricEstimate, found: Estimation, names: Mapping[str, str]) -> Line:
    """The estimate of a metric and treatment by its estimand, with what control variates make of it."""
    own, shown = one.own, estimate_scales(found)[one.metric]
    pieces = [f"{interval_words(own, shown)} {shown.unit}".rstrip(), f"n = {counted(own.trials, 'trial')}"]
    pieces += [percent(own.confidence), *([own.convention.replace("_", " ")] if own.convention else [])]
    pieces.append(own.method)
    text = f"{one.metric}, {names.get(one.treatment, one.treatment)}: {own.what} {', '.join(pieces)}"
    if one.controlled is not None:
        text += f"; with control variates {controlled_words(one, shown)}"
        text += "".join(f"; {warning}" for warning in one.controlled.result.warnings)
    text += f"; {own.note}" if own.note else ""
    return Line(text, "descriptive" if own.note else "claim", own.estimand.replace("_", " "))


def duration_lines(all_advice: tuple[DurationAdvice, ...], names: Mapping[str, str]) -> Iterator[str]:
    """What the duration of trials does to each quantile, in words."""
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
