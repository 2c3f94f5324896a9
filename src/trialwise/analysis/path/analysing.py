"""Analysis of an experiment over paths: planes, flows, delays and time series in addition to the metrics."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.beside import Surroundings
from trialwise.analysis.conditions.timescales import trial_metric
from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.path.harm import harm_of
from trialwise.analysis.path.packets import (
    SKETCH,
    Course,
    FlowNumbers,
    TrialNumbers,
    bin_width,
    flow_series,
    trial_numbers,
)
from trialwise.analysis.path.plane import invalid_trial, plane_axes, planes
from trialwise.analysis.path.results import (
    ConvergenceTime,
    DelayDistribution,
    EmulatorFacts,
    FlowResult,
    Harm,
    PathAnalysis,
    PathFacts,
    PathSeries,
    PathTreatment,
    Plane,
    PlaneAxes,
    PlaneTrial,
    TrialDelays,
    Typical,
)
from trialwise.analysis.results import MetricAnalysis
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Experiment, Level, Method
from trialwise.experiment.path_files import DESPITE
from trialwise.experiment.placeholders import fill
from trialwise.experiment.traits import assumed
from trialwise.experiment.trials import PathFlow, PathTrial
from trialwise.measurement.packets import Packets, read_packets
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.store.samples import record_name

MAX_SERIES = 16
"""Maximum number of trials shown over time, unless all are requested."""
_CONFIDENCE = 95.0
_POOLED_STEPS, _TRIAL_STEPS = 200, 40


def analyse_path(given: Surroundings) -> Mapping[str, PathAnalysis]:
    """Analyse what an experiment over paths has in addition to its metrics: the key `path` of an analysis."""
    experiment, store, treatments = given.experiment, given.store, given.treatments
    trial = assumed(experiment.trial, PathTrial)
    facts = assumed(given.facts or PathFacts(), PathFacts)
    found = _Trials(experiment, trial, given.directory, store)
    read = found.read()
    axes = plane_axes(experiment.metrics)
    factors = {row.treatment: row.factors for row in store.rows}
    harm = harm_of(experiment, trial, given.metrics, _fixed_levels(experiment, factors, treatments))
    chosen = found.chosen(None if given.all_trials else MAX_SERIES)
    analysis = PathAnalysis(
        runtime=trial.runtime,
        flows=len(trial.flows),
        lateness=trial.lateness * 1e3,
        schemes=facts.schemes,
        paths=facts.paths,
        axes=axes,
        planes=_planes(experiment, store, given.metrics, treatments, given.method, axes) if axes else (),
        treatments=tuple(_treatment(found, given.ledger, name, read.get(name, [])) for name in treatments),
        distributions=tuple(_distribution(name, read[name]) for name in treatments if read.get(name)),
        series=tuple(found.series(chosen)),
        recorded=len(found.recorded),
        notes=(*_overruled(facts), *_notes(found, axes), *([harm] if isinstance(harm, str) else [])),
        harm=harm if isinstance(harm, Harm) else None,
    )
    return {"path": analysis}


def _overruled(facts: PathFacts) -> Iterator[str]:
    """Name the paths that are used for metrics in which, by their certificates, they do not stand for the real ones."""
    yield from dict.fromkeys(path.source for path in facts.paths if DESPITE in path.source)


def _notes(found: _Trials, axes: PlaneAxes | None) -> Iterator[str]:
    if axes is None:
        yield (
            "no throughput–delay plane: it needs a metric that is a throughput and one that is a delay; "
            "add [metrics.throughput] and [metrics.delay]"
        )
    if found.trial.packets == "drop":
        yield 'no results of single flows, no delays and no time series: the packets were not kept (packets = "drop")'
    yield from found.unreadable.values()


# The plane


def _planes(
    experiment: Experiment,
    store: StoreObservations,
    metrics: Sequence[MetricAnalysis],
    treatments: Sequence[str],
    method: Method,
    axes: PlaneAxes,
) -> tuple[Plane, ...]:
    known = {found.metric.name: found for found in metrics}
    delay, throughput = known[axes.delay], known[axes.throughput]
    ordered = _fixed_levels(experiment, {row.treatment: row.factors for row in store.rows}, treatments)
    return planes(experiment, ordered, delay, throughput, _invalid(store, delay, throughput, method))


def _fixed_levels(
    experiment: Experiment, factors: Mapping[str, Mapping[str, Level]], treatments: Sequence[str]
) -> dict[str, dict[str, Level]]:
    """Return the levels of the fixed factors of each treatment, in the order of the treatments."""
    fixed = [factor.name for factor in experiment.fixed_factors]
    return {name: {factor: factors[name][factor] for factor in fixed} for name in treatments}


def _invalid(
    store: StoreObservations, delay: MetricAnalysis, throughput: MetricAnalysis, method: Method
) -> list[PlaneTrial]:
    """Return the invalid trials that have both metrics."""
    reasons = {
        (row.number, row.attempt): row.reason or "invalid" for row in store.rows if row.status == "invalid"
    }
    if not reasons:
        return []
    ways = [
        {
            (seen.number, seen.attempt): trial_metric(found.metric, seen, method)
            for seen in store.of(found.metric, "invalid")
        }
        for found in (delay, throughput)
    ]
    both = (invalid_trial(ways[0][key], ways[1][key], reasons[key]) for key in ways[0] if key in ways[1])
    return [trial for trial in both if trial is not None]


# Packets


class _Trials:
    """The trials with packet records."""

    def __init__(
        self,
        experiment: Experiment,
        trial: PathTrial,
        directory: ExperimentDirectory,
        store: StoreObservations,
    ) -> None:
        self.experiment = experiment
        self.trial = trial
        self.directory = directory
        self.store = store
        self.unreadable: dict[Path, str] = {}
        self.rows = [row for row in store.rows if not row.warmup]
        self.recorded = [
            row for row in self.rows if row.status in ("finished", "invalid") and self._file(row).is_file()
        ]

    def _file(self, row: TrialRow) -> Path:
        return self.directory.path / record_name(row.number, row.attempt, "packets")

    def flows(self, row: TrialRow) -> list[PathFlow]:
        """Return the flows of a trial, with the names of their schemes filled in."""
        return [_filled(flow, row) for flow in self.trial.flows]

    def read(self) -> dict[str, list[tuple[TrialRow, TrialNumbers]]]:
        """Read the numbers of each valid trial by treatment; unreadable ones are listed in `unreadable`."""
        found: dict[str, list[tuple[TrialRow, TrialNumbers]]] = {}
        for row in self.recorded:
            packets = self._packets(row) if row.status == "finished" else None
            if packets is not None:
                numbers = trial_numbers(packets, self._course(row, packets))
                found.setdefault(row.treatment, []).append((row, numbers))
        return found

    def running(self, row: TrialRow) -> list[tuple[int, PathFlow]]:
        """Return the flows of a trial that run, with their numbers."""
        return Course(self.flows(row), 0.0, 0.0).running

    def _packets(self, row: TrialRow) -> Packets | None:
        try:
            return read_packets(self._file(row), within=self.directory.path)
        except AnalysisError as error:
            self.unreadable.setdefault(self._file(row), error.message)
            return None

    def _course(self, row: TrialRow, packets: Packets) -> Course:
        lasted = self.trial.runtime
        if self.trial.engine == "simulated":  # the ledger has how long the computation took
            lasted = min(lasted, float(packets.time.max(initial=0.0)))
        elif row.started is not None and row.finished is not None:
            lasted = min(lasted, round(row.finished - row.started, 6))
        return Course(self.flows(row), self.experiment.warmup, lasted)

    def chosen(self, most: int | None) -> list[TrialRow]:
        """Return the first valid trial of each treatment, the invalid ones, then the others, up to `most`."""
        first: dict[str, TrialRow] = {}
        for row in self.recorded:
            if row.status == "finished":
                first.setdefault(row.treatment, row)
        invalid = [row for row in self.recorded if row.status == "invalid"]
        ordered = {(row.number, row.attempt): row for row in (*first.values(), *invalid, *self.recorded)}
        return list(ordered.values())[:most]

    def series(self, rows: Sequence[TrialRow]) -> Iterator[PathSeries]:
        """Yield trials over time; unreadable ones are listed in `unreadable`."""
        for row in rows:
            packets = self._packets(row)
            if packets is not None:
                yield self._series(row, packets)

    def _series(self, row: TrialRow, packets: Packets) -> PathSeries:
        runtime = self.trial.runtime
        width = bin_width(runtime)
        flows = tuple(flow_series(packets, number, flow, runtime) for number, flow in self.running(row))
        return PathSeries(
            number=row.number,
            attempt=row.attempt,
            treatment=row.treatment,
            series=self.store.series_of(row),
            reason=row.reason if row.status == "invalid" else None,
            bin=width,
            times=width * np.arange(flows[0].throughput.size, dtype=np.float64),
            flows=flows,
        )


def _filled(flow: PathFlow, row: TrialRow) -> PathFlow:
    values = {
        "seed": row.seed,
        "series": row.series,
        "round": row.round,
        "position": row.position,
        "trial": row.number,
    }
    return dataclasses.replace(flow, scheme=fill(flow.scheme, values | dict(row.factors)))


# Treatments


def _treatment(
    found: _Trials, ledger: Ledger, name: str, read: Sequence[tuple[TrialRow, TrialNumbers]]
) -> PathTreatment:
    numbers = [trial for _, trial in read]
    rows = [row for row in found.rows if row.treatment == name]
    running = found.running(rows[0])
    flows = [flow for _, flow in running]
    several = len(flows) > 1
    results = [
        _flow_result(number, flow, [trial.flows[place] for trial in numbers], beside_others=several)
        for place, (number, flow) in enumerate(running)
    ]
    if several:
        results.append(_together(flows, [trial.together for trial in numbers]))
    return PathTreatment(
        treatment=name,
        schemes=tuple(dict.fromkeys(flow.scheme for flow in flows)),
        trials=sum(row.status == "finished" for row in rows),
        invalid=sum(row.status == "invalid" for row in rows),
        flows=tuple(results) if numbers else (),
        fairness=typical([trial.fairness for trial in numbers]) if several and numbers else None,
        emulator=_emulator(ledger, rows),
    )


def _flow_result(
    number: int | None, flow: PathFlow, numbers: Sequence[FlowNumbers], *, beside_others: bool = False
) -> FlowResult:
    return FlowResult(
        flow=number,
        scheme=flow.scheme,
        direction=flow.direction,
        throughput=typical([flow.throughput for flow in numbers]),
        delay=typical([flow.delay for flow in numbers]),
        loss=typical([flow.loss for flow in numbers]),
        share=typical([flow.share for flow in numbers]) if beside_others else None,
        convergence=convergence_time([flow.convergence for flow in numbers]) if beside_others else None,
    )


def _together(flows: Sequence[PathFlow], numbers: Sequence[FlowNumbers]) -> FlowResult:
    schemes = " + ".join(dict.fromkeys(flow.scheme for flow in flows))
    ways = " + ".join(dict.fromkeys(flow.direction for flow in flows))
    return dataclasses.replace(_flow_result(None, flows[0], numbers), scheme=schemes, direction=ways)


def typical(values: Sequence[float]) -> Typical:
    """Return mean, median and the 95 % interval of the median, ignoring NaN."""
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return Typical(0, None, None, None, None, _CONFIDENCE, "none", "no trial gave a number")
    interval = st.percentile_interval(known, 50, _CONFIDENCE)
    return Typical(
        n=len(known),
        mean=statistics.fmean(known),
        median=statistics.median(known),
        low=interval.low,
        high=interval.high,
        confidence=_CONFIDENCE,
        method=interval.method,
        note=interval.note,
    )


def convergence_time(values: Sequence[float]) -> ConvergenceTime | None:
    """Return median and interval of times of which some are infinite, ignoring NaN; None if there are none."""
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return None
    finite = [value for value in known if np.isfinite(value)]
    longest = max(finite, default=0.0)
    found = typical([min(value, longest + 1) for value in known])  # of the others only the rank counts

    def reached(value: float | None) -> float | None:
        return None if value is None or value > longest else value

    return ConvergenceTime(
        n=len(known),
        converged=len(finite),
        median=reached(statistics.median(known)),
        low=reached(found.low),
        high=reached(found.high),
        confidence=found.confidence,
        method=found.method,
        note=found.note,
    )


def _emulator(ledger: Ledger, rows: Sequence[TrialRow]) -> EmulatorFacts:
    """Return the worst values that the emulator reported over the trials."""
    there = {(row.number, row.attempt) for row in rows}
    worst: dict[str, float] = {}
    for number, attempt, source, value, _, _ in ledger.values():
        name = source.removeprefix("emulator:")
        if name != source and (number, attempt) in there and value is not None:
            worst[name] = max(value, worst.get(name, value))
    return EmulatorFacts(
        lateness_uplink=_thousandfold(worst.get("lateness_p99_uplink")),
        lateness_downlink=_thousandfold(worst.get("lateness_p99_downlink")),
        lateness_largest=_thousandfold(worst.get("lateness_max")),
        unseen=_thousandfold(worst.get("unseen_p99")),
        processor=None if (share := worst.get("processor_share")) is None else 100 * share,
        unlogged=worst.get("unlogged"),
    )


def _thousandfold(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


# Delays


def _distribution(name: str, read: Sequence[tuple[TrialRow, TrialNumbers]]) -> DelayDistribution:
    """Return the delays of a treatment: each trial's at evenly spaced shares, and those of all packets pooled."""
    with_packets = [(row, trial) for row, trial in read if trial.packets]
    return DelayDistribution(
        treatment=name,
        packets=sum(trial.packets for _, trial in with_packets),
        shares=np.linspace(0, 1, _POOLED_STEPS + 1),
        delays=pooled([trial for _, trial in with_packets], _POOLED_STEPS),
        trials=tuple(_trial_delays(row, trial) for row, trial in with_packets),
    )


def _trial_delays(row: TrialRow, trial: TrialNumbers) -> TrialDelays:
    step = SKETCH // _TRIAL_STEPS
    return TrialDelays(row.number, row.attempt, np.linspace(0, 1, _TRIAL_STEPS + 1), trial.delays[::step])


def pooled(trials: Sequence[TrialNumbers], steps: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return delays (ms) at evenly spaced shares of the packets of all trials, each trial weighted by its packets."""
    if not trials:
        return np.array([])
    delays = np.concatenate([trial.delays for trial in trials])
    weights = np.concatenate(
        [np.full(trial.delays.size, trial.packets / trial.delays.size) for trial in trials]
    )
    order = np.argsort(delays, kind="stable")
    shares = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(shares, np.linspace(0, 1, steps + 1) - 1e-12)
    return delays[order][np.minimum(places, delays.size - 1)]
