"""Words from which the sentences of claims are assembled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from trialwise.analysis.results import Analysis, SeriesKpi
from trialwise.experiment.model import Kpi
from trialwise.report.claims import Claim, Piece
from trialwise.report.document import Name
from trialwise.report.numbers import Number, counted, ordinal, percent


def cautions(members: Sequence[SeriesKpi]) -> list[Piece]:
    """Write sentences on each KPI's notes, and on tests of independence that could not be made."""
    notes = dict.fromkeys(member.note for member in members if member.note)
    found: list[Piece] = [f" Note: {sentence(note)}" for note in notes]
    untested = [
        member.result.independence.reason
        for member in members
        if member.result and member.result.independent is None
    ]
    found += [f" Independence could not be tested: {sentence(reason)}" for reason in dict.fromkeys(untested)]
    return found


def link(place: int, count: int) -> str:
    """Return what precedes an item of a list: nothing, a comma, or "and"."""
    return "" if place == 0 else " and " if place == count - 1 else ", "


def are(counts: Sequence[int]) -> str:
    """Write the number of trials or series, as "are 3 to 5"."""
    low, high = min(counts), max(counts)
    return f"{'is' if high == 1 else 'are'} {high}" if low == high else f"are {low} to {high}"


def which_series(members: Sequence[SeriesKpi]) -> str:
    """Name the one series of these KPIs, or count them."""
    labels = dict.fromkeys(kpi.series for kpi in members)
    return f"series {next(iter(labels))}" if len(labels) == 1 else f"{len(members)} series of trials"


def of_several(treatments: Sequence[str]) -> list[Piece]:
    """Name the treatments, or count them if the list would be long."""
    names = [name for name in dict.fromkeys(treatments) if name != "-"]
    if len(names) > _NAMED:
        return [f" of {len(names)} treatments (named in the table)"]
    pieces: list[Piece] = []
    for place, name in enumerate(names):
        pieces += [link(place, len(names)) if place else " of ", Name(name)]
    return pieces


_NAMED = 4
"""Maximum number of treatments named; more are counted."""


def of_treatment(treatment: str) -> tuple[Piece, ...]:
    """Name a treatment; nothing if the table has no treatments."""
    return () if treatment == "-" else (" of ", Name(treatment))


def percentile_text(kpi: Kpi | None) -> str:
    """Describe the bound that a KPI is; None stands for a given one."""
    if kpi is None:
        return "the given KPI"
    return f"the {ordinal(kpi.percentile)} ({kpi.bound} bound)"


def macro_words(kpi: Kpi | None) -> tuple[str, ...]:
    """Return what distinguishes the macros of one objective from those of another."""
    if kpi is None:
        return ("given",)
    return f"p{kpi.percentile:.10g}", f"at{kpi.confidence:.10g}", kpi.bound


def noun_for(count: int, noun: str) -> str:
    """Return a noun in the form that follows its count."""
    return noun if count == 1 else f"{noun}s"


def range_text(percentile: float) -> str:
    """Describe the share of all series that a variability score covers."""
    low = min(percentile, 100 - percentile)
    if low == 50:
        return "the median series"
    return f"the middle {percent(round(100 - 2 * low, 10))} of series"


def verb_for(percentile: float) -> str:
    """Return the verb after `range_text`."""
    return "has" if percentile == 50 else "have"


def sentence(text: str) -> str:
    """Write a remark as a sentence, with its full stop."""
    kept = text.strip().rstrip(".;")
    return f"{kept}." if kept else ""


def reason_text(note: str | None) -> str:
    """Say why something is only descriptive, without repeating that it is."""
    return (note or "see the tables").replace("descriptive only: ", "")


def populations_text(analysis: Analysis) -> str:
    """Say which populations the sampled factors let a claim extend to; empty if there are none."""
    parts = [
        _population_text(place.factor, place.size, place.origin, place.low, place.high)
        for place in analysis.populations
    ]
    return f" It extends to trials with {' and '.join(parts)}." if parts else ""


def _population_text(
    factor: str, size: int | None, origin: str, low: float | None, high: float | None
) -> str:
    if size is None:
        return f"{factor} drawn from {low:g} to {high:g}"
    where = " of the list" if origin == "list" else f" of {origin}" if origin else ""
    return f"{factor} drawn from the {counted(size, 'value')}{where}"


def series_dates(analysis: Analysis) -> dict[str, str]:
    """Return the days (UTC) on which each series ran, as ", 2026-11-21" or ", 2026-11-21 to 2026-11-28"."""
    starts: dict[str, list[float]] = {}
    for found in analysis.metrics:
        places = found.trials.places
        if places.started is None:
            continue
        for (_, series), own in places.groups(np.flatnonzero(places.started > _OLDEST)).items():
            starts.setdefault(series, []).extend((places.started[own].min(), places.started[own].max()))
    return {series: f", {_days(min(times), max(times))}" for series, times in starts.items()}


_OLDEST = 1e8
"""Smaller times are counted from the start of an experiment, not from 1970."""


def _days(first: float, last: float) -> str:
    begin, end = (datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in (first, last))
    return begin if begin == end else f"{begin} to {end}"


def counts_remark(analysis: Analysis) -> Claim:
    """Say how many trials were planned, and what became of them."""
    counts = analysis.counts
    if analysis.plan is None:
        trials = f" {noun_for(analysis.planned, 'trial')}."
        return Claim("remark", ("The table holds ", Number(analysis.planned, "/planned"), trials))
    repeated = sum(counts.values()) > analysis.planned
    whose = "Of all attempts at " if repeated else "Of "
    pieces: list[Piece] = [whose, Number(analysis.planned, "/planned"), " planned trials, "]
    present = [status for status in _STATUSES if counts.get(status)] or ["finished"]
    for place, status in enumerate(present):
        pieces += [
            link(place, len(present)),
            Number(counts.get(status, 0), f"/counts/{status}"),
            f" {_STATUSES[status][counts.get(status, 0) != 1]}",
        ]
    return Claim("remark", (*pieces, "." if len(present) == 1 else "; each attempt is listed."))


_AGAIN = "(and run again where the plan went on)"
_STATUSES = {
    "finished": ("finished", "finished"),
    "failed": ("failed", "failed"),
    "invalid": ("gave no valid result", "gave no valid result"),
    "excluded": ("was left out", "were left out"),
    "abandoned": (f"was abandoned {_AGAIN}", f"were abandoned {_AGAIN}"),
    "running": ("was running", "were running"),
    "planned": ("has not run", "have not run"),
    "skipped": ("was skipped", "were skipped"),
}
"""What happened to one trial, and to several."""
