"""Tests of the assumptions of analysis of variance, for information only: normal residuals and equal variances."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Method, as_method
from trialwise.statistics.effects.factorial import Trials, read_trials
from trialwise.statistics.tests.shapiro import shapiro_wilk

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.frames import Table

_PERMUTATIONS = 1999
_MAX_PERMUTED = 5000
"""Above this number of trials the limiting distribution is accurate, with ties or without."""
_SEED = 19_791_287
_ROUNDING = 1e-9
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class CellNormality:
    """Shapiro and Wilk's test of one treatment."""

    levels: tuple[Hashable, ...]
    n: int
    p_value: float
    """NaN below 3 and above 5000 trials, and if all values are equal."""


@dataclass(frozen=True, slots=True)
class BreuschPagan:
    """Test of equal variances across treatments."""

    statistic: float
    """NaN if no treatment has any spread."""
    df: int
    p_value: float
    studentised: bool
    """Koenker's (1981) form, which does not need normal residuals."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Results of the tests of assumptions."""

    normality: tuple[CellNormality, ...]
    """For each treatment that has trials."""
    breusch_pagan: BreuschPagan
    """Koenker's studentised form."""
    breusch_pagan_original: BreuschPagan
    """Breusch and Pagan's (1979) original form, for normal residuals."""
    response: str
    factors: tuple[str, ...]
    n: int
    """Number of trials."""
    method: str


def assumptions(
    table: Table, response: str, factors: Sequence[str] | str, *, method: Method = "default"
) -> Assumptions:
    """Test the assumptions of `anova` with method "ordinary", to display them, not to select a method.

    Breusch and Pagan (1979): half of the sum of squares that the treatments explain of e²/σ̂², with e the residuals from the cell
    means and σ̂² their mean square over n. Koenker (1981): n R² of the same regression. Both are compared with χ² with
    (treatments - 1) degrees of freedom.

    With ties, Shapiro and Wilk's test treats the values as rounded normal ones, and Koenker's statistic is compared with 1,999
    seeded permutations of the values (up to 5,000 trials). Breusch and Pagan's original form needs normal residuals and keeps its
    χ²; with rare failures its false-positive rate is one half.

    Parameters
    ----------
    table, response, factors
        As in `anova`.
    method
        "paper" ignores ties (OML study, section 3.1).

    Raises
    ------
    StatisticsError
        As in `anova`.
    """
    ties = not as_method(method)
    trials = read_trials(table, response, factors)
    original, studentised = _breusch_pagan(trials, ties=ties)
    return Assumptions(
        normality=tuple(
            CellNormality(cell.levels, cell.n, shapiro_wilk(np.sort(trials.of_cell(place)), ties=ties))
            for place, cell in enumerate(trials.cells)
            if cell.n
        ),
        breusch_pagan=studentised,
        breusch_pagan_original=original,
        response=response,
        factors=trials.factors,
        n=trials.values.size,
        method="Shapiro-Wilk for each treatment; Breusch-Pagan over treatments",
    )


def _breusch_pagan(trials: Trials, *, ties: bool) -> tuple[BreuschPagan, BreuschPagan]:
    filled = trials.counts > 0
    counts = trials.counts[filled]
    left = trials.values - np.repeat(trials.means()[filled], counts)
    df = counts.size - 1
    if not np.nan_to_num(trials.variances()).any():
        nothing = [BreuschPagan(nan, df, nan, studentised) for studentised in (False, True)]
        return nothing[0], nothing[1]
    explained, whole = (float(part[0]) for part in _explained(left[None, :], counts))
    koenker = left.size * explained / whole if whole else 0.0
    tied = ties and np.unique(trials.values).size < left.size <= _MAX_PERMUTED
    p_value = _permuted_p(trials.values, counts, koenker) if tied else float(special.chdtrc(df, koenker))
    return (
        BreuschPagan(explained / 2, df, float(special.chdtrc(df, explained / 2)), studentised=False),
        BreuschPagan(koenker, df, p_value, studentised=True),
    )


def _explained(rows: Array, counts: Indices) -> tuple[Array, Array]:
    """Return the sum of squares of each row of squared residuals that treatments explain, over their mean square, and the total."""
    begins = np.cumsum(counts) - counts
    squares = rows**2
    relative = squares / np.maximum(squares.mean(axis=1, keepdims=True), _LEAST)
    of_cells = np.add.reduceat(relative, begins, axis=1) / counts
    return (counts * (of_cells - 1) ** 2).sum(axis=1), ((relative - 1) ** 2).sum(axis=1)


def _permuted_p(values: Array, counts: Indices, koenker: float) -> float:
    """Return the permutation p-value of Koenker's statistic, over seeded orders of the values.

    Exact if treatments do not differ at all; if only their means differ, asymptotically valid because the statistic is
    studentised.
    """
    random = np.random.Generator(np.random.PCG64DXSM(_SEED))
    rows = random.permuted(np.tile(values, (_PERMUTATIONS, 1)), axis=1)
    begins = np.cumsum(counts) - counts
    rows -= np.repeat(np.add.reduceat(rows, begins, axis=1) / counts, counts, axis=1)
    explained, whole = _explained(rows, counts)
    statistics = values.size * explained / np.where(whole > 0, whole, np.inf)
    return (1 + int((statistics >= koenker * (1 - _ROUNDING)).sum())) / (1 + _PERMUTATIONS)
