"""The sequential mean of one number per trial."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, sqrt

from trialwise.arrays import Array
from trialwise.errors import StatisticsError
from trialwise.rules import RuleName
from trialwise.statistics.online_moments import RunningMoments, tail_warnings
from trialwise.statistics.sequential.sampling import chi_square_factors
from trialwise.statistics.sequential.states import Seen, SequentialState, SequentialUnweighted


class SequentialMean(SequentialUnweighted[float]):
    """The mean of one number per trial, until its interval is narrow enough.

    Rules: "geometric" (default) looks from 30 trials on, each time after a tenth more, at Student's interval with four fifths of the
    reported error probability (96 % for 95 %, since looks at 95 % lose up to a point of coverage; the same factor for other
    confidences). "cceval" looks after every trial from the 20th with a normal quantile, as printed (Eq. 2; `relative_margin_stop`).
    "anytime" is an asymptotic confidence sequence (Waudby-Smith et al. 2024), tuned for the number that the first 50 trials
    forecast. Only it may be extended after it stopped; it needs about 2.5 times the trials.
    """

    pools = False

    def add_samples(self, samples: Array) -> bool:
        """Add the mean of a trial's samples."""
        return self.add(float(samples.mean()))

    def _empty(self) -> None:
        self._moments = RunningMoments()

    def _take(self, trial: float, name: str) -> None:
        if not isfinite(trial):
            raise StatisticsError(f"{name} gave {trial!r}; expected a finite number")
        self._moments.add(float(trial))

    def _measured(self, reach: float) -> Seen:
        moments = self._moments
        half = reach * moments.deviation / sqrt(moments.n)
        return Seen(
            n=moments.n,
            estimate=moments.mean,
            low=moments.mean - half,
            high=moments.mean + half,
            deviation=moments.deviation,
            factors=chi_square_factors(moments.degrees_of_freedom),
            estimand="mean over trials",
            warnings=tail_warnings(moments),
        )


def sequential_mean(
    values: Iterable[float],
    precision: float,
    *,
    relative: bool = True,
    confidence: float = 95,
    rule: RuleName = "geometric",
    start: int | None = None,
) -> SequentialState:
    """Feed trials in order to `SequentialMean` until it stops or they end; the options are the same.

    Raises
    ------
    StatisticsError
        There are no trials, one is not finite, or an option is out of range.
    """
    course = SequentialMean(precision, relative=relative, confidence=confidence, rule=rule, start=start)
    return course.until_known(values)
