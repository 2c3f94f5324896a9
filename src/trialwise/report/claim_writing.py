"""Write the sentences of an analysis: what holds for further trials, what is only described, what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from trialwise import statistics as st
from trialwise.analysis.results import Analysis, MetricAnalysis, SeriesKpi, SeriesVariability
from trialwise.analysis.trial_columns import TrialMetric
from trialwise.experiment.model import Kpi
from trialwise.experiment.stopping import goals_of
from trialwise.numbers import first_of
from trialwise.report.claim_words import (
    are,
    cautions,
    counts_remark,
    link,
    macro_words,
    noun_for,
    of_several,
    of_treatment,
    percentile_text,
    populations_text,
    range_text,
    reason_text,
    sentence,
    series_dates,
    verb_for,
    which_series,
)
from trialwise.report.claims import Claim, Piece, Standing, in_order, objective_text, scored
from trialwise.report.macros import MacroNames
from trialwise.report.numbers import Basis, Number, counted, ordinal, percent
from trialwise.store.first_value import after_failures


def claims(analysis: Analysis) -> tuple[Claim, ...]:
    """Return all sentences: first what holds for further trials, metric by metric, then what happened on the way."""
    writer = _Writer(analysis)
    return (*writer.about_metrics(), *writer.remarks())


_MAX_SINGLE = 12
"""Maximum number of single trials that get a sentence each."""
_MAX_NAMED = 5
"""Metrics without a claim that are named."""


class _Writer:
    """Writes the sentences of one analysis, and gives each macro a unique name."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._macros = MacroNames()
        self._extends = populations_text(analysis)
        self._dates = series_dates(analysis)
        self._estimated = _only_estimated(analysis)

    def about_metrics(self) -> Iterable[Claim]:
        unclaimed: dict[bool, list[str]] = {}
        for index, found in enumerate(self._analysis.metrics):
            at = f"/metrics/{index}"
            for objective in found.metric.kpis:
                yield from self._about_kpis(found, objective, f"{at}/kpis")
            for kpi in scored(found):
                yield from self._about_scores(found, kpi, f"{at}/variability")
            yield from self._single(found, f"{at}/trials")
            if not found.kpis and not found.variability and found.metric.name not in self._estimated:
                if goals_of(found.metric):
                    text = f"What is known of {found.metric.name} stands under the claims that the experiment waits for."
                    yield Claim("remark", (text,), metric=found.metric.name)
                else:
                    unclaimed.setdefault(bool(found.metric.kpis), []).append(found.metric.name)
        for is_asked, names in unclaimed.items():
            reasons = [each.reason or each.status for each in self._analysis.failures]
            yield _nothing(names, is_asked=is_asked, reasons=reasons)
        if self._estimated:
            yield self._only_estimated()

    def remarks(self) -> Iterable[Claim]:
        """Write counts of trials, changes of the environment, and the notes of the analysis."""
        yield counts_remark(self._analysis)
        for note in self._analysis.notes:
            yield Claim("remark", (sentence(note),))

    # Single trials

    def _single(self, found: MetricAnalysis, at: str) -> Iterable[Claim]:
        """Report each trial if a treatment has only one per series, made of samples: nothing else mentions them."""
        if len(found.trials) > _MAX_SINGLE:
            return
        counts = Counter((trial.treatment, trial.series) for trial in found.trials)
        if max(counts.values(), default=2) > 1:
            return
        for place, trial in enumerate(found.trials):
            if trial.samples > 1 and trial.value is not None:
                yield self._trial(found, trial, f"{at}/{place}")

    def _trial(self, found: MetricAnalysis, trial: TrialMetric, at: str) -> Claim:
        measure = found.metric.measure
        what = measure if isinstance(measure, str) else ordinal(measure)
        pieces: list[Piece] = [
            f"The one trial{' of series ' + trial.series if len(self._analysis.series) > 1 else ''}",
            *of_treatment(trial.treatment),
            f" has a {what} of {found.metric.name} of ",
            Number(trial.value, f"{at}/value", found.metric.unit),
            " (",
            Number(trial.samples, f"{at}/samples"),
            " samples).",
        ]
        asked = found.metric.convergence
        if asked is not None:
            test = f" (confidence {percent(asked.confidence)}, tolerance {percent(asked.tolerance)})"
            if trial.converged:
                pieces.append(
                    f" It converged{test}: a longer trial would give the same within the tolerance."
                )
            else:
                why = trial.convergence.reason if trial.convergence else trial.reason
                pieces.append(f" It did not converge{test}: {sentence(why or 'the test was not passed')}")
        return Claim(
            "descriptive", tuple(pieces), "the trial", found.metric.name, trial.treatment, trial.series
        )

    # KPIs

    def _about_kpis(self, found: MetricAnalysis, objective: Kpi, at: str) -> Iterable[Claim]:
        """Write one sentence for a treatment's series that hold, one for those that are descriptive, one for all that lack trials."""
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
        """Return the bound, and the number of trials that it rests on."""
        if kpi.result is None:
            raise ValueError("a KPI without a result has no value")
        objective = kpi.objective
        macro = self._macros.name(
            found.metric.name, kpi.treatment, "series", kpi.series, *macro_words(objective)
        )
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
            *of_treatment(kpi.treatment),
            f" have a {found.metric.name} of at {'least' if lower else 'most'} ",
        ]
        pieces += self._values(found, members)
        pieces += [f"; {ordinal(objective.percentile)}, {objective.bound} bound, {method}.", self._extends]
        pieces += cautions([member for member, _ in members])
        return _claim("claim", pieces, found, kpi)

    def _described(self, found: MetricAnalysis, members: Sequence[tuple[SeriesKpi, str]]) -> Claim:
        kpi = members[0][0]
        objective, method = kpi.objective, kpi.result.method if kpi.result else ""
        pieces: list[Piece] = [
            f"Descriptive only: the {percent(objective.confidence)} {objective.bound} bound on the ",
            f"{ordinal(objective.percentile)} of {found.metric.name}",
            *of_treatment(kpi.treatment),
            " comes out at ",
            *self._values(found, members),
            f"; {method}. It describes these trials and predicts no others, because a test failed: ",
            sentence(
                "; ".join(f"series {member.series}: {reason_text(member.note)}" for member, _ in members)
            ),
        ]
        return _claim("descriptive", pieces, found, kpi)

    def _values(self, found: MetricAnalysis, members: Sequence[tuple[SeriesKpi, str]]) -> Iterable[Piece]:
        """Write the bound in each series, with what it rests on."""
        for place, (member, at) in enumerate(members):
            value, count = self._value(found, member, at)
            yield from (link(place, len(members)), value, " (n = ", count, f" {noun_for(member.n, 'trial')}")
            yield f", series {member.series}{self._dates.get(member.series, '')})"

    def _refused(self, found: MetricAnalysis, kpi: SeriesKpi) -> Claim:
        pieces: list[Piece] = [
            f"No claim on the {ordinal(kpi.objective.percentile)} of {found.metric.name}",
            *of_treatment(kpi.treatment),
            f" in series {kpi.series}: {sentence(kpi.note or 'there is no value')}",
        ]
        return _claim("refusal", pieces, found, kpi)

    def _short(self, found: MetricAnalysis, members: Sequence[SeriesKpi]) -> Claim:
        """Write one sentence on all series that have too few trials for an objective."""
        objective = members[0].objective
        counts = [kpi.n for kpi in members]
        needed = max(kpi.result.needed for kpi in members if kpi.result)
        pieces: list[Piece] = [
            f"No claim on the {ordinal(objective.percentile)} of {found.metric.name}",
            *of_several([kpi.treatment for kpi in members]),
            f" in {which_series(members)}: the {percent(objective.confidence)} {objective.bound} bound needs {needed} ",
            f"trials; there {are(counts)}. What lifts this: {counted(needed - min(counts), 'more round')} in each series, ",
            "or a lower confidence or a less extreme percentile.",
        ]
        return _claim("refusal", pieces, found, members[0])

    def _only_estimated(self) -> Claim:
        names = list(self._estimated)
        which = "".join(f"{link(place, len(names))}{name}" for place, name in enumerate(names))
        text = (
            f"What is known of {which} stands under Estimates, with intervals. A KPI takes one number for each trial: "
            '`kpi = { percentile = …, confidence = … }` on a metric with estimand = "per_trial".'
        )
        return Claim("remark", (text,))

    # Variability

    def _about_scores(self, found: MetricAnalysis, kpi: Kpi | None, at: str) -> Iterable[Claim]:
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
        what = percentile_text(score.kpi)
        macro = self._macros.name(found.metric.name, score.treatment, "score", *macro_words(score.kpi))
        unit, basis = found.metric.unit, Basis(score.n, score.objective.confidence, result.method)
        low = Number(result.low, f"{at}/result/low", unit, "down", basis, self._macros.name(macro, "low"))
        high = Number(result.high, f"{at}/result/high", unit, "up", basis, self._macros.name(macro, "high"))
        width = Number(result.score, f"{at}/result/score", unit, "up", basis, macro)
        joint = Number(result.joint_confidence, f"{at}/result/joint_confidence", "%", "down")
        chance = Number(result.prediction, f"{at}/result/prediction", "%", "down")
        begin = f"With {percent(score.objective.confidence)} confidence, " + range_text(
            score.objective.percentile
        )
        pieces: list[Piece] = [
            f"Descriptive only: {begin[0].lower()}{begin[1:]}" if score.descriptive else begin,
            *of_treatment(score.treatment),
            f" {verb_for(score.objective.percentile)} {what} of {found.metric.name} between ",
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
            pieces.append(f" It describes these series and predicts no others: {sentence(reason_text(why))}")
        return _claim("descriptive" if score.descriptive else "claim", pieces, found, score)

    def _score_refused(self, found: MetricAnalysis, members: Sequence[SeriesVariability]) -> Claim:
        objective, counts = members[0].objective, [score.n for score in members]
        needed = max((score.result.needed for score in members if score.result), default=None)
        pieces: list[Piece] = [
            f"No claim on how {percentile_text(members[0].kpi)} of {found.metric.name}",
            *of_several([score.treatment for score in members]),
            " moves from series to series: ",
        ]
        if needed is None:
            pieces.append(sentence(members[0].note or "no series has this KPI"))
        else:
            more = counted(needed - min(counts), "more series", "more series")
            pieces += [
                f"{range_text(objective.percentile)} at {percent(objective.confidence)} confidence needs {needed} series ",
                f"with this KPI; there {are(counts)}. What lifts this: {more}.",
            ]
        return _claim("refusal", pieces, found, members[0])


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


def _nothing(names: Sequence[str], *, is_asked: bool, reasons: list[str]) -> Claim:
    """Write one sentence on all metrics of which no KPI is asked for, or without a value for those that are."""
    several = f"{len(names)} metrics ({first_of(names, _MAX_NAMED)})" if len(names) > 1 else names[0]
    which, metric = ("the metrics", None) if len(names) > 1 else ("the metric", names[0])
    why = (
        f"no trial has given a value yet. What lifts this: {after_failures(reasons)}."
        if is_asked
        else "no KPI is asked for. What lifts this: add "
        f"`kpi = {{ percentile = …, confidence = … }}` to {which}, or --objective percentile=50 for files."
    )
    topic = "" if metric else "metrics without a claim"
    return Claim("refusal", (f"Nothing is claimed about {several}: {why}",), topic, metric)


def _only_estimated(analysis: Analysis) -> tuple[str, ...]:
    """Return the metrics that have estimates and no KPI in the experiment file."""
    known = {one.metric for one in analysis.estimation.estimates} if analysis.estimation else set[str]()
    return tuple(
        found.metric.name
        for found in analysis.metrics
        if not found.metric.kpis and not found.kpis and found.metric.name in known
    )
