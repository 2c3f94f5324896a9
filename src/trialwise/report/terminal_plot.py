"""A small autocorrelation plot in characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trialwise.analysis.conditions.profile import length_words
from trialwise.arrays import Array

if TYPE_CHECKING:
    from trialwise.analysis.conditions.profile import Lags

_STEP = 0.2
_LABEL = 6


def correlogram_lines(found: Lags, periods: Sequence[float], width: int = 76) -> Iterator[str]:
    """Plot the coefficient against the lag as bars, full beyond the threshold and light within; periods are marked below.

    A column that covers several lags shows the coefficient farthest from 0.
    """
    if not found.lags:
        return
    columns = min(width - _LABEL, len(found.lags))
    bars = _farthest(np.asarray(found.coefficients), columns)
    levels = np.rint(bars / _STEP).astype(np.int64)
    full = np.abs(bars) > found.threshold
    for level in range(max(1, int(levels.max())), min(-1, int(levels.min())) - 1, -1):
        label = f"{level * _STEP:+.1f}" if level else "0"
        cells = (
            _cell(level, int(end), beyond=bool(beyond)) for end, beyond in zip(levels, full, strict=True)
        )
        yield f"{label:>{_LABEL - 1}} {''.join(cells)}".rstrip()
    yield (" " * _LABEL + _marks(periods, found.lags[-1], columns)).rstrip()
    last = length_words(found.lags[-1])
    yield " " * _LABEL + "lag 0" + last.rjust(max(columns - 5, len(last) + 2))


def _cell(level: int, end: int, *, beyond: bool) -> str:
    if level == 0:
        return "─"
    reached = 0 < level <= end or end <= level < 0
    return ("█" if beyond else "░") if reached else " "


def _farthest(values: Array, columns: int) -> Array:
    parts = np.array_split(values, columns)
    return np.array([part[np.argmax(np.abs(part))] for part in parts])


def _marks(periods: Sequence[float], longest: float, columns: int) -> str:
    line = [" "] * columns
    for period in periods:
        if period <= longest:
            line[min(int(period / longest * columns), columns - 1)] = "▲"
    return "".join(line)


_HEIGHTS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw a series as at most `width` bars from its smallest to its largest value; a bar that covers several shows their median."""
    array = np.asarray(values, dtype=np.float64)
    bars = np.array([np.median(part) for part in np.array_split(array, min(width, array.size))])
    low, high = float(bars.min()), float(bars.max())
    if not high > low:
        return _HEIGHTS[0] * bars.size
    levels = np.rint((bars - low) / (high - low) * (len(_HEIGHTS) - 1)).astype(np.int64)
    return "".join(_HEIGHTS[level] for level in levels)
