"""The mean of one number for each trial, sequentially."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, sqrt

from trialwise.errors import StatisticsError
from trialwise.rules import RuleName
from trialwise.statistics.online_moments import RunningMoments, tail_warnings
from trialwise.statistics.sequential.looking import Looks, chi_square_factors
from trialwise.statistics.sequential.states import Seen, Sequential, SequentialState


class SequentialMean(Sequential[float]):
    """The mean of one number for each trial, until its interval is narrow enough.

    Rules: "geometric" (default) looks from 30 trials on, each time at a tenth more, at Student's interval with four fifths of
    the probability of missing that is reported (96 % for 95 %: looks at 95 % lose up to a point; other confidences by the same
    factor). "cceval" looks after every trial from the 20th with a normal quantile, as printed (Eq. 2; `relative_margin_stop`).
    "anytime" is an asymptotic confidence sequence (Waudby-Smith et al. 2024), tuned for the number that the first 50 trials
    forecast; it alone may be extended after it stopped, at about 2.5 times the trials.
    """

    def __init__(
        self,
        precision: float,
        *,
        relative: bool = True,
        confidence: float = 95,
        rule: RuleName = "geometric",
        start: int | None = None,
    ) -> None:
        """State what is wanted.

        Parameters
        ----------
        precision
            Half of the width wanted, in percent of the mean, or, where not `relative`, in the unit of the values.
        relative
            Whether the precision is in percent.
        confidence
            In percent, as reported.
        rule
            "geometric", "cceval" or "anytime".
        start
            Trials before the first look; the rule's own where None.

        Raises
        ------
        StatisticsError
            An option is out of range.
        """
        super().__init__(Looks.of(rule, precision, relative=relative, confidence=confidence, start=start))
        self._moments = RunningMoments()

    def _take(self, trial: float, name: str) -> None:
        if not isfinite(trial):
            raise StatisticsError(f"{name} gave {trial!r}; a finite number is wanted")
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
    """Feed trials in their order to `SequentialMean` until it stops or they end; options as there.

    Raises
    ------
    StatisticsError
        No trials, one that is not finite, or an option out of range.
    """
    course = SequentialMean(precision, relative=relative, confidence=confidence, rule=rule, start=start)
    return course.until_known(values)
