"""Sentences about an experiment that can be pasted into a paper, each with its numbers as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from trialwise import statistics as st
from trialwise.analysis.results import (
    Analysis,
    MetricAnalysis,
    SeriesIndependence,
    SeriesKpi,
    SeriesVariability,
)
from trialwise.experiment.model import Kpi
from trialwise.report.macros import MacroNames
from trialwise.report.numbers import Basis, Number, counted, ordinal, percent

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
            for objective in found.metric.kpis:
                yield from self._about_kpis(found, objective, f"{at}/kpis")
            for objective in found.metric.kpis:
                yield from self._about_scores(found, objective, f"{at}/variability")
            if not found.kpis:
                yield self._nothing(found)

    def remarks(self) -> Iterable[Claim]:
        """Counts of trials, changes of the environment, and what the analysis noted."""
        yield self._counts()
        for note in self._analysis.notes:
            yield Claim("remark", (_sentence(note),))

    # KPIs

    def _about_kpis(self, found: MetricAnalysis, objective: Kpi, at: str) -> Iterable[Claim]:
        """One sentence for the series of a treatment that hold, one for those that are descriptive, one for all that lack trials."""
        held: dict[str, list[tuple[SeriesKpi, str]]] = {}
        described: dict[str, list[tuple[SeriesKpi, str]]] = {}
        short: list[SeriesKpi] = []
        others: list[Claim] = []
        for place in in_order(self._analysis, found, found.kpis):
            kpi, here = found.kpis[place], f"{at}/{place}"
            if kpi.objective != objective:
                continue
            if kpi.result is None:
                others.append(self._refused(found, kpi))
            elif kpi.result.value is None:
                short.append(kpi)
            elif kpi.descriptive:
                described.setdefault(kpi.treatment, []).append((kpi, here))
            else:
                held.setdefault(kpi.treatment, []).append((kpi, here))
        yield from (self._claimed(found, members) for members in held.values())
        yield from (self._described(found, members) for members in described.values())
        yield from others
        if short:
            yield self._short(found, short)

    def _value(self, found: MetricAnalysis, kpi: SeriesKpi, at: str) -> tuple[Number, Number]:
        """The bound, and the number of trials that it rests on."""
        if kpi.result is None:
            raise ValueError("a KPI without a result has no value")
        objective = kpi.objective
        macro = self._macros.name(found.metric.name, kpi.treatment, "series", kpi.series, *_words(objective))
        value = Number(
            kpi.result.value,
            f"{at}/result/value",
            found.metric.unit,
            "down" if objective.bound == "lower" else "up",
            Basis(kpi.n, objective.confidence, kpi.result.method),
            macro,
        )
        return value, Number(kpi.n, f"{at}/n", macro=self._macros.name(macro, "trials"))

    def _claimed(self, found: MetricAnalysis, members: Sequence[tuple[SeriesKpi, str]]) -> Claim:
        kpi = members[0][0]
        objective, lower = kpi.objective, kpi.objective.bound == "lower"
        share = round(100 - objective.percentile if lower else objective.percentile, 10)
        method = kpi.result.method if kpi.result else ""
        pieces: list[Piece] = [
            f"With {percent(objective.confidence)} confidence"
            + (" in each series" if len(members) > 1 else "")
            + f", at least {percent(share)} of trials",
            *_of(kpi.treatment),
            f" have a {found.metric.name} of at {'least' if lower else 'most'} ",
        ]
        pieces += self._values(found, members)
        pieces += [f"; {ordinal(objective.percentile)}, {objective.bound} bound, {method}.", self._extends]
        pieces += _cautions([member for member, _ in members])
        return _claim("claim", pieces, found, kpi)

    def _described(self, found: MetricAnalysis, members: Sequence[tuple[SeriesKpi, str]]) -> Claim:
        kpi = members[0][0]
        objective, method = kpi.objective, kpi.result.method if kpi.result else ""
        pieces: list[Piece] = [
            f"Descriptive only: the {percent(objective.confidence)} {objective.bound} bound on the ",
            f"{ordinal(objective.percentile)} of {found.metric.name}",
            *_of(kpi.treatment),
            " comes out at ",
            *self._values(found, members),
            f"; {method}. It describes these trials and predicts no others, because a test failed: ",
            _sentence("; ".join(f"series {member.series}: {_reason(member.note)}" for member, _ in members)),
        ]
        return _claim("descriptive", pieces, found, kpi)

    def _values(self, found: MetricAnalysis, members: Sequence[tuple[SeriesKpi, str]]) -> Iterable[Piece]:
        """The bound in each series, with what it rests on."""
        for place, (member, at) in enumerate(members):
            value, count = self._value(found, member, at)
            yield from (_link(place, len(members)), value, " (n = ", count, f" {_noun(member.n, 'trial')}")
            yield f", series {member.series}{self._dates.get(member.series, '')})"

    def _refused(self, found: MetricAnalysis, kpi: SeriesKpi) -> Claim:
        pieces: list[Piece] = [
            f"No claim on the {ordinal(kpi.objective.percentile)} of {found.metric.name}",
            *_of(kpi.treatment),
            f" in series {kpi.series}: {_sentence(kpi.note or 'there is no value')}",
        ]
        return _claim("refusal", pieces, found, kpi)

    def _short(self, found: MetricAnalysis, members: Sequence[SeriesKpi]) -> Claim:
        """All series that have too few trials for one objective, in one sentence."""
        objective = members[0].objective
        counts = [kpi.n for kpi in members]
        needed = max(kpi.result.needed for kpi in members if kpi.result)
        pieces: list[Piece] = [
            f"No claim on the {ordinal(objective.percentile)} of {found.metric.name}",
            *_of_several([kpi.treatment for kpi in members]),
            f" in {_which_series(members)}: the {percent(objective.confidence)} {objective.bound} bound needs {needed} ",
            f"trials; there {_are(counts)}. What lifts this: {counted(needed - min(counts), 'more round')} in each series, ",
            "or a lower confidence or a less extreme percentile.",
        ]
        return _claim("refusal", pieces, found, members[0])

    def _nothing(self, found: MetricAnalysis) -> Claim:
        name = found.metric.name
        text = (
            f"Nothing is claimed about {name}: no KPI is asked for. What lifts this: add "
            "`kpi = { percentile = …, confidence = … }` to the metric, or --objective for a table."
        )
        if found.metric.estimand == "pooled":
            text = (
                f"No KPI of {name}: it is of all samples of all trials (pooled), and its intervals stand under Estimates. "
                'What lifts this: a KPI takes one number for each trial, estimand = "per_trial".'
            )
        if found.metric.kpis:
            text = f"Nothing is claimed about {name}: no trial has given a value yet. What lifts this: run the experiment."
        return Claim("refusal", (text,), metric=name)

    # Variability

    def _about_scores(self, found: MetricAnalysis, kpi: Kpi, at: str) -> Iterable[Claim]:
        short: list[SeriesVariability] = []
        for place in in_order(self._analysis, found, found.variability):
            score = found.variability[place]
            if score.kpi != kpi:
                continue
            if score.result is None or score.result.score is None:
                short.append(score)
            else:
                yield self._variability(found, score, score.result, f"{at}/{place}")
        if short:
            yield self._score_refused(found, short)

    def _variability(
        self, found: MetricAnalysis, score: SeriesVariability, result: st.Variability, at: str
    ) -> Claim:
        what = _what(score.kpi)
        macro = self._macros.name(found.metric.name, score.treatment, "score", *_words(score.kpi))
        unit, basis = found.metric.unit, Basis(score.n, score.objective.confidence, result.method)
        low = Number(result.low, f"{at}/result/low", unit, "down", basis, self._macros.name(macro, "low"))
        high = Number(result.high, f"{at}/result/high", unit, "up", basis, self._macros.name(macro, "high"))
        width = Number(result.score, f"{at}/result/score", unit, "up", basis, macro)
        joint = Number(result.joint_confidence, f"{at}/result/joint_confidence", "%", "down")
        chance = Number(result.prediction, f"{at}/result/prediction", "%", "down")
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
            pieces.append(f" It describes these series and predicts no others: {_sentence(_reason(why))}")
        return _claim("descriptive" if score.descriptive else "claim", pieces, found, score)

    def _score_refused(self, found: MetricAnalysis, members: Sequence[SeriesVariability]) -> Claim:
        objective, counts = members[0].objective, [score.n for score in members]
        needed = max((score.result.needed for score in members if score.result), default=None)
        pieces: list[Piece] = [
            f"No claim on how {_what(members[0].kpi)} of {found.metric.name}",
            *_of_several([score.treatment for score in members]),
            " moves from series to series: ",
        ]
        if needed is None:
            pieces.append(_sentence(members[0].note or "no series has this KPI"))
        else:
            more = counted(needed - min(counts), "more series", "more series")
            pieces += [
                f"{_range_text(objective.percentile)} at {percent(objective.confidence)} confidence needs {needed} series ",
                f"with this KPI; there {_are(counts)}. What lifts this: {more}.",
            ]
        return _claim("refusal", pieces, found, members[0])

    # The course of the experiment

    def _counts(self) -> Claim:
        counts = self._analysis.counts
        if self._analysis.plan is None:
            return Claim(
                "remark", ("The table holds ", Number(self._analysis.planned, "/planned"), " trials.")
            )
        pieces: list[Piece] = ["Of ", Number(self._analysis.planned, "/planned"), " planned trials, "]
        present = [status for status in _STATUSES if counts.get(status)] or ["finished"]
        for place, status in enumerate(present):
            pieces += [
                _link(place, len(present)),
                Number(counts.get(status, 0), f"/counts/{status}"),
                f" {_STATUSES[status]}",
            ]
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


def _cautions(members: Sequence[SeriesKpi]) -> list[Piece]:
    notes = dict.fromkeys(member.note for member in members if member.note)
    cautions: list[Piece] = [f" Note: {_sentence(note)}" for note in notes]
    untested = [
        member.result.independence.reason
        for member in members
        if member.result and member.result.independent is None
    ]
    cautions += [
        f" Independence could not be tested: {_sentence(reason)}" for reason in dict.fromkeys(untested)
    ]
    return cautions


def _link(place: int, count: int) -> str:
    return "" if place == 0 else " and " if place == count - 1 else ", "


def _are(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{'is' if high == 1 else 'are'} {high}" if low == high else f"are {low} to {high}"


def _which_series(members: Sequence[SeriesKpi]) -> str:
    labels = dict.fromkeys(kpi.series for kpi in members)
    return f"series {next(iter(labels))}" if len(labels) == 1 else f"{len(members)} series of trials"


def _of_several(treatments: Sequence[str]) -> list[Piece]:
    """The treatments by name, or how many they are where that would be a long list."""
    names = [name for name in dict.fromkeys(treatments) if name != "-"]
    if len(names) > _NAMED:
        return [f" of {len(names)} treatments (named in the table)"]
    pieces: list[Piece] = []
    for place, name in enumerate(names):
        pieces += [_link(place, len(names)) if place else " of ", Term(name)]
    return pieces


_NAMED = 4
"""More treatments than this are counted instead."""


def _of(treatment: str) -> tuple[Piece, ...]:
    return () if treatment == "-" else (" of ", Term(treatment))


def _what(kpi: Kpi) -> str:
    return f"the {ordinal(kpi.percentile)} ({kpi.bound} bound)"


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
    kept = text.strip().rstrip(".;")
    return f"{kept}." if kept else ""


def _reason(note: str | None) -> str:
    return (note or "see the tables").replace("descriptive only: ", "")


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
    where = " of the list" if origin == "list" else f" of {origin}" if origin else ""
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
