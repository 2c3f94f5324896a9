"""What figures of estimates share: their rows, and the style of estimands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, sqrt

import altair as alt

from trialwise.analysis.estimation.results import (
    DurationAdvice,
    DurationStep,
    Estimate,
    MetricEstimate,
    SizeBin,
)
from trialwise.report.figures.palette import COLOURS, SHAPES
from trialwise.report.numbers import percent
from trialwise.report.plot_rows import Row

_KINDS = {
    "pooled": "pooled: of all samples",
    "per_trial": "per trial: mean over trials",
    "model_based": "model-based: batches",
}
_CONTROLLED = ", with control variates"


BOUNDS = ("estimate", "low", "high")
"""The fields of an estimate in the unit of its metric."""


def kind_look(kind: str) -> int:
    """Return the index of an estimand's colour, shape and marker in the palettes: the same in every figure."""
    if kind.endswith(_CONTROLLED):
        return 2
    return {_KINDS["per_trial"]: 0, _KINDS["pooled"]: 1}.get(kind, 3)


def estimand_looks(kinds: Sequence[str]) -> tuple[alt.Color, alt.Shape]:
    """Return a colour and a shape for each estimand, the same in every figure; the legend is stacked, because names are long."""
    legend = alt.Legend(orient="top", title=None, columns=1, labelLimit=400)
    places = [kind_look(kind) for kind in kinds]
    colours = alt.Scale(domain=list(kinds), range=[COLOURS[place] for place in places])
    shapes = alt.Scale(domain=list(kinds), range=[SHAPES[place] for place in places])
    return (
        alt.Color("estimand:N", scale=colours, legend=legend),
        alt.Shape("estimand:N", scale=shapes, legend=legend),
    )


def estimate_rows(members: Sequence[MetricEstimate], names: Mapping[str, str]) -> list[Row]:
    """Return, for one metric, both estimands of each treatment and the controlled interval; refused ones are left out."""
    rows: list[Row] = []
    for one in members:
        name = names.get(one.treatment, one.treatment)
        rows += [_row(name, found) for found in (one.own, one.other) if found and found.estimate is not None]
        if one.controlled and one.controlled.result.usable:
            side = one.controlled.result.controlled
            rows.append(
                {
                    "treatment": name,
                    "estimand": _KINDS[one.own.estimand] + _CONTROLLED,
                    "what": one.own.what,
                    "estimate": side.estimate,
                    "low": _finite(side.low),
                    "high": _finite(side.high),
                    "trials": side.n,
                    "level": percent(side.confidence),
                }
            )
    return rows


def _row(name: str, found: Estimate) -> Row:
    return {
        "treatment": name,
        "estimand": _KINDS[found.estimand],
        "what": found.what,
        "estimate": found.estimate,
        "low": _finite(found.low),
        "high": _finite(found.high),
        "trials": found.trials,
        "level": percent(found.confidence),
    }


def _finite(bound: float | None) -> float | None:
    return bound if bound is not None and isfinite(bound) else None


def size_rows(bins: Sequence[SizeBin], names: Mapping[str, str]) -> list[Row]:
    """Return a row for each bin and quantile, at the geometric mean of the bin's sizes."""
    return [
        {
            "treatment": names.get(one.treatment, one.treatment),
            "quantile": quantile,
            "size": sqrt(max(one.low, 1) * one.high),
            "from": one.low,
            "to": one.high,
            "flows": one.flows,
            "estimate": found.estimate,
            "low": _finite(found.low) or found.estimate,
            "high": _finite(found.high) or found.estimate,
        }
        for one in bins
        for quantile, found in one.quantiles.items()
    ]


def duration_rows(advice: DurationAdvice) -> list[Row]:
    """Return both estimands at each duration; longer trials have only a pooled value, that of whole trials."""
    whole = [step for step in advice.steps if not step.joined]
    return [
        {
            "duration": step.duration,
            "estimand": _KINDS[found.estimand],
            "estimate": found.estimate,
            "low": _finite(found.low),
            "high": _finite(found.high),
            "trials": step.trials,
            "flows": step.flows_per_trial,
            "made": made_of(step, advice.duration),
        }
        for step in advice.steps
        for found in (step.per_trial, step.pooled if step in whole else None)
        if found is not None
    ]


def made_of(step: DurationStep, whole: float) -> str:
    """Describe how trials of a duration are obtained; `whole` is the present duration."""
    if step.joined:
        return "trials put together"
    return "whole trials" if step.duration == whole else "the first part of each trial"


def stable_value(advice: DurationAdvice) -> float | None:
    """Return the pooled estimate of the stable phase: that of whole trials without its transient bias."""
    whole = next((step.pooled for step in reversed(advice.steps) if not step.joined), None)
    if whole is None or whole.estimate is None or advice.transient is None:
        return None
    return whole.estimate / (1 + advice.transient.estimate / 100)


def phase_rows(all_advice: Sequence[DurationAdvice], names: Mapping[str, str]) -> list[Row]:
    """Return the end of each treatment's warm-up, and the time until which flows begin."""
    return [
        {"treatment": names.get(one.treatment, one.treatment), "time": time, "phase": phase}
        for one in all_advice
        for time, phase in ((one.warmup_end, "stable from here"), (one.duration, "cool-down from here"))
        if time is not None
    ]


def active_rows(all_advice: Sequence[DurationAdvice], names: Mapping[str, str]) -> list[Row]:
    """Return the mean number of active flows over time."""
    return [
        {"treatment": names.get(one.treatment, one.treatment), "time": time, "active": active}
        for one in all_advice
        for time, active in zip(one.active_times, one.active, strict=True)
    ]
