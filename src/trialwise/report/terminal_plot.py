"""A small autocorrelation plot in characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trialwise.analysis.profile import length_words

if TYPE_CHECKING:
    from trialwise.analysis.profile import Lags

_HEIGHT = 9
_LABEL = 6


def correlogram_lines(found: Lags, periods: Sequence[float], width: int = 76) -> Iterator[str]:
    """The coefficient against the lag: dots, the thresholds dotted, the periods found marked below.

    Where a column stands for several lags, it shows the coefficient that is farthest from 0.
    """
    if not found.lags:
        return
    columns = min(width - _LABEL, len(found.lags))
    values = _farthest(np.asarray(found.coefficients), columns)
    top = max(1.0, float(values.max()))
    bottom = min(-found.threshold, float(values.min()))
    rows = np.linspace(top, bottom, _HEIGHT)
    places = _nearest(rows, values)
    lines = {int(_nearest(rows, np.array([limit]))[0]): "┄" for limit in (found.threshold, -found.threshold)}
    zero = int(_nearest(rows, np.array([0.0]))[0])
    for row, height in enumerate(rows):
        ground = lines.get(row, "─" if row == zero else " ")
        label = f"{0.0 if row == zero else height:+.1f}" if ground != " " or row in (0, _HEIGHT - 1) else ""
        yield f"{label:>{_LABEL - 1}} " + "".join("•" if place == row else ground for place in places)
    yield " " * _LABEL + _marks(periods, found.lags[-1], columns)
    yield " " * _LABEL + f"{'lag 0':<{columns - 12}}{length_words(found.lags[-1]):>12}"


def _farthest(values: np.ndarray, columns: int) -> np.ndarray:
    parts = np.array_split(values, columns)
    return np.array([part[np.argmax(np.abs(part))] for part in parts])


def _nearest(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.abs(rows[:, None] - values[None, :]).argmin(axis=0)


def _marks(periods: Sequence[float], longest: float, columns: int) -> str:
    line = [" "] * columns
    for period in periods:
        if period <= longest:
            line[min(int(period / longest * columns), columns - 1)] = "▲"
    return "".join(line).rstrip()
