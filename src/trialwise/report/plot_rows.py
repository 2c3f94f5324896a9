"""The data of figures, as rows: interactive and printed figures draw the same ones. Computes nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trialwise.analysis.estimation.results import PooledCourse
from trialwise.analysis.results import Analysis, MetricAnalysis, TrialFailure
from trialwise.analysis.traces import TrialTrace
from trialwise.arrays import Array
from trialwise.experiment.model import Kpi, Level
from trialwise.experiment.placeholders import level_text
from trialwise.report.units import Scale
from trialwise.visible import visible

Value = str | float | int | bool | None
Row = dict[str, Value]

ALL = "all trials"
_FEW = 60
_CHARACTER = 0.008
"""Width of a label's character, as a share of the figure's width."""


def treatments(analysis: Analysis, found: MetricAnalysis) -> list[str]:
    """Return the treatments that have trials, in the order of the file."""
    there = set(found.trials.places.treatments)
    return [name for name in analysis.treatments if name in there]


def labels(analysis: Analysis) -> dict[str, str]:
    """Return each treatment's label in figures: its levels alone, or its whole name if levels are ambiguous."""
    factors = factor_names(analysis)
    firsts: dict[str, Mapping[str, Level]] = {}
    for found in analysis.metrics:
        for name, levels in found.trials.places.first_kinds():
            firsts.setdefault(name, levels)
    short = {
        name: ALL
        if name == "-"
        else " · ".join(level_text(levels[factor]) for factor in factors if factor in levels)
        for name, levels in firsts.items()
    }
    ordered = {name: visible(short[name]) for name in analysis.treatments if name in short}
    return (
        ordered if len(set(ordered.values())) == len(ordered) else {name: visible(name) for name in ordered}
    )


def factor_names(analysis: Analysis) -> list[str]:
    """Return the factors that make the treatments."""
    drawn = {population.factor for population in analysis.populations}
    trial = next((trial for found in analysis.metrics for trial in found.trials), None)
    return [name for name in trial.factors if name not in drawn] if trial else []


def labelled(rows: Sequence[Row], names: Mapping[str, str]) -> list[Row]:
    """Replace treatments in the rows by their labels."""
    return [{**row, "treatment": names[str(row["treatment"])]} if "treatment" in row else row for row in rows]


_IN_UNIT = ("value", "estimate", "bound", "low", "high", "lower", "upper", "score")
"""The fields in the metric's unit."""


def in_unit(rows: Sequence[Row], shown: Scale, fields: Sequence[str] = _IN_UNIT) -> list[Row]:
    """Convert some fields of the rows to the displayed unit."""
    if not shown.power:
        return list(rows)
    return [
        {
            name: cell * shown.factor if name in fields and isinstance(cell, int | float) else cell
            for name, cell in row.items()
        }
        for row in rows
    ]


def failure_rows(failures: Sequence[TrialFailure]) -> list[Row]:
    """Return one row for each attempt that failed, was abandoned or is invalid."""
    return [
        {
            "trial": failure.number,
            "treatment": failure.treatment,
            "series": failure.series,
            "status": failure.status,
            "reason": failure.reason or "",
        }
        for failure in failures
    ]


def series_starts(found: MetricAnalysis) -> list[Row]:
    """Return where each series from the second on begins in the order of trials, with its label if there is room.

    None if the trials of a series are not contiguous: then the order is not that of series, as in a table sorted by
    treatment.
    """
    by_number = sorted((trial.number, trial.series) for trial in found.trials)
    starts = [
        (number, f"series {series}")
        for (_, before), (number, series) in itertools.pairwise([(0, None), *by_number])
        if series != before
    ]
    if len(starts) != len({series for _, series in starts}):
        return []
    ends = [*(number for number, _ in starts[2:]), *(number for number, _ in by_number[-1:])]
    character = _CHARACTER * (by_number[-1][0] - by_number[0][0]) if by_number else 0.0
    return [
        {"start": number - 0.5, "series": label if end - number >= character * len(label) else ""}
        for (number, label), end in zip(starts[1:], ends, strict=False)
    ]


