"""What analysis of variance assumes, as facts: normal residuals and one variance. Nothing is decided by them."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from trialwise.statistics.checks import Method, as_method
from trialwise.statistics.effects.factorial import Trials, read_trials
from trialwise.statistics.tests.shapiro import shapiro_wilk

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.frames import Table

_PERMUTATIONS = 1999
_MAX_PERMUTED = 5000
"""Of more trials the limit is right, ties or not."""
_SEED = 19_791_287
_ROUNDING = 1e-9
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class CellNormality:
    """Shapiro and Wilk's test of one treatment."""

    levels: tuple[Hashable, ...]
    n: int
    p_value: float
    """NaN below 3 and above 5000 trials, and where all are equal."""


@dataclass(frozen=True, slots=True)
class BreuschPagan:
    """Whether the variance differs between treatments."""

    statistic: float
    """NaN where no treatment has any spread."""
    df: int
    p_value: float
    studentised: bool
    """Koenker's (1981) form, which does not need normal residuals."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the tests of assumptions say."""

    normality: tuple[CellNormality, ...]
    """Of each treatment with trials."""
    breusch_pagan: BreuschPagan
    """Koenker's studentised form."""
    breusch_pagan_original: BreuschPagan
    """As Breusch and Pagan (1979) have it, for normal residuals."""
    response: str
    factors: tuple[str, ...]
    n: int
    """Trials."""
    method: str


def assumptions(
    table: Table, response: str, factors: Sequence[str] | str, *, method: Method = "default"
) -> Assumptions:
    """Test what `anova` with method "ordinary" assumes; to be shown, not to choose a method by.

    Breusch and Pagan (1979): half of the sum of squares that the treatments explain of e²/σ̂², e the residuals of the cells'
    means and σ̂² their mean square over n. Koenker (1981): n R² of the same regression. Both against χ² with one degree of
    freedom less than treatments.

    Where values occur more than once, Shapiro and Wilk's test takes them for rounded normal ones, and Koenker's statistic is
    judged among those of 1,999 seeded orders of the values (up to 5,000 trials). Breusch and Pagan's own form needs normal
    residuals and keeps its χ²: of rare failures it rejects in half of the cases in which nothing differs.

    Parameters
    ----------
    table, response, factors
        As in `anova`.
    method
        "paper" takes values that occur twice for chance (OML study, section 3.1).

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
    p_value = _permuted_p(trials.values, counts, koenker) if tied else float(chdtrc(df, koenker))
    return (
        BreuschPagan(explained / 2, df, float(chdtrc(df, explained / 2)), studentised=False),
        BreuschPagan(koenker, df, p_value, studentised=True),
    )


def _explained(rows: Array, counts: Indices) -> tuple[Array, Array]:
    """What the treatments explain of the squares of each row of residuals, over their mean square, and all of it."""
    begins = np.cumsum(counts) - counts
    squares = rows**2
    relative = squares / np.maximum(squares.mean(axis=1, keepdims=True), _LEAST)
    of_cells = np.add.reduceat(relative, begins, axis=1) / counts
    return (counts * (of_cells - 1) ** 2).sum(axis=1), ((relative - 1) ** 2).sum(axis=1)


def _permuted_p(values: Array, counts: Indices, koenker: float) -> float:
    """Koenker's statistic among those of the values in seeded orders.

    Exact where treatments do not differ at all; where only their means do, right in the limit, as the statistic is studentised.
    """
    random = np.random.Generator(np.random.PCG64DXSM(_SEED))
    rows = random.permuted(np.tile(values, (_PERMUTATIONS, 1)), axis=1)
    begins = np.cumsum(counts) - counts
    rows -= np.repeat(np.add.reduceat(rows, begins, axis=1) / counts, counts, axis=1)
    explained, whole = _explained(rows, counts)
    statistics = values.size * explained / np.where(whole > 0, whole, np.inf)
    return (1 + int((statistics >= koenker * (1 - _ROUNDING)).sum())) / (1 + _PERMUTATIONS)
