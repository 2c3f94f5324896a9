"""The geometric mean of ratios over benchmarks, where those of one run vary together."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, isfinite

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array
from trialwise.statistics.comparing.difference import difference_of_averages
from trialwise.statistics.comparing.fieller import Ratio

Block = tuple[Array, Array]
"""Values of two sides: one row a run, one column a benchmark."""


def geometric_ratio(blocks: Sequence[Block], *, confidence: float = 95, paired: bool = False) -> Ratio:
    """Estimate the geometric mean of b / a over benchmarks.

    The run is the unit: each gives the mean of the logarithms of its benchmarks, so that whatever made all of one run slow counts
    once. The difference of these means has Welch's (1947) interval, Student's if `paired`; over blocks of benchmarks that ran apart,
    Satterthwaite's (1946) of the weighted sum. The estimate is the ratio of the sides' geometric means over benchmarks and runs
    (Fleming and Wallace 1986).

    Parameters
    ----------
    blocks
        For each set of benchmarks that run together, the values of a and b, of shape (runs, benchmarks), above 0.
    confidence
        In percent, above 50.
    paired
        If true, row i of a and of b come from the same unit.

    Raises
    ------
    StatisticsError
        There is no block, one has fewer than two runs on a side or values that are not above 0, or sides do not match.
    """
    for a, b in blocks:
        _check(a, b, paired=paired)
    if not blocks:
        raise StatisticsError("a geometric mean takes a benchmark")
    number = sum(a.shape[1] for a, _ in blocks)
    cells = [
        [len(blocks) / number * np.log(side).sum(axis=1) for side in block] for block in blocks
    ]  # their average over blocks is the mean over all benchmarks
    if paired:
        cells = [[np.zeros(len(a)), b - a] for a, b in cells]
    found = difference_of_averages([a for a, _ in cells], [b for _, b in cells], confidence=confidence).welch
    low, high = (_exp(found.low), _exp(found.high)) if isfinite(found.low) else (-inf, inf)
    test = "Student's t" if paired else "Welch"
    n = min(len(a) for a, _ in blocks), min(len(b) for _, b in blocks)
    return Ratio(_exp(found.estimate), low, high, None, confidence, n, f"{test} of each run's mean logarithm")


def _check(a: Array, b: Array, *, paired: bool) -> None:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or not a.shape[1]:
        raise StatisticsError(f"both sides take runs of the same benchmarks, not {a.shape} and {b.shape}")
    if paired and len(a) != len(b):
        raise StatisticsError(f"paired sides have the same runs, not {len(a)} and {len(b)}")
    if min(len(a), len(b)) < 2:
        raise StatisticsError(f"there are {len(a)} and {len(b)} runs; each side takes at least two")
    if not all(np.isfinite(side).all() and (side > 0).all() for side in (a, b)):
        raise StatisticsError("a geometric mean takes finite values above 0")


def _exp(value: float) -> float:
    try:
        return exp(value)
    except OverflowError:
        return inf
