"""The proportion of hits, with an exact interval."""

from __future__ import annotations

from dataclasses import dataclass

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import as_percent


@dataclass(frozen=True, slots=True)
class Proportion:
    """Proportion of hits among n, in percent, with its interval."""

    hits: int
    n: int
    percent: float
    low: float
    """In percent, like `high`."""
    high: float
    confidence: float
    """In percent."""
    method: str


def proportion(hits: int, n: int, *, confidence: float = 95) -> Proportion:
    """Estimate a proportion from independent yes-or-no outcomes, with Clopper and Pearson's exact interval (1934).

    Each bound misses with at most half of the error probability, so the coverage is at least the confidence.

    Raises
    ------
    StatisticsError
        There are not between 0 and n hits, n is not above 0, or the confidence is not between 0 and 100.
    """
    tail = (1 - float(as_percent(confidence, "confidence"))) / 2
    if n < 1 or not 0 <= hits <= n:
        raise StatisticsError(f"{hits} hits of {n}; expected at least one outcome, and at most as many hits")
    low = float(special.betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(special.betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return Proportion(
        hits, n, 100 * hits / n, 100 * low, 100 * high, float(confidence), "exact binomial (Clopper-Pearson)"
    )
