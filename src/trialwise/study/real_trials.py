"""The trials of a real path as a calibration takes them: their packets, their values, and how to run each treatment again."""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trialwise import __version__
from trialwise.analysis.likeness.candidates import Family
from trialwise.analysis.likeness.distances import Values, collected
from trialwise.analysis.likeness.judging import TrialValues, with_likeness
from trialwise.analysis.likeness.results import Moment
from trialwise.analysis.likeness.values import Counted, likeness_values
from trialwise.analysis.progress import Progress
from trialwise.analysis.trial_set import TrialSet, read_trial_set
from trialwise.design.subset import Subset, matches, subset
from trialwise.errors import AnalysisError, PlanError
from trialwise.experiment.model import Experiment
from trialwise.experiment.trials import PathSettings, PathTrial
from trialwise.measurement.packets import DIRECTIONS, Packets, read_packets
from trialwise.numbers import counted
from trialwise.store.first_value import first_value_by
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.store.samples import record_name
from trialwise.study.locating import opened
from trialwise.trials.path_plan import NOWHERE, FlowPlan, flow_plans, settings_of

_MOVED = 1.0
"""Milliseconds by which the least round trip of rounds may differ."""


@dataclass(slots=True)
class RealTreatment:
    """A treatment of the real experiment: the flows of each of its trials, their packets, and the values that these give."""

    name: str
    is_held_out: bool
    plans: list[list[FlowPlan]] = field(default_factory=list[list[FlowPlan]])
    rows: list[TrialRow] = field(default_factory=list[TrialRow])
    packets: list[Packets] = field(default_factory=list[Packets])
    values: list[TrialValues] = field(default_factory=list[TrialValues])

    @property
    def is_simulated(self) -> bool:
        """Whether the simulator has all its schemes."""
        return all(plan.scheme.simulated is not None for plans in self.plans for plan in plans)

    @staticmethod
    def flows(plans: Sequence[FlowPlan]) -> list[Counted]:
        """Return the flows of a trial as its values take them."""
        return [
            Counted(plan.number, plan.flow.direction, plan.flow.start, plan.stop, ends=not plan.lasts)
            for plan in plans
        ]


