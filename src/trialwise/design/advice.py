"""Find what is doubtful about a plan, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.design.fine_precision import too_fine
from trialwise.design.orders import rounds_in_block
from trialwise.design.sizing import Sizing, whole_blocks
from trialwise.design.timing import TrialTimes, work_seconds
from trialwise.design.treatments import count_treatments
from trialwise.experiment.model import Experiment, Order
from trialwise.experiment.quantity import duration_text
from trialwise.experiment.results import claimed
from trialwise.experiment.stopping import stops_by_itself
from trialwise.rules import RULES

MIN_CONFIDENCE = 75.0
"""TriScale, section 6: "never go below 75 %": one estimate out of four would be wrong."""

MAX_OF_THE_SPAN = 0.9

CONCLUSIONS: Mapping[Order, str] = {
    "random": "each round in an order of its own: what runs before a trial, and drift, can be told from the treatments",
    "fixed": "every round in the order of the file: an effect of the order cannot be told from one of the treatments",
    "fixed+random": "half of the rounds in the order of the file, half in orders of their own, mixed: "
    "shows whether the order changes the results",
    "balanced": "each treatment runs equally often right after each other one, and at each position: "
    "shows best which predecessor shifts which treatment",
}
"""What each order of trials allows to be concluded."""


def advice(experiment: Experiment, sizing: Sizing, times: TrialTimes | None) -> tuple[str, ...]:
    """Say what the plan will not deliver, or only on weak grounds; `times` if known."""
    return (
        *_out_of_reach(sizing),
        *_without_objectives(experiment, sizing),
        *_confidences(experiment),
        *_steadiness(experiment),
        *_blocks(experiment, sizing),
        *_spacing(experiment, sizing, times),
        *_stopping(experiment),
        *too_fine(experiment, sizing),
        *_shared_processes(experiment, sizing),
    )


def _out_of_reach(sizing: Sizing) -> Iterator[str]:
    for need in sizing.rounds_needed:
        if need.amount > sizing.rounds:
            yield f"{need.metric}: {need.text} needs {need.amount} rounds; there are {sizing.rounds}: it will not be had"
    for need in sizing.series_needed:
        if need.amount > sizing.series:
            yield f"{need.metric}: {need.text} needs {need.amount} series; there are {sizing.series}: it will not be had"


def _without_objectives(experiment: Experiment, sizing: Sizing) -> Iterator[str]:
    if stops_by_itself(experiment):
        return
    if experiment.design.rounds is None and not any(metric.kpis for metric in claimed(experiment)):
        nothing = "no metric has a kpi and the design gives no rounds"
        if sizing.rounds == 1:
            yield f"{nothing}: one round runs, from which nothing can be claimed"
        else:
            yield (
                f'{nothing}: {sizing.rounds} rounds run, since order = "{experiment.design.order}" comes out even with no fewer; '
                "give rounds, or a kpi"
            )


def _confidences(experiment: Experiment) -> Iterator[str]:
    for metric in claimed(experiment):
        objectives = [*metric.kpis, *([metric.variability] if metric.variability else [])]
        for low in sorted({each.confidence for each in objectives if each.confidence < MIN_CONFIDENCE}):
            yield (
                f"{metric.name}: a confidence of {low:g} % is wrong more often than one time in four; "
                f"{MIN_CONFIDENCE:g} % is the least that TriScale advises (section 6)"
            )


def _stopping(experiment: Experiment) -> Iterator[str]:
    design = experiment.design
    if stops_by_itself(experiment):
        if warning := RULES[design.looks].warning:
            yield f'looks = "{design.looks}": {warning}'
    elif design.budget is not None:
        yield "design.budget bounds nothing: no metric has a stop, and design.stop is not verdict"


def _shared_processes(experiment: Experiment, sizing: Sizing) -> Iterator[str]:
    if not experiment.trial.traits.shares_processes:
        return
    if sizing.series == 1:
        yield (
            'trial.process = "shared" with one series is one process of each treatment: nothing can be inferred about other '
            "processes, however many rounds there are; give series = 10 or so (each has processes of its own), or leave process out"
        )
    if any(metric.kpis for metric in claimed(experiment)):
        yield (
            "the rounds of a series share the treatment's process, so a KPI speaks of that process; "
            "a variability score says how far processes differ"
        )


def _steadiness(experiment: Experiment) -> Iterator[str]:
    for metric in experiment.metrics:
        if metric.convergence and metric.source.traits.samples == "one":
            yield (
                f"{metric.name}: convergence cannot be tested, because a trial gives one number; "
                "read many samples from each trial with csv or JSON lines"
            )
    if experiment.warmup and not any(
        metric.source.traits.samples == "timed" for metric in experiment.metrics
    ):
        yield "trial.warmup cuts nothing: no metric has samples with a time; add time to a metric with csv or json"


def _blocks(experiment: Experiment, sizing: Sizing) -> Iterator[str]:
    order, treatments = experiment.design.order, count_treatments(experiment)
    if treatments == 1 and order in {"fixed+random", "balanced"}:
        yield f'there is one treatment, so order = "{order}" changes nothing'
        return
    block, whole = rounds_in_block(order, treatments), whole_blocks(experiment, sizing.rounds)
    if sizing.rounds == whole:
        return
    fewer = f" or {whole - block}" if whole > block else ""
    yield f'order = "{order}" comes out even every {block} rounds; there are {sizing.rounds}: give rounds = {whole}{fewer}'


def _spacing(experiment: Experiment, sizing: Sizing, times: TrialTimes | None) -> Iterator[str]:
    span = experiment.design.span
    if span is None:
        if sizing.series > 1:
            yield (
                "without a span the series run one right after the other, so they are hardly independent; "
                'give design.span, as in span = "24h"'
            )
        return
    if times is None:
        yield "how long a trial takes is unknown, so rounds may overlap and start late; give trial.runtime or use --pilot"
    elif (taken := work_seconds(experiment, sizing.rounds, times)) > span:
        yield (
            f"the rounds of a series take {duration_text(taken)}, longer than the span of {duration_text(span)}: "
            "they will run back to back, and late"
        )
    elif taken > MAX_OF_THE_SPAN * span:
        yield (
            f"the rounds of a series take {duration_text(taken)} of the span of {duration_text(span)}, "
            "so their start times are hardly random; give a longer span"
        )
    elif experiment.runtime is None:
        longest = max(times.seconds.values())
        yield f'for start times without overlap, write runtime = "{duration_text(longest)}" into [trial]'
