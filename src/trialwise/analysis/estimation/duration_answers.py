"""The duration at which an estimand is within its tolerance, its cost, and the remedy if there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from trialwise import statistics as st
from trialwise.analysis.estimation.results import DurationStep, Estimate
from trialwise.analysis.estimation.transients import Edges, Transient, change_text, flows_lacking
from trialwise.experiment.model import Metric
from trialwise.experiment.quantity import duration_text
from trialwise.numbers import about, as_given, counted, decimals, write

_MIN_TRIALS = 10
"""Minimum number of trials: with fewer, an interval depends on their deviation from normality, however narrow it is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The duration needed in seconds, and the number of such trials as precise as the present ones; None if `reason` says why."""

    needed: float | None
    trials: int | None
    reason: str


def answer_of(
    metric: Metric,
    steps: Sequence[DurationStep],
    edges: Edges | str,
    transient: Transient | None,
    tolerance: float,
) -> Answer:
    """Answer for the estimand of a metric; `tolerance` is in percent of its value in the stable phase."""
    if isinstance(edges, str):
        return Answer(None, None, edges)
    if transient is None:
        return Answer(None, None, "the transient bias has no interval with an end: take ten times the trials")
    whole = next(step for step in reversed(steps) if not step.joined)
    pooled = transient.duration_for(tolerance)
    if metric.estimand != "per_trial":
        trials = max(ceil(whole.trials * whole.duration / pooled), _MIN_TRIALS)
        return Answer(pooled, trials, _found(pooled, trials, whole, "warm-up and cool-down", tolerance))
    settled = _settled(steps, transient, tolerance)
    if settled is None:
        return Answer(None, None, _unsettled(steps[-1], transient, tolerance, pooled))
    trials = _as_precise(settled, whole)
    return Answer(
        settled.duration,
        trials,
        _found(settled.duration, trials, whole, "few flows, warm-up and cool-down", tolerance),
    )


def _settled(steps: Sequence[DurationStep], transient: Transient, tolerance: float) -> DurationStep | None:
    """Return the shortest step from which on all are within the tolerance; the bias of few flows need not shrink steadily."""
    found = None
    for step in reversed(steps):
        far = transient.far_at(step.duration)
        if step.small_sample is None or far is None or abs(step.small_sample.estimate) + far > tolerance:
            break
        found = step
    return found


def _unsettled(last: DurationStep, transient: Transient, tolerance: float, pooled: float) -> str:
    biases = [
        f"{write(abs(transient.far_at(last.duration) or 0.0), digits=2)} % at most by warm-up and cool-down"
    ]
    if last.small_sample is not None:
        biases.insert(0, f"{change_text(last.small_sample.estimate)} by few flows")
    return (
        f"no duration up to {duration_text(last.duration)} is within {as_given(tolerance)} % ({', '.join(biases)} there): "
        "more trials let "
        f'longer ones be put together; estimand = "pooled" is within it from {duration_text(pooled)} on'
    )


def _as_precise(step: DurationStep, whole: DurationStep) -> int:
    """Return the number of trials of a step with the interval of the whole ones, as width scales with 1/√trials."""
    widths = [_relative_width(each.per_trial) for each in (step, whole)]
    if widths[0] is None or not widths[1]:
        return step.trials
    return max(ceil(step.trials * (widths[0] / widths[1]) ** 2), _MIN_TRIALS)


def _relative_width(found: Estimate | None) -> float | None:
    if found is None or not found.estimate or found.low is None or found.high is None:
        return None
    width = (found.high - found.low) / abs(found.estimate)
    return width if isfinite(width) else None


def _found(needed: float, trials: int, whole: DurationStep, what: str, tolerance: float) -> str:
    these = f"these {whole.trials} of {duration_text(whole.duration)}"
    enough = f", so that {these} are long enough" if needed <= whole.duration else ""
    return (
        f"from {duration_text(needed)} on, {what} change it by at most {as_given(tolerance)} %{enough}; "
        f"{counted(trials, 'such trial')} ({duration_text(trials * needed)} simulated) are about as precise as {these} "
        f"({duration_text(whole.trials * whole.duration)})"
    )


def sentences_of(
    metric: Metric, whole: DurationStep, edges: Edges | str, transient: Transient | None
) -> Iterator[str]:
    """Yield sentences on the small-sample bias and on the transient bias of trials as they are."""
    yield f"small-sample bias: {_small_sample(metric, whole)}"
    if isinstance(edges, Edges) and transient is not None:
        share = 100 * (edges.share(edges.duration) or 0.0)
        yield (
            f"transient bias: the flows that begin in warm-up and cool-down are {write(share, digits=2)} % of all; "
            "with them the pooled estimate "
            f"is {_change(transient.bias)} that of the others{_told_apart(transient.bias)}"
        )


def _small_sample(metric: Metric, whole: DurationStep) -> str:
    lacking = flows_lacking(whole.flows_per_trial * whole.trials, metric.percentile)
    if whole.per_trial is None or whole.pooled is None or whole.small_sample is None:
        return f"not known: {lacking or 'too few trials'}"
    return (
        f"with {about(whole.flows_per_trial)} flows a trial, the {whole.per_trial.what} is {_change(whole.small_sample)} the "
        f"{whole.pooled.what}{_told_apart(whole.small_sample)}; no warm-up is to blame, since both are of the same flows"
    )


def _told_apart(bias: st.Ratio) -> str:
    """Say that the interval of a bias contains 0, if it does."""
    return ", which is not told apart from none" if bias.low <= 0 <= bias.high else ""


def _change(bias: st.Ratio) -> str:
    """Write a bias in percent with its interval with one sign, in comparable digits."""
    size = abs(bias.estimate)
    side = "below" if bias.estimate < 0 else "above"
    return f"{decimals(size, 0 if size >= 10 else 1)} % ({change_text(bias.low)} to {change_text(bias.high)}) {side}"
