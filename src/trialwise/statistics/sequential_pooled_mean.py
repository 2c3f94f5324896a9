"""The mean of all samples of all trials, sequentially."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.checks import as_values
from trialwise.statistics.clusters import ratio_standard_error
from trialwise.statistics.looking import Looks, Rule
from trialwise.statistics.running import RunningMoments, tail_warnings
from trialwise.statistics.sequential import Course, Seen, SequentialState

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class SequentialPooledMean:
    """The mean of all samples (`pooled_mean`), trial by trial, by the same rules and looks as `SequentialMean`.

    Sum of sums over sum of numbers, with the linearised standard error over trials; two numbers are kept of each trial.
    """

    def __init__(
        self,
        precision: float,
        *,
        relative: bool = True,
        confidence: float = 95,
        rule: Rule = "geometric",
        start: int | None = None,
    ) -> None:
        """State what is wanted, as in `SequentialMean`.

        Raises
        ------
        ValueError
            An option is out of range.
        """
        self._course = Course(
            Looks.of(rule, precision, relative=relative, confidence=confidence, start=start)
        )
        self._sums: list[float] = []
        self._sizes: list[int] = []

    def add(self, samples: ArrayLike) -> bool:
        """Take the samples of one trial in; whether the rule stops now.

        Raises
        ------
        ValueError
            The rule had stopped before, or a sample is not finite.
        """
        self._course.open()
        array = as_values(samples, f"trial {len(self._sums) + 1}", minimum=0)
        self._sums.append(float(array.sum()))
        self._sizes.append(array.size)
        return self._course.looked(len(self._sums), self._measured)

    @property
    def state(self) -> SequentialState:
        """What is known now: estimate, interval, forecast."""
        return self._course.state(len(self._sums), self._measured)

    def _measured(self, reach: float) -> Seen:
        sums, sizes = np.array(self._sums), np.array(self._sizes, dtype=np.float64)
        n, total = sums.size, float(sizes.sum())
        if not total:
            raise ValueError("no trial has a sample; check what selects them (a size class, a phase)")
        estimate = float(sums.sum()) / total
        error = ratio_standard_error(sums, sizes)
        residuals = RunningMoments.of((sums - estimate * sizes).tolist())
        return Seen(
            n=n,
            estimate=estimate,
            low=estimate - reach * error,
            high=estimate + reach * error,
            deviation=error * sqrt(n),
            degrees_of_freedom=residuals.degrees_of_freedom,
            estimand="mean of all samples",
            warnings=tail_warnings(residuals),
        )


def sequential_pooled_mean(
    trials: Iterable[ArrayLike],
    precision: float,
    *,
    relative: bool = True,
    confidence: float = 95,
    rule: Rule = "geometric",
    start: int | None = None,
) -> SequentialState:
    """Feed the samples of trials in their order to `SequentialPooledMean` until it stops or they end; options as there.

    Raises
    ------
    ValueError
        A sample that is not finite, or an option out of range.
    """
    course = SequentialPooledMean(precision, relative=relative, confidence=confidence, rule=rule, start=start)
    for samples in trials:
        if course.add(samples):
            break
    return course.state
