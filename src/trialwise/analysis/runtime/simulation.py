"""The required length of simulated trials, from the flows of an experiment directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trialwise.analysis.estimation.durations import duration_advice, has_duration_advice
from trialwise.analysis.estimation.flow_records import keeps_records, read_flows, treatments_of
from trialwise.analysis.estimation.weighted import is_tilted
from trialwise.analysis.runtime.advising import Watcher, rounded_up
from trialwise.analysis.runtime.pilots import Question
from trialwise.analysis.runtime.results import RuntimeAdvice
from trialwise.errors import AnalysisError
from trialwise.experiment.simulation import SimulationSource
from trialwise.experiment.traits import sources_of

if TYPE_CHECKING:
    from trialwise.analysis.estimation.results import DurationAdvice
    from trialwise.experiment.model import Experiment
    from trialwise.store.directory import ExperimentDirectory
    from trialwise.store.ledger import Ledger

_CONFIDENCE = 95.0
_HOW = (
    "per trial by Student's t interval; pooled with trials as clusters; biases as ratios of the same trials (Fieller), of pooled "
    "estimates by influence; warm-up until the mean number of active flows is 90 % of that of the second half; cool-down from where "
    "a flow as slow as the quantile (of a mean, the p99) outlasts the last arrival"
)


def simulation_runtime(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    question: Question,
    metric: str | None = None,
    *,
    watch: Watcher | None = None,
) -> RuntimeAdvice:
    """Find the trial duration at which every metric of every treatment is within its tolerance; the longest requirement wins.

    Flows that the experiment excludes as warm-up and cool-down are kept, because the analysis must find them.

    Raises
    ------
    AnalysisError
        The metric does not exist, or no metric or no trial is usable.
    """
    asked = _asked(experiment, question, metric)
    rows = treatments_of(ledger.present_trials())
    all_advice: list[DurationAdvice] = []
    skipped: list[str] = []
    for place, (treatment, members) in enumerate(rows.items(), start=1):
        flows = read_flows(directory, members)
        confidence = question.confidence or _CONFIDENCE
        found = list(duration_advice(asked, treatment, flows, confidence, question.tolerance))
        all_advice += found
        if not found:
            skipped.append(f"{treatment}: fewer than two finished trials with flows")
        if watch is not None:
            watch(place, len(rows))
    if not all_advice:
        why = "; ".join(skipped) or "no trial has finished"
        raise AnalysisError(f"{directory.path}: {why}", hint="run more rounds: trialwise run")
    return _together(str(directory.path), all_advice, tuple(skipped), tuple(_notes(experiment)))


def _asked(experiment: Experiment, question: Question, metric: str | None) -> Experiment:
    """Return the experiment with the requested metrics and measure."""
    known = [one.name for one in experiment.metrics]
    if metric is not None and metric not in known:
        raise AnalysisError(f"there is no metric {metric!r}", hint=f"metrics: {', '.join(known)}")
    if is_tilted(experiment):
        raise AnalysisError(
            "the workload is tilted: its trials are those of another one", hint="run some without tilt"
        )
    if not keeps_records(experiment):
        raise AnalysisError(
            'flows were not recorded (records = "drop")', hint='run a pilot with records = "keep"'
        )
    if experiment.trial.traits.workload == "given":
        raise AnalysisError(
            "flows come from a file, a job or several patterns, and not from one",
            hint="draw flows: sizes, load, duration, and nothing beside them",
        )
    chosen = [one for one in experiment.metrics if metric in (None, one.name)]
    if question.measure is not None:
        chosen = [replace(one, measure=question.measure) for one in chosen]
    if not any(map(has_duration_advice, chosen)):
        raise AnalysisError(
            "no metric is a mean or a percentile of fct, slowdown or throughput of flows",
            hint='add [metrics.p99] with quantity = "fct" and measure = "p99"',
        )
    return replace(experiment, metrics=tuple(chosen))


def _notes(experiment: Experiment) -> Iterator[str]:
    asked = sources_of(experiment.metrics, SimulationSource)
    stable = [metric.name for metric, source in asked if source.phase == "stable"]
    if stable and any(experiment.trial.traits.set_apart):
        yield f"warmup and cooldown of [trial] set flows apart from {', '.join(stable)}; they are counted here"


def _together(
    file: str, all_advice: Sequence[DurationAdvice], skipped: tuple[str, ...], notes: tuple[str, ...]
) -> RuntimeAdvice:
    missing = [one for one in all_advice if one.needed is None]
    needs = [one.needed or 0.0 for one in all_advice]
    runtime = None if missing else max(needs)
    decisive = missing[0] if missing else all_advice[needs.index(max(needs))]
    more = f" (and {len(missing) - 1} more below without a duration)" if len(missing) > 1 else ""
    return RuntimeAdvice(
        format="trialwise.runtime/1",
        file=file,
        unit="s",
        runtime=runtime,
        startup=max(one.warmup_end or 0.0 for one in all_advice),
        steady=all(one.warmup_end is not None for one in all_advice),
        runtime_line=None
        if runtime is None
        else f'workload = {{ …, duration = "{rounded_up(runtime).replace(" ", "")}" }}',
        warmup_line=None,
        decided_by=None if missing else needs.index(max(needs)),
        reason=f"{decisive.subject}: {decisive.reason}{more}",
        how=_HOW,
        pilots=(),
        skipped=skipped,
        notes=notes,
        durations=tuple(all_advice),
    )
