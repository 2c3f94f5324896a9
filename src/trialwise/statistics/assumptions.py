"""What analysis of variance assumes, as facts: normal residuals and one variance. Nothing is decided by them."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from trialwise.statistics.factorial import Trials, read_trials
from trialwise.statistics.shapiro import shapiro_wilk

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from trialwise.statistics.frames import Table


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


def assumptions(table: Table, response: str, factors: Sequence[str] | str) -> Assumptions:
    """Test what `anova` with method "ordinary" assumes; to be shown, not to choose a method by.

    Breusch and Pagan (1979): half of the sum of squares that the treatments explain of e²/σ̂², e the residuals of the cells'
    means and σ̂² their mean square over n. Koenker (1981): n R² of the same regression. Both against χ² with one degree of
    freedom less than treatments.

    Raises
    ------
    ValueError
        As in `anova`.
    """
    trials = read_trials(table, response, factors)
    original, studentised = _breusch_pagan(trials)
    return Assumptions(
        normality=tuple(
            CellNormality(cell.levels, cell.n, shapiro_wilk(np.sort(trials.of_cell(place))))
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


def _breusch_pagan(trials: Trials) -> tuple[BreuschPagan, BreuschPagan]:
    filled = trials.counts > 0
    counts = trials.counts[filled]
    squares = (trials.values - np.repeat(trials.means()[filled], counts)) ** 2
    mean = float(squares.mean())
    df = counts.size - 1
    if not np.nan_to_num(trials.variances()).any():
        nothing = [BreuschPagan(nan, df, nan, studentised) for studentised in (False, True)]
        return nothing[0], nothing[1]
    relative = squares / mean
    begins = np.cumsum(counts) - counts
    of_cells = np.add.reduceat(relative, begins) / counts
    explained = float((counts * (of_cells - 1) ** 2).sum())
    whole = float(((relative - 1) ** 2).sum())
    koenker = squares.size * explained / whole if whole else 0.0
    return (
        BreuschPagan(explained / 2, df, float(chdtrc(df, explained / 2)), studentised=False),
        BreuschPagan(koenker, df, float(chdtrc(df, koenker)), studentised=True),
    )
