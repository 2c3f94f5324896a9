"""The figure of size distributions and their fits: its axis is readable."""

from __future__ import annotations

import re

import numpy as np

from trialwise.report.figures.paint import svg
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.size_fit import size_fit_figure


def test_sizes_stand_in_plain_numbers_below_the_axis() -> None:
    sheets: dict[str, ColumnData] = {}
    sizes, shares = np.array([0.0, 1e4, 1e6, 3e7]), np.array([0.0, 50.0, 80.0, 100.0])
    figure = size_fit_figure(sizes, shares, [], "sizes", sheets)
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg([figure], sheets))
    assert {"10k", "1M", "100M"} <= set(texts)
