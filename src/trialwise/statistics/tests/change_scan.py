"""The scan for one change of level: the split of any stretch of a series whose two sides differ most, in normal scores.

Stretches are seeded intervals (Kovács, Bühlmann, Li and Munk 2023): their lengths fall by the square root of 2, and neighbours
overlap by half, so that a level that lasts for a while only fills a good part of one of them. A split is measured by the t statistic
of its two sides, as the normal deviate that is equally rare (Wallace 1959): Z^2 = -v log(1 - R^2) ((8 v + 1) / (8 v + 3))^2, where
R^2 is the share of the stretch's sum of squares that lies between the sides, and v = L - 2 for a stretch of L values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.statistics.checks import Array, Indices

LEAST = 5
"""Values on either side of a change: with fewer, an outlier would be one."""
_SIZES = (10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 3000, 10_000)
_FACTORS = (0.24, 0.38, 0.75, 1.35, 2.75, 5.9, 14.5, 34.0, 125.0, 300.0, 850.0, 3500.0)
"""The factor c of P(max Z > z) = 1 - exp(-c z exp(-z^2/2)) for independent values without ties, by their number: near what
shuffles have at their upper 5 %, 20,000 of them up to 100 values, 400 of 10,000. `test_change_points.py` simulates three again.
"""
_NOTHING = 1e-12
_ALL = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class Split:
    """The split with the largest |Z|: the second side begins at `at`, the stretch is that of the values `begin` to `end - 1`."""

    z: float
    at: int
    begin: int
    end: int


def best_split(scores: Array) -> Split:
    """Return the split whose sides differ most, in any stretch of a series."""
    best = Split(0.0, 0, 0, scores.size)
    for length, starts in _layers(scores.size):
        z = _squares(scores[None, :], length, starts)[0]
        place, side = np.unravel_index(int(z.argmax()), z.shape)
        if (found := sqrt(float(z[place, side]))) > best.z:
            begin = int(starts[place])
            best = Split(found, begin + LEAST + int(side), begin, begin + length)
    return best


def largest(rows: Array) -> Array:
    """Return the largest |Z| of each row."""
    found = np.zeros(rows.shape[0])
    for length, starts in _layers(rows.shape[1]):
        np.maximum(found, _squares(rows, length, starts).max(axis=(1, 2)), out=found)
    return np.sqrt(found)


def tail(z: float, n: int) -> float:
    """Return the chance that the largest |Z| of n independent values without ties exceeds z."""
    if z < 1:
        return 1.0
    return -expm1(-exp(float(np.interp(log(n), np.log(_SIZES), np.log(_FACTORS)))) * height(z))


def height(z: float) -> float:
    """Return z exp(-z^2/2), to which the tail of the largest |Z| is proportional."""
    return z * exp(-(z**2) / 2)


def _layers(n: int) -> Iterator[tuple[int, Indices]]:
    """Yield the lengths of stretches, each with where its stretches begin."""
    level, length = 0, n
    while length >= 2 * LEAST:
        count = max(1, -(-2 * n // length) - 1)
        yield length, np.unique(np.linspace(0, n - length, count).astype(np.int64))
        level += 1
        length = round(n / 2 ** (level / 2))


def _squares(rows: Array, length: int, starts: Indices) -> Array:
    """Return Z^2 of each row, stretch and split."""
    sums, squares = _cumulated(rows), _cumulated(rows**2)
    sizes = np.arange(LEAST, length - LEAST + 1)
    begin = sums[:, starts, None]
    whole = sums[:, starts + length, None] - begin
    left = sums[:, starts[:, None] + sizes] - begin
    between = (left - whole * (sizes / length)) ** 2 * (length / (sizes * (length - sizes)))
    total = (squares[:, starts + length] - squares[:, starts])[:, :, None] - whole**2 / length
    varies = total > _NOTHING
    share = np.where(varies, between / np.where(varies, total, 1.0), 0.0)
    freedoms = length - 2
    return -freedoms * ((8 * freedoms + 1) / (8 * freedoms + 3)) ** 2 * np.log1p(-np.minimum(share, _ALL))


def _cumulated(rows: Array) -> Array:
    return np.concatenate([np.zeros((rows.shape[0], 1)), np.cumsum(rows, axis=1)], axis=1)
