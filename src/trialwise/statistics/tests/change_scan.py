"""The scan for one change of level: the split of any stretch of a series whose two sides differ most.

Stretches are seeded intervals (Kovács, Bühlmann, Li and Munk 2023): their lengths fall by the square root of 2, and neighbours
overlap by half, so that a level that lasts for a while only fills a good part of one of them. A split is measured by the t statistic
of its two sides, as the normal deviate that is equally rare (Wallace 1959): Z^2 = -v log(1 - R^2) ((8 v + 1) / (8 v + 3))^2, where
R^2 is the share of the stretch's sum of squares that lies between the sides, and v = L - 2 for a stretch of L values. So is a line
through the whole series, with the scores of a rising series as its regressor.

Where neighbours correlate by rho (AR(1)), means vary by (1 + rho) / (1 - rho) times as much, by which Z^2 is divided. rho is that of
what the split leaves, plus a multiple of (1 + rho) / L: the split that differs most hides as much. So a step among independent
values, which leaves none, passes where a wave of correlated ones does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.pooled.phase_randomization import normal_scores
from trialwise.statistics.tests.change_tails import LEVELS, SCORES, SIZES, VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.statistics.checks import Array, Indices

LEAST = 5
"""Values on either side of a change: with fewer, an outlier would be one."""
_SHORTEST = 20
"""Values of the shortest stretch, unless the series is shorter: fewer cannot tell a change from correlated neighbours."""
_MOST_EXCESS = 0.6
_MOST_CORRELATED = 0.97
_NOTHING = 1e-9
_ALL = 1 - 1e-12
_FACTORS = (0.24, 0.38, 0.75, 1.35, 2.75, 5.9, 14.5, 34.0, 125.0, 300.0, 850.0, 3500.0)
"""The factor c of P(max Z > z) = 1 - exp(-c z exp(-z^2/2)) for independent values without ties and stretches of any length, by
`SIZES`: near what shuffles have at their upper 5 %.
"""


@dataclass(frozen=True, slots=True)
class View:
    """In which form values are scanned: the multiple of (1 + rho) / L that rho is raised by, and the quantiles of the largest |Z|."""

    excess: float
    quantiles: tuple[tuple[float, ...], ...]


RANKED = View(14.0, SCORES)
"""Normal scores: any distribution and outliers; how far apart the sides lie does not count. With this multiple, the rate without a
change hardly depends on rho, up to 0.8 (`benches/changes.py`).
"""
MEASURED = View(2.0, VALUES)
"""The values themselves: for steps that are many times as high as the noise, in series of up to `LONGEST_MEASURED` values."""
LONGEST_MEASURED = 100


@dataclass(frozen=True, slots=True)
class Split:
    """The split with the largest |Z|: the second side begins at `at`, the stretch is that of the values `begin` to `end - 1`.

    `z` allows for correlated neighbours in full, `seen` for as much correlation as is seen. `line` is the Z of the line.
    """

    z: float
    seen: float
    line: float
    at: int
    begin: int
    end: int


def best_split(values: Array, view: View = RANKED) -> Split:
    """Return the split whose sides differ most, in any stretch of a series."""
    n = values.size
    sums = _Sums(values[None, :])
    best, found = -1.0, (0.0, n // 2, 0, n)
    for length, starts in _layers(n):
        squares, correlation = sums.splits(length, starts)
        z2 = squares / _widened(correlation, length, view)
        place, side = np.unravel_index(int(z2[0].argmax()), z2[0].shape)
        if z2[0, place, side] > best:
            best, begin = float(z2[0, place, side]), int(starts[place])
            seen = float(squares[0, place, side] / _ratio(correlation[0, place, side]))
            found = sqrt(seen), begin + LEAST + int(side), begin, begin + length
    return Split(sqrt(max(best, 0.0)), found[0], float(np.sqrt(_lines(values[None, :], view)[0])), *found[1:])


def largest(rows: Array, view: View = RANKED, *, only_seen: bool = False) -> Array:
    """Return the largest |Z| of each row, of all splits and the line; or of splits, with the correlation as it is seen."""
    found = np.zeros(rows.shape[0]) if only_seen else _lines(rows, view)
    sums = _Sums(rows)
    for length, starts in _layers(rows.shape[1]):
        squares, correlation = sums.splits(length, starts)
        ratio = _ratio(correlation) if only_seen else _widened(correlation, length, view)
        np.maximum(found, (squares / ratio).max(axis=(1, 2)), out=found)
    return np.sqrt(found)


def tail(z: float, n: int, view: View = RANKED) -> float:
    """Return the chance that the largest |Z| of n values without a change exceeds z, at most, where rho is up to 0.8.

    It is interpolated between quantiles that were simulated; beyond the last, its logarithm goes on along a line, which is too high
    rather than too low.
    """
    at = np.array(
        [
            0.0,
            *(np.interp(log(n), np.log(SIZES[: len(quantiles)]), quantiles) for quantiles in view.quantiles),
        ]
    )
    chances = np.log([1.0, *LEVELS])
    if z <= at[-1]:
        return exp(float(np.interp(z, at, chances)))
    return exp(float(chances[-1] + (z - at[-1]) * (chances[-1] - chances[-2]) / (at[-1] - at[-2])))


def tail_if_independent(z: float, n: int) -> float:
    """Return about the chance that the largest |Z| of n independent values exceeds z, if Z allows for no correlation."""
    if z < 1:
        return 1.0
    return -expm1(-exp(float(np.interp(log(n), np.log(SIZES), np.log(_FACTORS)))) * height(z))


def height(z: float) -> float:
    """Return z exp(-z^2/2), to which the tail of the largest |Z| is proportional."""
    return z * exp(-(z**2) / 2)


def _layers(n: int) -> Iterator[tuple[int, Indices]]:
    """Yield the lengths of stretches, each with where its stretches begin."""
    level, length = 0, n
    while length >= min(n, _SHORTEST):
        count = max(1, -(-2 * n // length) - 1)
        yield length, np.unique(np.linspace(0, n - length, count).astype(np.int64))
        level += 1
        length = round(n / 2 ** (level / 2))


class _Sums:
    """Cumulated sums of rows, of their squares and of the products of neighbours, from which every split follows."""

    def __init__(self, rows: Array) -> None:
        self._rows = rows
        self._sums, self._squares = _cumulated(rows), _cumulated(rows**2)
        self._products = _cumulated(rows[:, 1:] * rows[:, :-1])

    def splits(self, length: int, starts: Indices) -> tuple[Array, Array]:
        """Return Z^2 of each row, stretch and split without any allowance, and the correlation of neighbours in what it leaves."""
        ends = starts + length
        sizes = np.arange(LEAST, length - LEAST + 1)
        others = length - sizes
        cuts = starts[:, None] + sizes
        begin = self._sums[:, starts, None]
        whole = self._sums[:, ends, None] - begin
        left = self._sums[:, cuts] - begin
        between = (left - whole * (sizes / length)) ** 2 * (length / (sizes * others))
        total = (self._squares[:, ends] - self._squares[:, starts])[:, :, None] - whole**2 / length
        varies = total > _NOTHING
        share = np.where(varies, between / np.where(varies, total, 1.0), 0.0)
        within = total - between
        left /= sizes
        right = (whole - left * sizes) / others
        # The products of neighbours on either side, less those of the means; the pair at the split is left out.
        before, after = self._rows[:, cuts - 1], self._rows[:, cuts]
        lagged = (self._products[:, ends - 1] - self._products[:, starts])[:, :, None] - before * after
        lagged -= left * ((sizes + 1) * left - self._rows[:, starts, None] - before)
        lagged -= right * ((others + 1) * right - after - self._rows[:, ends - 1, None])
        lies_within = within > _NOTHING
        correlation = np.where(lies_within, lagged / np.where(lies_within, within, 1.0), 0.0)
        return _squares(share, length), correlation


def _lines(rows: Array, view: View) -> Array:
    """Return Z^2 of the line through each row."""
    n = rows.shape[1]
    rising = normal_scores(np.arange(float(n)))
    rising /= sqrt(float(rising @ rising))
    apart = rows - rows.mean(axis=1, keepdims=True)
    total = (apart**2).sum(axis=1)
    slopes = apart @ rising
    rest = apart - slopes[:, None] * rising
    within = (rest**2).sum(axis=1)
    lagged = (rest[:, 1:] * rest[:, :-1]).sum(axis=1)
    correlation = np.where(within > _NOTHING, lagged / np.maximum(within, _NOTHING), 0.0)
    share = np.where(total > _NOTHING, slopes**2 / np.maximum(total, _NOTHING), 0.0)
    return _squares(share, n) / _widened(correlation, n, view)


def _squares(share: Array, length: int) -> Array:
    """Return Z^2 of a share of the sum of squares of a stretch."""
    freedoms = length - 2
    return -freedoms * ((8 * freedoms + 1) / (8 * freedoms + 3)) ** 2 * np.log1p(-np.minimum(share, _ALL))


def _widened(correlation: Array, length: int, view: View) -> Array:
    return _ratio(correlation + min(view.excess / length, _MOST_EXCESS) * (1 + correlation))


def _ratio(correlation: Array) -> Array:
    rho = np.clip(correlation, 0.0, _MOST_CORRELATED)
    return (1 + rho) / (1 - rho)


def _cumulated(rows: Array) -> Array:
    return np.concatenate([np.zeros((rows.shape[0], 1)), np.cumsum(rows, axis=1)], axis=1)
