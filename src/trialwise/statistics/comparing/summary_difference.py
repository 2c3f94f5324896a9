"""Two samples side by side as Pantheon prints them: numbers, means, standard deviations, without inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trialwise.statistics.checks import as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trialwise.statistics.comparing.difference import Summary


@dataclass(frozen=True, slots=True)
class SummaryDifference:
    """A row of the table of Pantheon's `compare_two_experiments.py`."""

    n: tuple[int, int]
    means: tuple[float, float]
    percent_difference: float
    """100 (second - first) / first, of unrounded means; NaN if the first is 0."""
    standard_deviations: tuple[float, float]
    """With n in the denominator: 0 for a single trial."""
    percent_difference_deviation: float
    """The same for standard deviations: -100 if the second has a single trial, which says nothing about its spread."""
    method: str


def summary_difference(a: ArrayLike, b: ArrayLike) -> SummaryDifference:
    """Summarise two samples as Pantheon's replication walkthrough does.

    Raises
    ------
    StatisticsError
        A side has no values, or values that are not finite.
    """
    first, second = as_values(a, "a"), as_values(b, "b")
    means = float(first.mean()), float(second.mean())
    deviations = float(first.std()), float(second.std())
    return _side_by_side((first.size, second.size), means, deviations)


def printed_difference(a: Summary, b: Summary) -> SummaryDifference:
    """Return the same for two samples of which only number, mean and standard deviation are known."""
    deviations = (_population(a), _population(b))
    return _side_by_side((a.n, b.n), (a.mean, b.mean), deviations)


def _population(sample: Summary) -> float:
    return sample.deviation * ((sample.n - 1) / sample.n) ** 0.5


def _side_by_side(
    n: tuple[int, int], means: tuple[float, float], deviations: tuple[float, float]
) -> SummaryDifference:
    return SummaryDifference(n, means, _percent(*means), deviations, _percent(*deviations), "paper")


def _percent(first: float, second: float) -> float:
    return 100 * ((second - first) / first) if first else float("nan")