@dataclass(frozen=True, slots=True)
class RealTrials:
    """The trials of a real path; `trials` has the metrics of a likeness, `warmup` is in seconds, `mtu` in bytes.

    `experiment` is what they are trials of, None if they were only simulated.
    """

    name: str
    trials: TrialSet
    treatments: tuple[RealTreatment, ...]
    warmup: float
    mtu: int
    experiment: Experiment | None = None

    def packets_to_fit(self) -> list[Packets]:
        """Return the packets of the trials that may be fitted to."""
        return [packets for one in self.treatments if not one.is_held_out for packets in one.packets]

    def place(self, treatment: RealTreatment) -> int:
        """Return the place of a treatment among all of them by name, which does not depend on their order in time."""
        return sorted(one.name for one in self.treatments).index(treatment.name)

    def values_by_treatment(self) -> Mapping[str, Values]:
        """Return the values of each treatment by metric."""
        return {one.name: collected(one.values) for one in self.treatments}

    def fingerprint(self, family: Family, seed: int) -> str:
        """Return what tells one search from another: the trials, the box, the seed, and the version."""
        content = [
            __version__,
            seed,
            [(axis.name, axis.low, axis.high) for axis in family.axes],
            [(one.name, one.is_held_out, one.values) for one in self.treatments],
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

    @property
    def span(self) -> tuple[str, str] | None:
        """When the first and the last trial began, if that is meaningful; ISO 8601."""
        known = [float(value) for value in self.trials.table["started"].drop_nulls()]
        return (_moment(min(known)), _moment(max(known))) if known else None

    @property
    def course(self) -> tuple[Moment, ...]:
        """The least round trip of each round, in the order of the rounds."""
        found: dict[tuple[int, int], float] = {}
        for one in self.treatments:
            for row, packets in zip(one.rows, one.packets, strict=True):
                least = least_rtt(packets)
                key = row.series, row.round
                found[key] = min(least, found.get(key, least))
        return tuple(Moment(f"{key[0]}.{key[1]}", found[key]) for key in sorted(found))

    @property
    def doubts(self) -> tuple[str, ...]:
        """What the real path did between rounds that no emulated one does."""
        least = [moment.least_rtt for moment in self.course if np.isfinite(moment.least_rtt)]
        moved = max(least) - min(least) if least else 0.0
        said = f"its least round trip moved by {moved:.3g} ms between rounds: the path changed while it was measured"
        return (said,) if moved > _MOVED else ()


def now() -> str:
    """Return the time in ISO 8601."""
    return _moment(time.time())


def _moment(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).replace(microsecond=0).isoformat()


def least_rtt(packets: Packets) -> float:
    """Return the least delays of both directions together, in ms; NaN if nothing arrived in one."""
    ways = [packets.of(direction) for direction in DIRECTIONS]
    arrived = [way.delay[way.delivered] for way in ways]
    return sum(float(each.min()) for each in arrived) * 1e3 if all(each.size for each in arrived) else np.nan


def read_real(path: Path, only: Sequence[str], hold_out: Sequence[str], told: Progress) -> RealTrials:
    """Read the trials of an experiment directory of kind path whose packets were kept.

    Raises
    ------
    PlanError
        A factor or level is unknown, everything is held out, or the trials are of several paths.
    AnalysisError
        It is no experiment over a path, no packets were kept, or a treatment has fewer than two trials.
    """
    with opened(path) as (experiment, directory, ledger):
        if not isinstance(experiment.trial, PathTrial):
            raise AnalysisError(
                f"{path}: its trials are of kind {experiment.trial.kind}, and a path is fitted to those of kind path"
            )
        rows, lacking = _rows(experiment, ledger, path)
        factors = [row.factors for row in rows]
        chosen = subset(only, factors)
        held = subset(hold_out, factors, "--hold-out") if hold_out else None
        rows = [row for row in rows if matches(row.factors, chosen)]
        treatments = _treatments(experiment, rows, held)
        mtu = one_path(experiment, rows, path).mtu
        for done, one in enumerate(treatments):
            told("reading packets", done, len(treatments))
            for row, plans in zip(one.rows, one.plans, strict=True):
                file = directory.path / record_name(row.number, row.attempt, "packets")
                packets = read_packets(file, within=directory.path)
                one.packets.append(packets)
                one.values.append(likeness_values(packets, one.flows(plans), experiment.warmup))
        trials = with_likeness(read_trial_set(experiment, directory, ledger), _by_trial(ledger, treatments))
        if lacking:
            note = f"{counted(lacking, 'trial')} whose packets were not kept or are gone: left out"
            trials = dataclasses.replace(trials, notes=(*trials.notes, note))
        return RealTrials(str(path), trials, tuple(treatments), experiment.warmup, mtu, experiment)


def _by_trial(ledger: Ledger, treatments: Sequence[RealTreatment]) -> dict[str, TrialValues]:
    """Return the values of each trial by its name in a trial set."""
    origin = ledger.fact("identity")
    return {
        f"{origin}/{row.number}": found
        for one in treatments
        for row, found in zip(one.rows, one.values, strict=True)
    }


def _rows(experiment: Experiment, ledger: Ledger, path: Path) -> tuple[list[TrialRow], int]:
    """Return the finished trials that have packets, and the number of those that have none."""
    finished = [
        row
        for row in ledger.present_trials()
        if row.status == "finished" and not row.warmup and experiment.includes(row.factors)
    ]
    kept = [row for row in finished if (path / record_name(row.number, row.attempt, "packets")).is_file()]
    if not finished:
        raise AnalysisError(f"{path}: no trial has finished", hint=first_value_by(ledger.present_trials()))
    if not kept:
        raise AnalysisError(
            f"{path}: no packets were kept, and what a path is like is read from packets",
            hint='run it without packets = "drop"',
        )
    return kept, len(finished) - len(kept)


def _treatments(experiment: Experiment, rows: Sequence[TrialRow], held: Subset | None) -> list[RealTreatment]:
    found: dict[str, RealTreatment] = {}
    for row in rows:
        is_held = held is not None and matches(row.factors, held)
        one = found.setdefault(row.treatment, RealTreatment(row.treatment, is_held))
        one.rows.append(row)
        one.plans.append(flow_plans(experiment, dict(NOWHERE) | dict(row.factors)))
    if all(one.is_held_out for one in found.values()):
        raise PlanError(
            "every treatment is held out, and nothing is left to fit to",
            hint="hold out fewer with --hold-out",
        )
    few = [one.name for one in found.values() if len(one.rows) < 2]
    if few:
        raise AnalysisError(
            f"{few[0]} has one trial: its noise is unknown",
            hint="run two rounds or more; ten tell what is equivalent",
        )
    return list(found.values())


def one_path(
    experiment: Experiment, rows: Sequence[TrialRow], path: Path, option: str = "--only"
) -> PathSettings:
    """Return the one path of all trials; raise PlanError, which names an option to choose one with, if there are several."""
    found: dict[PathSettings, TrialRow] = {}
    for row in rows:
        found.setdefault(settings_of(experiment, dict(NOWHERE) | dict(row.factors)), row)
    if len(found) > 1:
        first, second = list(found.values())[:2]
        raise PlanError(
            f"{path}: its trials are of {len(found)} paths, as {first.treatment} and {second.treatment}",
            hint=f"choose one with {option} FACTOR=LEVEL",
        )
    return next(iter(found))
