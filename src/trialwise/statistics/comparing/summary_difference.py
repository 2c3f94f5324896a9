"""Two samples side by side as Pantheon prints them: numbers, means, standard deviations, without inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trialwise.statistics.checks import as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
    return SummaryDifference(
        (first.size, second.size), means, _percent(*means), deviations, _percent(*deviations), "paper"
    )


def _percent(first: float, second: float) -> float:
    return 100 * ((second - first) / first) if first else float("nan")
