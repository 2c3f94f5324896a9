"""Sentences about an experiment that can be pasted into a paper, each with its numbers as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from trialwise.analysis.results import (
    Analysis,
    MetricAnalysis,
    SeriesIndependence,
    SeriesKpi,
    SeriesVariability,
)
from trialwise.experiment.model import Kpi
from trialwise.report.macros import MacroNames
from trialwise.report.numbers import Number, counted, ordinal, percent

Standing = Literal["claim", "descriptive", "refusal", "remark"]


@dataclass(frozen=True, slots=True)
class Term:
    """A name that the user gave, set apart from the words around it."""

    text: str


Piece = str | Number | Term


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence. `standing` says what it is worth: a claim about further trials, a description of these, a refusal.

    Sentences of one `topic` answer one objective.
    """

    standing: Standing
    pieces: tuple[Piece, ...]
    topic: str = ""
    metric: str | None = None
    treatment: str | None = None
    series: str | None = None

    @property
    def text(self) -> str:
        """The sentence as plain text."""
        return "".join(_plain(piece) for piece in self.pieces)

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The numbers in the sentence."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Number))


def _plain(piece: Piece) -> str:
    if isinstance(piece, Number):
        return piece.with_unit
    return f"`{piece.text}`" if isinstance(piece, Term) else piece


def claims(analysis: Analysis) -> tuple[Claim, ...]:
    """All sentences: first what holds for trials to come, metric by metric, then what happened on the way."""
    writer = _Writer(analysis)
    return (*writer.about_metrics(), *writer.remarks())


