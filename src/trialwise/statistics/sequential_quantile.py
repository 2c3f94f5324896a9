"""The quantile of all samples of all trials, sequentially."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import TYPE_CHECKING

from trialwise.statistics.checks import Array, as_percent, as_values
from trialwise.statistics.clusters import Clusters
from trialwise.statistics.looking import Looks, Rule
from trialwise.statistics.pooled_quantile import clustered_quantile
from trialwise.statistics.quantiles import Convention, as_convention
from trialwise.statistics.sequential import Course, Seen, SequentialState

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class SequentialQuantile:
    """The quantile of all samples (`pooled_quantile`), trial by trial, by the same rules and looks as `SequentialMean`.

    The interval is that of the clustered share, with as many standard errors as the rule asks for.
    """

    def __init__(
        self,
        percentile: float,
        precision: float,
        *,
        relative: bool = True,
        confidence: float = 95,
        rule: Rule = "geometric",
        start: int | None = None,
        convention: Convention = "nearest_rank",
    ) -> None:
        """State what is wanted: `percentile` in percent, `convention` as in `trial_quantile`, the others as in `SequentialMean`.

        Raises
        ------
        ValueError
            An option is out of range.
        """
        self._course = Course(
            Looks.of(rule, precision, relative=relative, confidence=confidence, start=start)
        )
        self._p = as_percent(percentile, "percentile")
        as_convention(convention)
        self._convention: Convention = convention
        self._trials: list[Array] = []

    def add(self, samples: ArrayLike) -> bool:
        """Take the samples of one trial in; whether the rule stops now.

        Raises
        ------
        ValueError
            The rule had stopped before, or a sample is not finite.
        """
        self._course.open()
        self._trials.append(as_values(samples, f"trial {len(self._trials) + 1}", minimum=0))
        return self._course.looked(len(self._trials), self._measured)

    @property
    def state(self) -> SequentialState:
        """What is known now: estimate, interval, forecast."""
        return self._course.state(len(self._trials), self._measured)

    def _measured(self, reach: float) -> Seen:
        level = as_percent(self._course.looks.inner, "confidence")
        found = clustered_quantile(Clusters.of_checked(self._trials), self._p, level, reach, self._convention)
        half, n = (found.high - found.low) / 2, found.trials
        return Seen(
            n=n,
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            deviation=half * sqrt(n) / reach,
            degrees_of_freedom=n - 1,
            estimand=found.estimand,
            warnings=[found.note] if found.note else [],
        )


def sequential_quantile(
    trials: Iterable[ArrayLike],
    percentile: float,
    precision: float,
    *,
    relative: bool = True,
    confidence: float = 95,
    rule: Rule = "geometric",
    start: int | None = None,
    convention: Convention = "nearest_rank",
) -> SequentialState:
    """Feed the samples of trials in their order to `SequentialQuantile` until it stops or they end; options as there.

    Raises
    ------
    ValueError
        A sample that is not finite, or an option out of range.
    """
    course = SequentialQuantile(
        percentile,
        precision,
        relative=relative,
        confidence=confidence,
        rule=rule,
        start=start,
        convention=convention,
    )
    for samples in trials:
        if course.add(samples):
            break
    return course.state
