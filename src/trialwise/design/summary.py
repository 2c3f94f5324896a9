"""The plan as a document: what `trialwise plan --json` prints (format trialwise.plan/1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from trialwise.design.advice import CONCLUSIONS, advice
from trialwise.design.budget import Budget, plan_budget
from trialwise.design.orders import OrderOfRound
from trialwise.design.plan import (
    MAX_TRIALS,
    PlannedTrial,
    count_trials,
    first_rounds,
    plan_digest,
)
from trialwise.design.sizing import Need, Sizing, size
from trialwise.design.splitting import Column, Split, split_budget
from trialwise.design.stopping import StoppingPlan, stopping_plan
from trialwise.design.timing import TrialTimes, how_to_know, series_seconds, total_seconds
from trialwise.design.treatments import treatments
from trialwise.design.worker_plan import WorkerPlan, lanes_from_the_start
from trialwise.errors import PlanError
from trialwise.experiment.amendable import KeyChange
from trialwise.experiment.model import Bound, Experiment, Kpi, Level, Order, Workers
from trialwise.experiment.simulation import OfferedLoad


@dataclass(frozen=True, slots=True)
class ObjectiveSummary:
    """What one objective needs; `decides` if no other needs more, `served` if the plan has that many."""

    metric: str
    objective: Literal["kpi", "variability"]
    percentile: float
    confidence: float
    bound: Bound | None
    needs: int
    unit: Literal["rounds", "series"]
    decides: bool
    served: bool
    text: str


@dataclass(frozen=True, slots=True)
class TreatmentSummary:
    """A treatment, and the seconds that one of its trials takes, if known."""

    name: str
    factors: Mapping[str, Level]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """One planned trial; `start` in seconds after the start of the experiment, null for right after the trial before.

    `order` is the rule of its round; `predecessor` the treatment right before it in the same round without a
    reset between, null if there is none.
    """

    number: int
    series: int
    round: int
    position: int
    warmup: bool
    order: OrderOfRound
    predecessor: str | None
    treatment: str
    factors: Mapping[str, Level]
    seed: int
    start: float | None


@dataclass(frozen=True, slots=True)
class TimeSummary:
    """How long the experiment takes, in seconds, and how that is known."""

    origin: Literal["runtime", "pilot"]
    round_seconds: float
    series_seconds: float
    total_seconds: float


@dataclass(frozen=True, slots=True)
class LaneSummary:
    """What one worker runs: the whole plan with a separate seed; `first` and `last` are the numbers of its trials."""

    worker: str
    seed: int
    first: int
    last: int
    trial_count: int
    trials: tuple[TrialSummary, ...] | None


@dataclass(frozen=True, slots=True)
class FlowsSummary:
    """The mean number of flows of a treatment's simulated trial, and the load they offer to the network (null for listed flows).

    `cautions` are settings of the network that are carried out but hardly intended.
    """

    treatment: str
    expected: float
    offered: OfferedLoad | None = None
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForecastSummary:
    """The total number of units of `level` that a claim is expected to take, by the pilot.

    `known` means that the pilot already decided it, after `wanted` units. `wanted` is null if nothing can be forecast, `wanted_low` to
    `wanted_high` its 95 % interval, null if there is none; `beyond` means that the experiment's `max_trials` come first, and
    `note` says why a pilot forecasts nothing.
    """

    metric: str
    subject: str
    what: str
    asked: str
    known: bool
    wanted: int | None
    wanted_low: int | None
    wanted_high: int | None
    level: str
    beyond: bool
    note: str


@dataclass(frozen=True, slots=True)
class LevelSummary:
    """A level that a metric's estimate of a treatment is to have: `lists`, each of `seconds`; null where they cost nothing."""

    name: str
    variance: float
    seconds: float
    lists: int | None


