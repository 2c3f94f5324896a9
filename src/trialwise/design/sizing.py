"""How many rounds and series the objectives need."""

from __future__ import annotations

from dataclasses import dataclass

from trialwise.design.orders import rounds_in_block
from trialwise.design.treatments import count_treatments
from trialwise.experiment.model import Experiment, Kpi, Metric, Variability
from trialwise.statistics import samples_needed, series_needed


@dataclass(frozen=True, slots=True)
class Need:
    """What one objective of one metric asks for: `amount` rounds or series."""

    metric: str
    objective: Kpi | Variability
    amount: int

    @property
    def text(self) -> str:
        """The objective in words."""
        objective = self.objective
        if isinstance(objective, Kpi):
            return f"{objective.confidence:g} % {objective.bound} bound on p{objective.percentile:g}"
        return f"variability score (p{objective.percentile:g}, {objective.confidence:g} %)"


@dataclass(frozen=True, slots=True)
class Sizing:
    """The rounds in each series and the series that will run, and what asked for them."""

    rounds: int
    series: int
    rounds_needed: tuple[Need, ...]
    series_needed: tuple[Need, ...]


def size(experiment: Experiment) -> Sizing:
    """The smallest number of rounds and series that serve every KPI and variability score, or those that are given.

    An order whose rounds belong together (`rounds_in_block`) gets whole blocks, unless the number is given.
    """
    robustness = experiment.design.robustness
    rounds = tuple(need for metric in experiment.metrics for need in _rounds(metric, robustness))
    series = tuple(need for metric in experiment.metrics for need in _series(metric, robustness))
    return Sizing(
        rounds=experiment.design.rounds
        or whole_blocks(experiment, max((need.amount for need in rounds), default=1)),
        series=experiment.design.series or max((need.amount for need in series), default=1),
        rounds_needed=rounds,
        series_needed=series,
    )


def whole_blocks(experiment: Experiment, rounds: int) -> int:
    """The next number of rounds, from `rounds` on, that is a multiple of what the order's rounds belong together in."""
    block = rounds_in_block(experiment.design.order, count_treatments(experiment))
    return -(-rounds // block) * block


def _rounds(metric: Metric, robustness: int) -> list[Need]:
    return [Need(metric.name, kpi, rounds_needed(kpi, robustness)) for kpi in metric.kpis]


def rounds_needed(kpi: Kpi, robustness: int) -> int:
    """The smallest number of rounds that gives the bound (TriScale Eq. 4).

    A lower bound on p75 needs as many as an upper one on p25.
    """
    return samples_needed(kpi.percentile, kpi.confidence, robustness=robustness, sides=kpi.bound)


def _series(metric: Metric, robustness: int) -> list[Need]:
    score = metric.variability
    if score is None:
        return []
    return [
        Need(metric.name, score, series_needed(score.percentile, score.confidence, robustness=robustness))
    ]
