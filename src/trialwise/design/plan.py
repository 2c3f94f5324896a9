"""The plan: every trial of an experiment, in the order in which they run.

A plan is a rule with a seed: more rounds or series continue the same sequence, and nothing but names and numbers of
series and rounds enters a trial's seed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise.design.draws import drawn_value
from trialwise.design.orders import round_order
from trialwise.design.schedule import round_starts
from trialwise.design.seeds import seed_of
from trialwise.design.sizing import Sizing, size
from trialwise.design.treatments import Treatment, treatments
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, Level


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One trial to be run. `series`, `round` and `position` count from 1; warm-up rounds count by themselves.

    `factors` holds the levels of the treatment and the values drawn for the round. `start` is in seconds after
    the start of the experiment, None for "right after the trial before".
    """

    number: int
    treatment: Treatment
    factors: Mapping[str, Level]
    series: int
    round: int
    position: int
    order: str
    seed: int
    warmup: bool
    start: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be run: sizes, and the trials in their order."""

    experiment: Experiment
    sizing: Sizing
    treatments: tuple[Treatment, ...]
    trials: tuple[PlannedTrial, ...]

    @property
    def digest(self) -> str:
        """A hash of everything that decides the trials but their number: equal for a plan and its extensions."""
        return plan_digest(self.experiment)


MOST_TRIALS = 1_000_000
"""A plan with more trials is not laid out."""


def make_plan(experiment: Experiment) -> Plan:
    """Size the experiment and lay out its trials.

    Raises
    ------
    PlanError
        There would be more than `MOST_TRIALS`.
    """
    sizing = size(experiment)
    if (number := count_trials(experiment, sizing)) > MOST_TRIALS:
        raise PlanError(
            f"{experiment.name}: the plan has {number} trials; at most {MOST_TRIALS} can be laid out",
            hint="`trialwise plan` says which objective asks for them; give rounds and series, or ask for less",
        )
    return Plan(experiment, sizing, treatments(experiment), tuple(_numbered(experiment, sizing)))


def count_trials(experiment: Experiment, sizing: Sizing) -> int:
    """The number of trials, warm-ups included."""
    rounds = sizing.rounds + experiment.design.warmup_trials
    return sizing.series * rounds * len(treatments(experiment))


def first_rounds(experiment: Experiment, sizing: Sizing, number: int) -> tuple[PlannedTrial, ...]:
    """The trials of the first rounds of the plan, warm-up rounds included, without laying out the rest."""
    return tuple(itertools.islice(_numbered(experiment, sizing), number * len(treatments(experiment))))


def plan_digest(experiment: Experiment) -> str:
    """Hash what the experiment file says, without the folder it stands in, the workers, and the number of rounds and series."""
    record = dataclasses.asdict(experiment)
    del record["folder"], record["workers"]
    del record["design"]["rounds"], record["design"]["series"]
    return hashlib.sha256(json.dumps(record, sort_keys=True, default=str).encode()).hexdigest()


def _numbered(experiment: Experiment, sizing: Sizing) -> Iterator[PlannedTrial]:
    for number, trial in enumerate(_trials(experiment, sizing), 1):
        yield dataclasses.replace(trial, number=number)


def _trials(experiment: Experiment, sizing: Sizing) -> Iterator[PlannedTrial]:
    all_treatments = treatments(experiment)
    for series in range(1, sizing.series + 1):
        starts = round_starts(experiment, series, sizing.rounds)
        for round_ in range(1, experiment.design.warmup_trials + 1):
            yield from _round(experiment, all_treatments, series, round_, start=starts[0], warmup=True)
        for round_, start in enumerate(starts, 1):
            yield from _round(experiment, all_treatments, series, round_, start=start, warmup=False)


def _round(
    experiment: Experiment,
    all_treatments: Sequence[Treatment],
    series: int,
    round_: int,
    *,
    start: float | None,
    warmup: bool,
) -> Iterator[PlannedTrial]:
    label = f"warmup {round_}" if warmup else round_
    drawn = {
        factor.name: drawn_value(factor, experiment.seed, series, label)
        for factor in experiment.drawn_factors
    }
    order = round_order(experiment.design.order, all_treatments, experiment.seed, series, label)
    for position, treatment in enumerate(order, 1):
        yield PlannedTrial(
            number=0,
            treatment=treatment,
            factors=dict(treatment.levels) | drawn,
            series=series,
            round=round_,
            position=position,
            order=experiment.design.order,
            seed=seed_of(experiment.seed, "trial", treatment.name, series, label),
            warmup=warmup,
            start=start if position == 1 else None,
        )
