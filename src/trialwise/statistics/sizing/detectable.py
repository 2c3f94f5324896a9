"""The smallest difference of two means that a number of trials is likely to detect."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import as_percent
from trialwise.statistics.comparing.verdicts import as_confidence


@dataclass(frozen=True, slots=True)
class DetectableDifference:
    """A difference of two means that is detected with a probability of `power`, in the unit of the standard deviation."""

    difference: float
    low: float
    """From the interval of the standard deviation, which is itself an estimate."""
    high: float
    n: int
    """Values on each side, or pairs."""
    power: float
    """In percent, like `confidence`, which applies to the test and the interval."""
    confidence: float
    method: str


def detectable_difference(
    deviation: float,
    df: int,
    n: int,
    *,
    confidence: float = 95,
    power: float = 90,
    paired: bool = False,
) -> DetectableDifference:
    """Compute the difference at which a two-sided t test of n values on each side rejects with a probability of `power`.

    It follows from the noncentral t distribution, exactly for normal values of equal variance (Cohen 1988, chapter 2); the bounds
    come from the χ² interval of the standard deviation.

    Parameters
    ----------
    deviation
        Standard deviation of the values of a side, or of the differences of pairs if `paired`.
    df
        Degrees of freedom of the standard deviation.
    n
        Planned number of values on each side, or of pairs.
    confidence, power
        In percent.

    Raises
    ------
    StatisticsError
        Fewer than two values on a side, no degrees of freedom, a negative standard deviation, or an option out of range.
    """
    level, chance = as_confidence(confidence), float(as_percent(power, "power"))
    if n < 2 or df < 1:
        raise StatisticsError(
            f"{n} values on each side and {df} degrees of freedom; expected at least 2 and 1"
        )
    if not 0 <= deviation < float("inf"):
        raise StatisticsError(f"the standard deviation is {deviation!r}; expected a number ≥ 0")
    freedom = n - 1 if paired else 2 * (n - 1)
    se = deviation * sqrt((1 if paired else 2) / n)
    critical = float(special.stdtrit(freedom, (1 + level) / 2))
    difference = float(special.nctdtrinc(freedom, 1 - chance, critical)) * se
    tail = (1 - level) / 2
    low, high = (sqrt(df / float(special.chdtri(df, share))) for share in (tail, 1 - tail))
    return DetectableDifference(
        difference=difference,
        low=difference * low,
        high=difference * high,
        n=n,
        power=float(power),
        confidence=float(confidence),
        method="noncentral t" + (" of pairs" if paired else "") + "; chi-squared bounds of the deviation",
    )
