"""Post-hoc comparison of all pairs of treatments, corrected for multiplicity."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_percent, one_of
from trialwise.statistics.comparing import studentized_range
from trialwise.statistics.effects.factorial import Cell, Trials, read_trials
from trialwise.statistics.estimates.moments import Moments, shared_variance

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.frames import Table

PosthocMethod: TypeAlias = Literal["games_howell", "tukey"]
METHODS: dict[str, str] = {
    "games_howell": "Games and Howell (1976), separate variances for each treatment, Welch's degrees of freedom",
    "tukey": "Tukey and Kramer, one variance for all treatments",
}


@dataclass(frozen=True, slots=True)
class PosthocRow:
    """The comparison of two treatments."""

    a: Hashable
    """Its level, or the tuple of its levels if there are several factors."""
    b: Hashable
    difference: float
    """Mean of b minus mean of a, in the unit of the response."""
    low: float
    """Bounds that hold for all pairs jointly at the confidence; NaN if there is no spread to judge by."""
    high: float
    p_value: float
    """Corrected over all pairs; NaN likewise."""
    standard_error: float
    df: float
    n: tuple[int, int]
    """Trials of a and of b."""


@dataclass(frozen=True, slots=True)
class Posthoc:
    """All pairs of treatments."""

    rows: tuple[PosthocRow, ...]
    cells: tuple[Cell, ...]
    """The treatments that have trials."""
    response: str
    factors: tuple[str, ...]
    n: int
    """Number of trials."""
    confidence: float
    """In percent, of all pairs jointly."""
    method: str
    note: str
    """What could not be judged and the remedy; empty if nothing is missing."""


def posthoc(
    table: Table,
    response: str,
    factors: Sequence[str] | str,
    *,
    method: PosthocMethod = "games_howell",
    confidence: float = 95,
) -> Posthoc:
    """Compare all pairs of treatments, corrected by the studentized range.

    The difference of means is divided by √(s_a²/n_a + s_b²/n_b) / √2, with separate variances and Welch's degrees of freedom
    (Games and Howell 1976), or with the mean square within treatments (Tukey 1953; Kramer 1956).

    Parameters
    ----------
    table, response, factors
        As in `anova`. Treatments are the combinations of levels that have trials.
    method
        "games_howell", or "tukey" if all treatments have the same spread. With three trials per treatment "games_howell" rejects
        too often, especially if values have two modes (docs/concepts/statistics.md).
    confidence
        In percent, of all pairs jointly.

    Raises
    ------
    StatisticsError
        As in `anova`; or no pair can be judged because no treatment has a second trial, or none has any spread.
    """
    one_of(method, "method", tuple(METHODS))
    share = float(as_percent(confidence, "confidence"))
    trials = read_trials(table, response, factors)
    filled = trials.counts > 0
    counts = trials.counts[filled].astype(np.float64)
    means, variances = trials.means()[filled], trials.variances()[filled]
    left, right = np.array(list(combinations(range(counts.size), 2)), dtype=np.int64).T
    if method == "tukey":
        variances, freedoms = _pooled(variances, counts), np.full(left.size, counts.sum() - counts.size)
        spreads = (variances / counts)[left], (variances / counts)[right]
    else:
        own = np.array(_of_pairs(trials, np.flatnonzero(filled), variances)).T
        spreads = own[0] / counts[left], own[1] / counts[right]
        freedoms = _welch_freedoms(*spreads, counts[left] - 1, counts[right] - 1)
    errors = np.sqrt(spreads[0] + spreads[1])
    differences = means[right] - means[left]
    judged = (errors > 0) & (freedoms > 0)
    if not judged.any():
        raise StatisticsError(
            "no treatment can be compared: at least 2 trials of two treatments are needed, and some spread between "
            "trials of the same treatment"
        )
    reach, p_values = _judged(differences, errors, freedoms, counts.size, share, judged)
    cells = tuple(cell for cell in trials.cells if cell.n)
    names = [cell.levels if len(trials.factors) > 1 else cell.levels[0] for cell in cells]
    pairs: list[tuple[int, int]] = list(zip(left.tolist(), right.tolist(), strict=True))
    rows = tuple(
        PosthocRow(
            a=names[a],
            b=names[b],
            difference=float(differences[pair]),
            low=float(differences[pair] - reach[pair]),
            high=float(differences[pair] + reach[pair]),
            p_value=float(p_values[pair]),
            standard_error=float(errors[pair]),
            df=float(freedoms[pair]),
            n=(cells[a].n, cells[b].n),
        )
        for pair, (a, b) in enumerate(pairs)
    )
    return Posthoc(
        rows=rows,
        cells=cells,
        response=response,
        factors=trials.factors,
        n=trials.values.size,
        confidence=float(confidence),
        method=f"{method}: {METHODS[method]}",
        note=_note(int((~judged).sum()), rows),
    )


def _pooled(variances: Array, counts: Array) -> Array:
    freedom = counts.sum() - counts.size
    within = float(np.nansum(variances * (counts - 1)))
    return np.full(counts.size, within / freedom if freedom else np.nan)


def _of_pairs(trials: Trials, cells: Indices, variances: Array) -> list[tuple[float, float]]:
    """Return the variances of both treatments of each pair; the pooled one if one of them shows none (`shared_variance`)."""
    values = [trials.of_cell(int(place)) for place in cells]
    moments = [
        Moments(own.size, float(own[0]) if variance == 0 else float(own.mean()), float(variance))
        for own, variance in zip(values, variances, strict=True)
    ]
    found: list[tuple[float, float]] = []
    for a, b in combinations(range(cells.size), 2):
        shared = shared_variance(moments[a], moments[b], values[a], values[b])
        found.append((float(variances[a]), float(variances[b])) if shared is None else (shared, shared))
    return found


def _welch_freedoms(first: Array, second: Array, first_freedoms: Array, second_freedoms: Array) -> Array:
    """Compute degrees of freedom (Welch 1938; Satterthwaite 1946); NaN below two trials and without any spread."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (first + second) ** 2 / (first**2 / first_freedoms + second**2 / second_freedoms)


def _judged(
    differences: Array,
    errors: Array,
    freedoms: Array,
    groups: int,
    confidence: float,
    judged: NDArray[np.bool_],
) -> tuple[Array, Array]:
    reach, p_values = np.full(differences.size, np.nan), np.full(differences.size, np.nan)
    scale = errors[judged] / np.sqrt(2)
    p_values[judged] = studentized_range.upper_tail(
        np.abs(differences[judged]) / scale, groups, freedoms[judged]
    )
    reach[judged] = studentized_range.critical(1 - confidence, groups, freedoms[judged]) * scale
    return reach, p_values


def _note(unjudged: int, rows: tuple[PosthocRow, ...]) -> str:
    if not unjudged:
        return ""
    single = sum(1 for row in rows if 1 in row.n)
    why = "one of the two has one trial (repeat it)" if single else "neither of the two has any spread"
    return f"{unjudged} of {len(rows)} pairs have no interval: {why}"