@dataclass(frozen=True, slots=True)
class LevelsSummary:
    """The levels of an estimate that a pilot of `pilot` lists chose, from the trials to the cheapest control.

    `gain` is the expected gain in time over trials alone, null if beyond bounds; `dropped` are engines that do not pay.
    """

    metric: str
    treatment: str
    levels: tuple[LevelSummary, ...]
    gain: float | None
    dropped: tuple[str, ...]
    trials: int
    pilot: int


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan: its sizes and what requires them, treatments, time, budget, and trials in order.

    `conclusion` says what the order allows to be concluded; `trials` is null if there are too many to lay out. If other machines
    than this one are to run it, `lanes` has what each of them runs, the first as in `trials`; time and budget are those of each,
    and of all if they run in parallel. If the experiment ends by itself, `stopping` says when, and all other numbers are maxima.
    `splits` says how to divide a budget between series and rounds, if trials were run; `flows` is for simulated trials, and
    `forecasts` and `levels` come from a pilot. `changes` are the keys in which the file differs from the one that its directory
    began with.
    """

    format: Literal["trialwise.plan/1"]
    name: str
    seed: int
    plan: str
    rounds: int
    series: int
    warmup_rounds: int
    span: float | None
    order: Order
    conclusion: str
    trial_count: int
    objectives: tuple[ObjectiveSummary, ...]
    warnings: tuple[str, ...]
    treatments: tuple[TreatmentSummary, ...]
    time: TimeSummary | None
    budget: Budget | None
    trials: tuple[TrialSummary, ...] | None
    lanes: tuple[LaneSummary, ...] = ()
    stopping: StoppingPlan | None = None
    splits: tuple[Split, ...] = ()
    flows: tuple[FlowsSummary, ...] = ()
    forecasts: tuple[ForecastSummary, ...] = ()
    levels: tuple[LevelsSummary, ...] = ()
    changes: tuple[KeyChange, ...] = ()


def summarise(
    experiment: Experiment,
    *,
    times: TrialTimes | None = None,
    budget: float | None = None,
    rounds_shown: int | None = None,
    lanes: Sequence[WorkerPlan] = (),
    tables: Mapping[tuple[str, str], Mapping[str, Column]] | None = None,
) -> PlanSummary:
    """Describe the plan of an experiment.

    Parameters
    ----------
    experiment
        The experiment.
    times
        How long its trials take, if known.
    budget
        Seconds into which it should fit; None if that is not asked.
    rounds_shown
        How many rounds to lay out; None for all.
    lanes
        Those of an experiment that has begun; else they follow from its workers.
    tables
        Trials that were run, as `split_budget` takes them.

    Raises
    ------
    PlanError
        A budget without times, or too few trials for what is to be known.
    """
    if budget is not None and times is None:
        raise PlanError(
            f"{experiment.name}: what fits into a budget depends on how long a trial takes, which is not known",
            hint=how_to_know(experiment),
        )
    sizing = size(experiment)
    count = count_trials(experiment, sizing)
    return PlanSummary(
        format="trialwise.plan/1",
        name=experiment.name,
        seed=experiment.seed,
        plan=plan_digest(experiment),
        rounds=sizing.rounds,
        series=sizing.series,
        warmup_rounds=experiment.design.warmup_trials,
        span=experiment.design.span,
        order=experiment.design.order,
        conclusion=CONCLUSIONS[experiment.design.order],
        trial_count=count,
        objectives=tuple(_objectives(sizing)),
        warnings=advice(experiment, sizing, times),
        treatments=tuple(
            TreatmentSummary(
                each.name, dict(each.levels), None if times is None else times.seconds[each.name]
            )
            for each in treatments(experiment)
        ),
        time=None if times is None else _time(experiment, sizing, times),
        budget=None if budget is None or times is None else plan_budget(experiment, sizing, times, budget),
        trials=None if count > MAX_TRIALS else _trials(experiment, sizing, rounds_shown),
        lanes=tuple(
            _lane(lane, experiment, sizing, rounds_shown)
            for lane in lanes or _lanes_to_be(experiment.workers, count)
        ),
        stopping=stopping_plan(experiment, sizing, times),
        splits=split_budget(experiment, sizing, times, budget, tables) if tables and budget and times else (),
    )


def _lanes_to_be(workers: Workers, count: int) -> tuple[WorkerPlan, ...]:
    """Return the lanes of the workers; none if this machine is alone, or if workers are not allocated yet."""
    if workers.allocate is not None or workers.use == Workers().use:
        return ()
    return lanes_from_the_start(workers.use, count)


def _lane(lane: WorkerPlan, experiment: Experiment, sizing: Sizing, rounds: int | None) -> LaneSummary:
    own = lane.experiment(experiment)
    count = sum(last - first + 1 for first, last in lane.blocks)
    numbers = chain.from_iterable(range(first, last + 1) for first, last in lane.blocks)
    trials = (
        None
        if count > MAX_TRIALS
        else tuple(
            dataclasses.replace(trial, number=number)
            for number, trial in zip(numbers, _trials(own, sizing, rounds), strict=False)
        )
    )
    return LaneSummary(
        lane.worker or Workers().use[0], own.seed, lane.blocks[0][0], lane.blocks[-1][1], count, trials
    )


def _objectives(sizing: Sizing) -> Iterator[ObjectiveSummary]:
    for needs, have in ((sizing.rounds_needed, sizing.rounds), (sizing.series_needed, sizing.series)):
        most = max((need.amount for need in needs), default=0)
        for need in needs:
            yield _objective(need, decides=need.amount == most, served=need.amount <= have)


def _objective(need: Need, *, decides: bool, served: bool) -> ObjectiveSummary:
    objective = need.objective
    is_kpi = isinstance(objective, Kpi)
    return ObjectiveSummary(
        metric=need.metric,
        objective="kpi" if is_kpi else "variability",
        percentile=objective.percentile,
        confidence=objective.confidence,
        bound=objective.bound if is_kpi else None,
        needs=need.amount,
        unit="rounds" if is_kpi else "series",
        decides=decides,
        served=served,
        text=need.text,
    )


def _time(experiment: Experiment, sizing: Sizing, times: TrialTimes) -> TimeSummary:
    return TimeSummary(
        times.origin,
        times.round_seconds,
        series_seconds(experiment, sizing.rounds, times),
        total_seconds(experiment, sizing, times),
    )


def _trials(experiment: Experiment, sizing: Sizing, rounds: int | None) -> tuple[TrialSummary, ...]:
    if rounds is None:
        rounds = sizing.series * (sizing.rounds + experiment.design.warmup_trials)
    return tuple(_trial(trial) for trial in first_rounds(experiment, sizing, rounds))


def _trial(trial: PlannedTrial) -> TrialSummary:
    return TrialSummary(
        number=trial.number,
        series=trial.series,
        round=trial.round,
        position=trial.position,
        warmup=trial.warmup,
        order=trial.order,
        predecessor=None if trial.predecessor is None else trial.predecessor.name,
        treatment=trial.treatment.name,
        factors=trial.factors,
        seed=trial.seed,
        start=trial.start,
    )


def plan_json(summary: PlanSummary) -> dict[str, object]:
    """Return the document as plain values."""
    return dataclasses.asdict(summary)