def order_words(analysis: Analysis) -> tuple[str, str]:
    """Return the title of the axis of trials in order, and what can be seen along it."""
    if analysis.plan is not None:
        return "trial, in the order of the plan", "Style for drift, steps and outliers."
    return (
        "trial, in the order of the table",
        "They stand as in the table, or as --order says: drift and steps mean something only if they ran in that order.",
    )


def kpi_rows(found: MetricAnalysis, objective: Kpi) -> list[Row]:
    """Return one row for each treatment and series: the bound, and the two-sided interval of the percentile."""
    rows: list[Row] = []
    for kpi in found.kpis:
        if kpi.objective == objective and kpi.result is not None:
            interval = kpi.result.interval
            rows.append(
                {
                    "treatment": kpi.treatment,
                    "series": kpi.series,
                    "bound": kpi.result.value,
                    "low": interval.low,
                    "high": interval.high,
                    "n": kpi.n,
                    "standing": "descriptive only" if kpi.descriptive else "holds",
                }
            )
    return rows


def score_rows(found: MetricAnalysis, objective: Kpi) -> list[Row]:
    """Return one row for each treatment with a variability score of this KPI."""
    return [
        {
            "treatment": score.treatment,
            "low": score.result.low,
            "high": score.result.high,
            "score": score.result.score,
            "n": score.n,
            "standing": "descriptive only" if score.descriptive else "holds",
        }
        for score in found.variability
        if score.kpi == objective and score.result is not None and score.result.score is not None
    ]


def step_rows(found: MetricAnalysis) -> list[Row]:
    """Return the steps of the empirical distributions; each begins at a share of 0."""
    rows: list[Row] = []
    for known in found.distributions:
        values, shares = known.values.tolist(), known.shares.tolist()
        for value, share in zip([values[0], *values], [0.0, *shares], strict=True):
            rows.append(
                {"treatment": known.treatment, "series": known.series, "value": value, "share": share}
            )
    return rows


def band_rows(found: MetricAnalysis) -> list[Row]:
    """Return the bands of the distributions: simultaneous (`low`, `high`) and one-sided (`lower`, `upper`) by percentile.

    An unbounded part of the simultaneous band is drawn to the smallest or largest value.
    """
    return list(_band_rows(found))


def _band_rows(found: MetricAnalysis) -> Iterator[Row]:
    for known in found.distributions:
        band = known.band
        if band is not None:
            names = ("share", "low", "high", "lower", "upper")
            columns = (band.percentiles, band.simultaneous_low, band.simultaneous_high, band.low, band.high)
            for row in zip(*map(_finite, columns), strict=True):
                share, low, high, *single = row
                bounds = (
                    known.values[0] if low is None else low,
                    known.values[-1] if high is None else high,
                    *single,
                )
                yield {
                    "treatment": known.treatment,
                    "series": known.series,
                    **dict(zip(names, (share and share / 100, *bounds), strict=True)),
                }


def pooled_rows(analysis: Analysis, found: MetricAnalysis) -> list[Row]:
    """Return one row for each treatment and number of trials: the pooled estimate so far, with its interval."""
    return [
        {
            "treatment": course.treatment,
            "level": course.confidence,
            "trials": step.trials,
            "samples": step.samples,
            "estimate": step.estimate,
            "low": _bound(step.low),
            "high": _bound(step.high),
        }
        for course in _courses(analysis, found)
        for step in course.steps
    ]


def pooled_step_rows(analysis: Analysis, found: MetricAnalysis) -> list[Row]:
    """Return the steps of the empirical distributions of all samples; each begins at a share of 0."""
    return [
        {"treatment": course.treatment, "value": value, "share": share}
        for course in _courses(analysis, found)
        for value, share in zip(
            [float(course.values[0]), *course.values.tolist()], [0.0, *course.shares.tolist()], strict=True
        )
    ]


def _courses(analysis: Analysis, found: MetricAnalysis) -> list[PooledCourse]:
    courses = analysis.estimation.courses if analysis.estimation else ()
    return [course for course in courses if course.metric == found.metric.name]