class _Writer:
    """Writes the sentences of one analysis; hands out the names of macros, each once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._macros = MacroNames()
        self._extends = _populations_text(analysis)
        self._dates = _dates(analysis)

    def about_metrics(self) -> Iterable[Claim]:
        for index, found in enumerate(self._analysis.metrics):
            at = f"/metrics/{index}"
            for place in in_order(self._analysis, found, found.kpis):
                yield self._kpi(found, found.kpis[place], f"{at}/kpis/{place}")
            for place in in_order(self._analysis, found, found.variability):
                yield self._variability(found, found.variability[place], f"{at}/variability/{place}")
            if not found.kpis:
                yield self._no_objective(found)

    def remarks(self) -> Iterable[Claim]:
        """Counts of trials, changes of the environment, and what the analysis noted."""
        yield self._counts()
        boots = len(self._analysis.boots)
        if boots > 1:
            text = " boots of the machine; the boot is recorded with every trial."
            yield Claim("remark", ("The trials ran in ", Number(boots, "/boots"), text))
        for note in self._analysis.notes:
            yield Claim("remark", (_sentence(note),))

    # KPIs

    def _kpi(self, found: MetricAnalysis, kpi: SeriesKpi, at: str) -> Claim:
        result = kpi.result
        if result is None or result.value is None:
            return self._refused(found, kpi)
        rounding = "down" if kpi.objective.bound == "lower" else "up"
        macro = self._macros.name(
            found.metric.name, kpi.treatment, "series", kpi.series, *_words(kpi.objective)
        )
        value = Number(
            result.value,
            f"{at}/result/value",
            found.metric.unit,
            rounding,
            kpi.n,
            kpi.objective.confidence,
            result.method,
            macro,
        )
        count = Number(kpi.n, f"{at}/n", macro=self._macros.name(macro, "trials"))
        if kpi.descriptive:
            return self._described(found, kpi, value, count)
        return self._claimed(found, kpi, value, count)

    def _claimed(self, found: MetricAnalysis, kpi: SeriesKpi, value: Number, count: Number) -> Claim:
        objective = kpi.objective
        lower = objective.bound == "lower"
        share = round(100 - objective.percentile if lower else objective.percentile, 10)
        pieces: list[Piece] = [
            f"With {percent(objective.confidence)} confidence, at least {percent(share)} of trials",
            *_of(kpi.treatment),
            f" have a {found.metric.name} of ",
            value,
            " or more" if lower else " or less",
            f" ({ordinal(objective.percentile)}, {objective.bound} bound, {value.method}, n = ",
            count,
            f" {_noun(kpi.n, 'trial')}, series {kpi.series}{self._dates.get(kpi.series, '')}).",
            self._extends,
        ]
        if kpi.note:
            pieces.append(f" Note: {_sentence(kpi.note)}")
        if kpi.result is not None and kpi.result.independent is None:
            pieces.append(f" Independence could not be tested: {_sentence(kpi.result.independence.reason)}")
        return _claim("claim", pieces, found, kpi)

    def _described(self, found: MetricAnalysis, kpi: SeriesKpi, value: Number, count: Number) -> Claim:
        objective = kpi.objective
        pieces: list[Piece] = [
            f"Descriptive only: over the {_noun(kpi.n, 'trial')}",
            *_of(kpi.treatment),
            f" in series {kpi.series}{self._dates.get(kpi.series, '')} (n = ",
            count,
            f"), the {percent(objective.confidence)} {objective.bound} bound on the {ordinal(objective.percentile)}"
            f" of {found.metric.name} comes out at ",
            value,
            f" ({value.method}). It describes these trials and predicts no others, because a test failed: "
            f"{_sentence(kpi.note or 'see the tables')}",
        ]
        return _claim("descriptive", pieces, found, kpi)

    def _refused(self, found: MetricAnalysis, kpi: SeriesKpi) -> Claim:
        objective = kpi.objective
        pieces: list[Piece] = [
            f"No claim on the {ordinal(objective.percentile)} of {found.metric.name}",
            *_of(kpi.treatment),
            f" in series {kpi.series}: {_sentence(kpi.note or 'there is no value')}",
        ]
        needed = kpi.result.needed if kpi.result else None
        if needed is not None and needed > kpi.n:
            more = counted(needed - kpi.n, "more round")
            pieces.append(
                f" What lifts this: {more} in the series, or a lower confidence or percentile asked for."
            )
        return _claim("refusal", pieces, found, kpi)

    def _no_objective(self, found: MetricAnalysis) -> Claim:
        text = (
            f"Nothing is claimed about {found.metric.name}: no KPI is asked for. What lifts this: add "
            "`kpi = { percentile = …, confidence = … }` to the metric, or --objective for a table."
        )
        return Claim("refusal", (text,), metric=found.metric.name)

    # Variability

    def _variability(self, found: MetricAnalysis, score: SeriesVariability, at: str) -> Claim:
        result = score.result
        what = f"the {ordinal(score.kpi.percentile)} ({score.kpi.bound} bound)"
        if result is None or result.low is None or result.high is None:
            return self._score_refused(found, score, what)
        macro = self._macros.name(found.metric.name, score.treatment, "score", *_words(score.kpi))
        unit = found.metric.unit
        known = {"n": score.n, "level": score.objective.confidence, "method": result.method}
        low = Number(
            result.low, f"{at}/result/low", unit, "down", macro=self._macros.name(macro, "low"), **known
        )
        high = Number(
            result.high, f"{at}/result/high", unit, "up", macro=self._macros.name(macro, "high"), **known
        )
        width = Number(result.score, f"{at}/result/score", unit, "up", macro=macro, **known)
        joint = Number(result.joint_confidence, f"{at}/result/joint_confidence", "%", "down", n=score.n)
        chance = Number(result.prediction, f"{at}/result/prediction", "%", "down", n=score.n)
        begin = f"With {percent(score.objective.confidence)} confidence, " + _range_text(
            score.objective.percentile
        )
        pieces: list[Piece] = [
            f"Descriptive only: {begin[0].lower()}{begin[1:]}" if score.descriptive else begin,
            *_of(score.treatment),
            f" {_verb(score.objective.percentile)} {what} of {found.metric.name} between ",
            low,
            " and ",
            high,
            " (variability score ",
            width,
            f", {result.method}, n = ",
            Number(score.n, f"{at}/n"),
            " series; both bounds together: ",
            joint,
            " confidence). The next series like these falls in between with a chance of ",
            chance,
            ".",
        ]
        if score.descriptive:
            why = score.note or "a test failed in one of the series"
            pieces.append(f" It describes these series and predicts no others: {_sentence(why)}")
        return _claim("descriptive" if score.descriptive else "claim", pieces, found, score)

    def _score_refused(self, found: MetricAnalysis, score: SeriesVariability, what: str) -> Claim:
        pieces: list[Piece] = [
            f"No claim on how {what} of {found.metric.name}",
            *_of(score.treatment),
            f" moves from series to series: {_sentence(score.note or 'there are too few series')}",
        ]
        needed = score.result.needed if score.result else None
        if needed is not None and needed > score.n:
            pieces.append(f" What lifts this: {counted(needed - score.n, 'more series', 'more series')}.")
        return _claim("refusal", pieces, found, score)

    # The course of the experiment

    def _counts(self) -> Claim:
        counts = self._analysis.counts
        pieces: list[Piece] = ["Of ", Number(self._analysis.planned, "/planned"), " planned trials, "]
        present = [status for status in _STATUSES if counts.get(status)] or ["finished"]
        for place, status in enumerate(present):
            pieces.append("" if place == 0 else " and " if place == len(present) - 1 else ", ")
            pieces += [Number(counts.get(status, 0), f"/counts/{status}"), f" {_STATUSES[status]}"]
        return Claim("remark", (*pieces, "." if len(present) == 1 else "; each attempt is listed."))


def in_order(
    analysis: Analysis,
    found: MetricAnalysis,
    items: Sequence[SeriesKpi] | Sequence[SeriesVariability] | Sequence[SeriesIndependence],
) -> list[int]:
    """The places of items by objective, treatment and series, as the experiment file has them."""
    treatments = {name: place for place, name in enumerate(analysis.treatments)}
    series = {name: place for place, name in enumerate(analysis.series)}
    objectives = {kpi: place for place, kpi in enumerate(found.metric.kpis)}

    def key(place: int) -> tuple[int, int, int]:
        item = items[place]
        objective = item.objective if isinstance(item, SeriesKpi) else getattr(item, "kpi", None)
        return (
            objectives.get(objective, 0) if objective else 0,
            treatments.get(item.treatment, 0),
            series.get(getattr(item, "series", ""), 0),
        )

    return sorted(range(len(items)), key=key)


_STATUSES = {
    "finished": "finished",
    "failed": "failed",
    "invalid": "gave no valid result",
    "abandoned": "were abandoned (and run again where the plan went on)",
    "running": "were running",
    "planned": "have not run yet",
}


def _claim(
    standing: Standing, pieces: Sequence[Piece], found: MetricAnalysis, about: SeriesKpi | SeriesVariability
) -> Claim:
    kept = tuple(piece for piece in pieces if piece != "")
    if isinstance(about, SeriesKpi):
        return Claim(
            standing, kept, objective_text(about.objective), found.metric.name, about.treatment, about.series
        )
    topic = f"from series to series: {objective_text(about.kpi)}"
    return Claim(standing, kept, topic, found.metric.name, about.treatment)


def objective_text(kpi: Kpi) -> str:
    """A KPI as its objective states it: "25th percentile, lower bound, 95 %"."""
    return f"{ordinal(kpi.percentile)}, {kpi.bound} bound, {percent(kpi.confidence)}"


def _of(treatment: str) -> tuple[Piece, ...]:
    return () if treatment == "-" else (" of ", Term(treatment))


def _words(kpi: Kpi) -> tuple[str, ...]:
    return f"p{kpi.percentile:.10g}", f"at{kpi.confidence:.10g}", kpi.bound


def _noun(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _range_text(percentile: float) -> str:
    low = min(percentile, 100 - percentile)
    if low == 50:
        return "the median series"
    return f"the middle {percent(round(100 - 2 * low, 10))} of series"


def _verb(percentile: float) -> str:
    return "has" if percentile == 50 else "have"


def _sentence(text: str) -> str:
    """A remark as a sentence, with its full stop."""
    kept = text.replace("descriptive only: ", "").strip().rstrip(".;")
    return f"{kept}." if kept else ""


def _populations_text(analysis: Analysis) -> str:
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
    where = f" of {origin}" if origin else ""
    return f"{factor} drawn from the {counted(size, 'value')}{where}"


def _dates(analysis: Analysis) -> dict[str, str]:
    """The days (UTC) on which each series ran, as ", 2026-11-21" or ", 2026-11-21 to 2026-11-28"."""
    starts: dict[str, list[float]] = {}
    for found in analysis.metrics:
        for trial in found.trials:
            if trial.started is not None and trial.started > _OLDEST:
                starts.setdefault(trial.series, []).append(trial.started)
    return {series: f", {_days(min(times), max(times))}" for series, times in starts.items()}


_OLDEST = 1e8
"""Smaller times are counted from the start of an experiment, not from 1970."""


def _days(first: float, last: float) -> str:
    begin, end = (datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in (first, last))
    return begin if begin == end else f"{begin} to {end}"
