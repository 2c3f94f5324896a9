"""The treatments that may be on the Pareto front of several metrics."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, as_percent, one_of
from trialwise.statistics.comparing.pairwise import (
    Direction,
    as_direction,
    as_groups,
    better_at,
    better_p_values,
    paired_p_values,
    without_variance,
)
from trialwise.statistics.estimates.measures import mean_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class ParetoSet(AbstractSet[str]):
    """The names of treatments that may be on the front, and what excluded the others."""

    members: frozenset[str]
    front_of_means: frozenset[str]
    """The front of the sample means, without any confidence."""
    excluded_by: dict[str, tuple[str, ...]]
    """For each excluded treatment, those that are better in every metric, the smallest p-value first."""
    p_values: dict[str, float]
    """For each treatment the smallest p-value of "another one is better in every metric", corrected for the number of tests."""
    better: dict[str, Direction]
    """For each metric which values are better."""
    n: dict[str, int]
    """Values per treatment, in every metric."""
    confidence: float
    """In percent."""
    holds: Literal["each", "front"]
    """Whether the confidence is of each treatment of the front separately, or of the whole front."""
    method: str
    note: str
    """What was not compared; empty if everything was."""

    @classmethod
    def _from_iterable(cls, it: Iterable[str]) -> frozenset[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return frozenset(it)

    def __contains__(self, name: object) -> bool:
        """Return True if a treatment may be on the front."""
        return name in self.members

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in no particular order."""
        return iter(self.members)

    def __len__(self) -> int:
        """Return the number of treatments that may be on the front."""
        return len(self.members)


def pareto_set(
    groups: Mapping[str, Mapping[str, ArrayLike]],
    better: Mapping[str, Direction],
    *,
    confidence: float = 95,
    holds: Literal["each", "front"] = "each",
    paired: bool = False,
) -> ParetoSet:
    """Exclude each treatment that another one beats in the mean of every metric.

    The p-value of a pair is the largest over the metrics of Welch's one-sided test (intersection-union test, Berger 1982: valid
    under any dependence between metrics). A treatment is excluded if its p-value against another one is at most (1 - C)/(K - 1),
    so that a treatment truly on the front is kept with probability C. For the whole front jointly ("front") the level is (1 -
    C)/(K(K - 1)).

    Parameters
    ----------
    groups
        For each treatment its metrics, one number per trial; all metrics come from the same trials.
    better
        For each metric "higher" or "lower". Metrics not named here are ignored.
    confidence
        In percent.
    holds
        "each": every treatment of the front separately; "front": all of them jointly.
    paired
        True if values at the same index come from the same unit (a workload that all treatments ran); Student's t of their
        differences then replaces Welch's.

    Raises
    ------
    StatisticsError
        No treatments or metrics, a metric that a treatment lacks, metrics of one treatment with different numbers of values,
        paired treatments with different numbers of values, fewer than two, values that are not finite, or an option out of range.
    """
    level = as_percent(confidence, "confidence")
    one_of(holds, "holds", ("each", "front"))
    metrics = _read(groups, better)
    names, count = list(groups), len(groups)
    first = next(iter(metrics.values()))
    signs = {metric: as_direction(direction) for metric, direction in better.items()}
    test = paired_p_values if paired else better_p_values
    p_values = np.max([test(list(metrics[metric].values()), sign) for metric, sign in signs.items()], axis=0)
    tests = max(count - 1, 1) * (count if holds == "front" else 1)
    corrected = np.minimum(1.0, tests * p_values)
    excluded_by = _excluded_by(names, p_values, float(1 - level) / tests)
    means = np.array(
        [[sign * mean_of(values) for values in metrics[metric].values()] for metric, sign in signs.items()]
    )
    return ParetoSet(
        members=frozenset(names) - excluded_by.keys(),
        front_of_means=frozenset(names[at] for at in np.flatnonzero(~_dominated(means))),
        excluded_by=excluded_by,
        p_values=dict(zip(names, corrected.min(axis=0).tolist(), strict=True)),
        better=dict(better),
        n={name: values.size for name, values in first.items()},
        confidence=float(confidence),
        holds=holds,
        method=("Student's one-sided t test of paired differences" if paired else "Welch's one-sided t test")
        + " in every metric (intersection-union), Bonferroni",
        note="; ".join(
            f"{metric}: {note}" for metric, values in metrics.items() if (note := without_variance(values))
        ),
    )


def _read(
    groups: Mapping[str, Mapping[str, ArrayLike]], better: Mapping[str, Direction]
) -> dict[str, dict[str, Array]]:
    """Return the values of each treatment by metric."""
    if not better:
        raise StatisticsError("no metric is named; say for at least one whether higher or lower is better")
    for name, own in groups.items():
        lacking = [metric for metric in better if metric not in own]
        if lacking:
            raise StatisticsError(
                f"the treatment {name!r} has no {lacking[0]!r}; leave out the one or the other"
            )
    metrics = {metric: as_groups({name: groups[name][metric] for name in groups}) for metric in better}
    for name in groups:
        sizes = {metric: values[name].size for metric, values in metrics.items()}
        if len(set(sizes.values())) > 1:
            raise StatisticsError(f"the metrics of {name!r} are not of the same trials: {sizes}")
    return metrics


def _excluded_by(names: list[str], p_values: Array, alpha: float) -> dict[str, tuple[str, ...]]:
    """Return, for each column that some row beats, those rows, the smallest p-value first."""
    better, found = better_at(p_values, alpha), dict[str, tuple[str, ...]]()
    for at, name in enumerate(names):
        order: list[int] = np.argsort(p_values[:, at], kind="stable").tolist()
        if by := tuple(names[row] for row in order if better[row, at]):
            found[name] = by
    return found


def _dominated(means: Array) -> NDArray[np.bool_]:
    """Return which columns are dominated: another one is at least as good in every row, and better in one."""
    no_worse = (means[:, :, None] >= means[:, None, :]).all(axis=0)
    better = (means[:, :, None] > means[:, None, :]).any(axis=0)
    return np.any(no_worse & better, axis=0, keepdims=False)
