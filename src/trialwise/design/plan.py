"""The plan: every trial of an experiment, in the order in which they run.

A plan is a rule with a seed: more rounds or series continue the same sequence, and only names and the numbers of
series and rounds enter a trial's seed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise.design.draws import drawn_value
from trialwise.design.orders import OrderOfRound, order_of_round, round_order, rounds_in_block
from trialwise.design.plan_record import plan_record
from trialwise.design.schedule import round_starts
from trialwise.design.seeds import seed_of
from trialwise.design.sizing import Sizing, size
from trialwise.design.stopping import stopping_plan
from trialwise.design.treatments import Treatment, count_treatments, treatments
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, Level


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One trial to run. `series`, `round` and `position` count from 1; warm-up rounds are counted separately.

    `factors` holds the levels of the treatment and the values sampled for the round. `start` is in seconds after
    the start of the experiment, None for "right after the trial before". `order` is the rule of its round, and
    `predecessor` the treatment right before it in the same round without a reset between; None if there is none.
    """

    number: int
    treatment: Treatment
    factors: Mapping[str, Level]
    series: int
    round: int
    position: int
    order: OrderOfRound
    predecessor: Treatment | None
    seed: int
    warmup: bool
    start: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What will run: sizes, and the trials in order."""

    experiment: Experiment
    sizing: Sizing
    treatments: tuple[Treatment, ...]
    trials: tuple[PlannedTrial, ...]

    @property
    def digest(self) -> str:
        """Hash of everything that determines the trials except their number: equal for a plan and its extensions."""
        return plan_digest(self.experiment)


MAX_TRIALS = 1_000_000
"""Maximum number of trials of a plan."""


def make_plan(experiment: Experiment) -> Plan:
    """Size the experiment and lay out its trials.

    Raises
    ------
    PlanError
        There would be more than `MAX_TRIALS`, or too few are allowed for what is to be known.
    """
    sizing = size(experiment)
    stopping_plan(experiment, sizing, None)
    if (number := count_trials(experiment, sizing)) > MAX_TRIALS:
        raise PlanError(
            f"{experiment.name}: the plan has {number} trials; at most {MAX_TRIALS} can be laid out",
            hint=_how_to_have_fewer(experiment),
        )
    return Plan(experiment, sizing, treatments(experiment), tuple(_numbered(experiment, sizing)))


def _how_to_have_fewer(experiment: Experiment) -> str:
    square = rounds_in_block("balanced", count_treatments(experiment))
    if experiment.design.order == "balanced" and experiment.design.rounds is None and square > 1:
        return f'order = "balanced" takes whole squares of {square} rounds; give rounds, or order = "random"'
    return "`trialwise plan` says which objective asks for them; give rounds and series, or ask for less"


def count_trials(experiment: Experiment, sizing: Sizing) -> int:
    """Return the number of trials, including warm-ups."""
    rounds = sizing.rounds + experiment.design.warmup_trials
    return sizing.series * rounds * count_treatments(experiment)


def first_rounds(experiment: Experiment, sizing: Sizing, number: int) -> tuple[PlannedTrial, ...]:
    """Return the trials of the plan's first rounds, including warm-up rounds, without laying out the rest."""
    return tuple(itertools.islice(_numbered(experiment, sizing), number * len(treatments(experiment))))


def plan_digest(experiment: Experiment) -> str:
    """Hash the experiment file's content, without its folder, the workers, the numbers of rounds and series, and what ends it."""
    record = plan_record(experiment)
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


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
    rule = order_of_round(experiment.design.order, experiment.seed, series, label)
    order = round_order(experiment.design.order, all_treatments, experiment.seed, series, label)
    is_reset = experiment.reset is not None and experiment.reset.every == "trial"
    for position, treatment in enumerate(order, 1):
        yield PlannedTrial(
            number=0,
            treatment=treatment,
            factors=dict(treatment.levels) | drawn,
            series=series,
            round=round_,
            position=position,
            order=rule,
            predecessor=None if position == 1 or is_reset else order[position - 2],
            seed=seed_of(experiment.seed, "trial", treatment.name, series, label),
            warmup=warmup,
            start=start if position == 1 else None,
        )