def _bound(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def picked(rows: Sequence[Row], *fields: str) -> list[Row]:
    """Return the rows that have all of the fields, reduced to these fields and their names."""
    kept = ("treatment", "series", *fields)
    return [
        {name: row[name] for name in kept} for row in rows if all(row[name] is not None for name in fields)
    ]


def lag_rows(found: MetricAnalysis, most: int = 40) -> list[Row]:
    """Return the autocorrelation coefficients of each tested treatment and series, at no more than `most` lags."""
    return [
        {
            "treatment": test.treatment,
            "series": test.series,
            "lag": lag,
            "coefficient": coefficient,
            "threshold": test.result.threshold,
            "negative": -test.result.threshold,
        }
        for test in found.independence
        if test.result is not None and test.result.independent is not None
        for lag, coefficient in enumerate(_finite(test.result.autocorrelation)[:most], 1)
        if coefficient is not None
    ]


def correlation_range(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the ends of an axis of coefficients: -1 to 1, and further if few trials have thresholds beyond."""
    most = max((float(row["threshold"] or 0) for row in rows), default=0.0)
    end = 1.0 if most <= 1 else 1.05 * most
    return -end, end


def trace_name(trace: TrialTrace, names: Mapping[str, str]) -> str:
    """Return a trial's label in a selection list."""
    verdict = {True: "converged", False: "not converged", None: "no test"}[trace.converged]
    return f"trial {trace.number}: {names[trace.treatment]}, series {trace.series} ({verdict})"


def has_few_samples(trace: TrialTrace) -> bool:
    """Return True if samples stand alone in a figure, where marks as fine as those of a cloud would hardly be visible."""
    return len(trace.times) <= _FEW


def stretch_rows(traces: Sequence[TrialTrace], names: Mapping[str, str]) -> list[Row]:
    """Return the raw samples, or the extremes of stretches of them."""
    return [
        {"trial": trace_name(trace, names), "time": time, "low": low, "high": high}
        for trace in traces
        for time, low, high in zip(*map(_finite, (trace.times, trace.lows, trace.highs)), strict=True)
    ]


def batch_rows(traces: Sequence[TrialTrace], names: Mapping[str, str]) -> list[Row]:
    """Return the measure of each batch or window of the convergence test."""
    return [
        {"trial": trace_name(trace, names), "time": time, "value": value}
        for trace in traces
        for time, value in zip(_finite(trace.batch_starts), _finite(trace.batches), strict=True)
    ]


def line_rows(traces: Iterable[TrialTrace], names: Mapping[str, str]) -> list[Row]:
    """Return the fitted line, and the steepest lines through its middle that the tolerance allows."""
    rows: list[Row] = []
    for trace in traces:
        if trace.line is None:
            continue
        (first, begin), (last, end) = trace.line
        middle = (begin + end) / 2
        ends = [("fitted slope", begin, end)]
        if trace.tolerated is not None:
            half = trace.tolerated / 2
            ends += [
                ("tolerance", middle - half, middle + half),
                ("tolerance, falling", middle + half, middle - half),
            ]
        for kind, start, stop in ends:
            for time, value in ((first, start), (last, stop)):
                rows.append({"trial": trace_name(trace, names), "line": kind, "time": time, "value": value})
    return rows


def interval_rows(traces: Iterable[TrialTrace], names: Mapping[str, str]) -> list[Row]:
    """Return the area between the flattest and the steepest line of the slope's interval, through the middle of the fitted line."""
    rows: list[Row] = []
    for trace in traces:
        if trace.line is None or trace.interval is None:
            continue
        (first, begin), (last, end) = trace.line
        for time, share in ((first, -0.5), ((first + last) / 2, 0.0), (last, 0.5)):
            ends = sorted((begin + end) / 2 + share * change for change in trace.interval)
            rows.append({"trial": trace_name(trace, names), "time": time, "low": ends[0], "high": ends[1]})
    return rows


def warmup_rows(traces: Iterable[TrialTrace], names: Mapping[str, str]) -> list[Row]:
    """Return the end of the start-up that was cut."""
    return [
        {"trial": trace_name(trace, names), "time": trace.warmup_end}
        for trace in traces
        if trace.warmup_end is not None
    ]


def _finite(values: Array) -> list[float | None]:
    listed: list[float] = values.tolist()
    return [value if math.isfinite(value) else None for value in listed]
