"""The points of figures of estimates, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, sqrt

from trialwise.analysis.estimation.results import DurationAdvice, Estimate, MetricEstimate, SizeBin
from trialwise.report.numbers import percent
from trialwise.report.points import Row

_KINDS = {"pooled": "pooled: of all samples", "per_trial": "per trial: mean over trials"}


def estimate_rows(members: Sequence[MetricEstimate], names: Mapping[str, str]) -> list[Row]:
    """Of one metric: both estimands of each treatment, and the controlled interval; what is refused is left out."""
    rows: list[Row] = []
    for one in members:
        name = names.get(one.treatment, one.treatment)
        rows += [_row(name, found) for found in (one.own, one.other) if found and found.estimate is not None]
        if one.controlled and one.controlled.result.usable:
            side = one.controlled.result.controlled
            rows.append(
                {
                    "treatment": name,
                    "estimand": f"{_KINDS[one.own.estimand]}, with control variates",
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
    """A row for each bin and quantile, at the geometric middle of its sizes."""
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
    """Both estimands at each duration; longer trials have one pooled value, that of the whole ones."""
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
            "made": "trials put together" if step.joined else "the first part of each trial",
        }
        for step in advice.steps
        for found in (step.per_trial, step.pooled if step in whole else None)
        if found is not None
    ]


def active_rows(advices: Sequence[DurationAdvice], names: Mapping[str, str]) -> list[Row]:
    """The mean number of active flows over time."""
    return [
        {"treatment": names.get(one.treatment, one.treatment), "time": time, "active": active}
        for one in advices
        for time, active in zip(one.active_times, one.active, strict=True)
    ]
