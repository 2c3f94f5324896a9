"""Compute how many rounds and series the objectives need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from trialwise import statistics as st
from trialwise.design.orders import rounds_in_block
from trialwise.design.treatments import count_treatments
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, Kpi, Metric, Variability
from trialwise.experiment.results import claimed
from trialwise.experiment.stopping import stops_by_itself, stops_by_series


@dataclass(frozen=True, slots=True)
class Need:
    """What one objective of one metric needs: `amount` rounds or series."""

    metric: str
    objective: Kpi | Variability
    amount: int

    @property
    def text(self) -> str:
        """The objective as text."""
        objective = self.objective
        if isinstance(objective, Kpi):
            return f"{objective.confidence:g} % {objective.bound} bound on p{objective.percentile:g}"
        return f"variability score (p{objective.percentile:g}, {objective.confidence:g} %)"


@dataclass(frozen=True, slots=True)
class Sizing:
    """The rounds in each series and the series that will run, and what requires them."""

    rounds: int
    series: int
    rounds_needed: tuple[Need, ...]
    series_needed: tuple[Need, ...]


def size(experiment: Experiment) -> Sizing:
    """Return the smallest number of rounds and series that serve every KPI and variability score, or the given numbers.

    An order whose rounds belong together (`rounds_in_block`) gets whole blocks, unless the number is given. With a
    stopping condition, there is room for `max_trials` of each treatment.

    Raises
    ------
    PlanError
        `max_trials` is too small for what is required.
    """
    design, robustness = experiment.design, experiment.design.robustness
    rounds = tuple(need for metric in claimed(experiment) for need in _rounds(metric, robustness))
    series = tuple(need for metric in claimed(experiment) for need in _series(metric, robustness))
    most_rounds = design.rounds or whole_blocks(experiment, max((need.amount for need in rounds), default=1))
    most_series = design.series or max((need.amount for need in series), default=1)
    if stops_by_series(experiment):
        most_series = _series_at_most(experiment, most_rounds)
    elif stops_by_itself(experiment) and design.rounds is None:
        _check_reach(experiment, rounds)
        most_rounds = _down_to_blocks(experiment, design.max_trials)
    return Sizing(most_rounds, most_series, rounds_needed=rounds, series_needed=series)


def _series_at_most(experiment: Experiment, rounds: int) -> int:
    """Return as many series as `max_trials` allows."""
    design = experiment.design
    number = design.max_trials // rounds
    if number < 2:
        raise PlanError(
            f"{experiment.name}: a series has {rounds} rounds; with max_trials = {design.max_trials} there are not two",
            hint=f"raise max_trials to {20 * rounds} or more, or ask for KPIs that need fewer rounds",
        )
    return number


def _check_reach(experiment: Experiment, needs: Sequence[Need]) -> None:
    """Raise PlanError for a KPI that `max_trials` cannot provide."""
    most = experiment.design.max_trials
    for need in needs:
        if need.amount > most:
            raise PlanError(
                f"{experiment.name}: {need.metric}: {need.text} needs {need.amount} trials; max_trials is {most}",
                hint=f"raise max_trials to {need.amount}, or ask for a lower confidence or percentile",
            )


def _down_to_blocks(experiment: Experiment, rounds: int) -> int:
    """Round down to whole blocks of the order."""
    block = block_of(experiment)
    return rounds // block * block or rounds


def block_of(experiment: Experiment) -> int:
    """Return how many rounds belong together: for the order and, with a stopping condition, for a Sobol sample."""
    ordered = rounds_in_block(experiment.design.order, count_treatments(experiment))
    return lcm(ordered, experiment.trial.traits.block) if stops_by_itself(experiment) else ordered


def whole_blocks(experiment: Experiment, rounds: int) -> int:
    """Round up to a multiple of the order's block of rounds."""
    block = block_of(experiment)
    return -(-rounds // block) * block


def _rounds(metric: Metric, robustness: int) -> list[Need]:
    return [Need(metric.name, kpi, rounds_needed(kpi, robustness)) for kpi in metric.kpis]


def rounds_needed(kpi: Kpi, robustness: int) -> int:
    """Return the smallest number of rounds that gives the bound (TriScale Eq. 4).

    A lower bound on p75 needs as many as an upper one on p25.
    """
    return st.samples_needed(kpi.percentile, kpi.confidence, robustness=robustness, sides=kpi.bound)


def _series(metric: Metric, robustness: int) -> list[Need]:
    score = metric.variability
    if score is None:
        return []
    return [
        Need(metric.name, score, st.series_needed(score.percentile, score.confidence, robustness=robustness))
    ]
