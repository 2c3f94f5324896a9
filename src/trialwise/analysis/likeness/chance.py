"""What of a verdict is no chance, by tests that assume no distribution: few trials of a skewed metric deceive a test of means."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np

from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.analysis.likeness.results import JudgedRow
from trialwise.arrays import Array
from trialwise.late import special
from trialwise.numbers import p_equals
from trialwise.statistics.comparing.holm import holm
from trialwise.statistics.fitting.exceedance import exceedance_p, values_beyond

OF_SPREAD = 0.2
"""Share of the error of all verdicts of a table that goes to real values beyond the emulated ones; the rest goes to means."""
_PERMUTATIONS = 9_999
_AT_ONCE = 1_000_000
"""Values that are permuted at once: memory does not grow with the trials."""
_POWER = 1.2816
"""Standard normal quantile of a chance of 90 %."""


def beyond(row: ComparisonRow) -> tuple[int | None, float | None]:
    """Return how many real units lie beyond all emulated ones and the margin, and the probability of so many by chance."""
    a, b, margin = row.units.a, row.units.b, row.difference and row.difference.margin
    if margin is None or a.size < 1 or b.size < 2:
        return None, None
    found = values_beyond(a, b, margin)
    return found, exceedance_p(found, a.size, b.size)


def confirmed(
    rows: Sequence[JudgedRow], compared: Sequence[ComparisonRow], error: float
) -> tuple[JudgedRow, ...]:
    """Return rows whose verdicts hold without assuming a distribution.

    Parameters
    ----------
    rows
        Verdicts on means, with uncorrected probabilities `p_beyond`.
    compared
        What they are from, in the same order.
    error
        Of all verdicts together, as a share of 1.
    """
    chances = _permuted(rows, compared)
    found = [
        row if place not in chances else _by_means(row, chances[place], error * (1 - OF_SPREAD))
        for place, row in enumerate(rows)
    ]
    tested = [place for place, row in enumerate(found) if row.p_beyond is not None]
    for place, p in zip(tested, holm([found[place].p_beyond or 0.0 for place in tested]), strict=True):
        found[place] = _by_spread(found[place], p, error * OF_SPREAD)
    return tuple(found)


def _permuted(rows: Sequence[JudgedRow], compared: Sequence[ComparisonRow]) -> Mapping[int, float]:
    """Return corrected probabilities of such differences of means if both sides were of one distribution, of rows called different."""
    able = [one.units.a.size and one.units.b.size and not one.units.paired for one in compared]
    raw = [
        _permutation_p(one.units.a, one.units.b) if can and row.verdict == "different" else 1.0
        for row, one, can in zip(rows, compared, able, strict=True)
    ]
    return {
        place: p for place, p in enumerate(holm(raw)) if able[place] and rows[place].verdict == "different"
    }


def _permutation_p(a: Array, b: Array) -> float:
    from scipy.stats import permutation_test

    def apart(first: Array, second: Array, axis: int = -1) -> Array:
        return np.mean(first, axis=axis) - np.mean(second, axis=axis)

    batch = max(_AT_ONCE // (a.size + b.size), 1)
    return float(permutation_test((a, b), apart, n_resamples=_PERMUTATIONS, batch=batch, rng=1).pvalue)


def _by_means(row: JudgedRow, p: float, alpha: float) -> JudgedRow:
    """Return a row that is different by its means; undecided if values of one distribution are as far apart by chance."""
    if p <= alpha:
        return row
    by_chance = f"so do those of trials of one distribution (permutations, {p_equals(p)})"
    reason = f"the means lie apart by more than the margin, but {by_chance}"
    return dataclasses.replace(
        row, verdict="undecided", more=_more(row.n[0], p, alpha), reason=reason, basis="permutations"
    )


def _more(n: int, p: float, alpha: float) -> int | None:
    """Return about how many further trials take a normal deviate from that of `p` to that of `alpha` with a chance of 90 %."""
    now, wanted = -float(special.ndtri(min(p, 1.0) / 2)), -float(special.ndtri(alpha / 2))
    needed = n * (((wanted + _POWER) / now) ** 2 - 1) if now > 0 else np.inf
    return ceil(needed) if needed <= 10_000 else None


def _by_spread(row: JudgedRow, p: float, alpha: float) -> JudgedRow:
    """Return a row with its corrected probability; it is different where so many real values beyond the emulated are no chance."""
    row = dataclasses.replace(row, p_beyond=p)
    if p > alpha or row.verdict == "different":
        return row
    reason = f"{row.beyond} real values lie beyond all emulated ones and the margin; by means {row.verdict}"
    return dataclasses.replace(row, verdict="different", more=0, reason=reason, basis="spread")
