"""Ranks of treatments with confidence, and a set that contains the best one with confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.checks import Array, as_percent
from trialwise.statistics.comparing.holm import holm
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
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class RankSets(Mapping[str, tuple[int, int]]):
    """Best and worst possible rank of each treatment, from 1: a mapping in the order of the means."""

    ranks: dict[str, tuple[int, int]]
    """Rank ranges that hold jointly at the confidence."""
    best: frozenset[str]
    """The treatments that could be the best; contains the best one at the confidence (a separate claim)."""
    means: dict[str, float]
    n: dict[str, int]
    """Number of values per treatment."""
    better: Direction
    """Whether higher or lower values are better."""
    confidence: float
    """In percent."""
    method: str
    note: str
    """What was not compared; empty if everything was."""

    def __getitem__(self, name: str) -> tuple[int, int]:
        """Return the best and worst rank of a treatment."""
        return self.ranks[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names from the best mean to the worst."""
        return iter(self.ranks)

    def __len__(self) -> int:
        """Return the number of treatments."""
        return len(self.ranks)


def rank_sets(
    groups: Mapping[str, ArrayLike],
    *,
    confidence: float = 95,
    better: Direction = "higher",
    paired: bool = False,
) -> RankSets:
    """Compute simultaneous rank ranges of treatment means (Mohamad, Goeman and van Zwet 2020, by Holm).

    Every pair is tested by Welch's two-sided t test with Holm's correction over all pairs. The rank of a treatment lies between 1
    + (number that beat it) and K - (number that it beats). With at least the probability of the confidence no pair is ordered
    wrongly, and then all rank ranges hold.

    `best` excludes a treatment if another one is better at (1 - C)/(K - 1), one-sided (multiple comparisons with the best, Hsu
    1984, by Bonferroni). This is a separate claim: the best is in this set.

    Parameters
    ----------
    groups
        For each treatment one number per trial, two or more.
    confidence
        In percent.
    better
        "higher" or "lower": which values are better.
    paired
        True if values at the same index come from the same unit (a workload that all treatments ran); Student's t of their
        differences then replaces Welch's.

    Raises
    ------
    StatisticsError
        No groups, paired groups of different lengths, fewer than two values in one, values that are not finite, or an option out
        of range.
    """
    level, sign = as_percent(confidence, "confidence"), as_direction(better)
    checked = as_groups(groups)
    names, count = list(checked), len(checked)
    test = paired_p_values if paired else better_p_values
    p_values = test(list(checked.values()), sign)
    wins = beats(p_values, float(1 - level))
    means = {name: mean_of(values) for name, values in checked.items()}
    order = sorted(range(count), key=lambda at: -sign * means[names[at]])
    beaten, beating = wins.sum(axis=0), wins.sum(axis=1)
    out: set[int] = set(np.nonzero(better_at(p_values, float(1 - level) / max(count - 1, 1)))[1].tolist())
    return RankSets(
        ranks={names[at]: (1 + int(beaten[at]), count - int(beating[at])) for at in order},
        best=frozenset(names[at] for at in order if at not in out),
        means={names[at]: means[names[at]] for at in order},
        n={names[at]: checked[names[at]].size for at in order},
        better=better,
        confidence=float(confidence),
        method=("Student's t test of paired differences" if paired else "Welch's t test")
        + " of all pairs, Holm; best: one-sided, Bonferroni over the others",
        note=without_variance(checked),
    )


def beats(p_values: Array, alpha: float) -> NDArray[np.bool_]:
    """Return which row beats which column, from one-sided p-values of all pairs, by Holm at `alpha`."""
    rows, columns = np.triu_indices(len(p_values), k=1)
    forward, backward = p_values[rows, columns], p_values[columns, rows]
    two_sided = np.minimum(1.0, 2 * np.minimum(forward, backward))
    told = np.array(holm(two_sided.tolist())) <= alpha
    wins = np.zeros(p_values.shape, dtype=np.bool_)
    wins[rows, columns] = told & (forward < backward)
    wins[columns, rows] = told & (backward < forward)
    return wins
