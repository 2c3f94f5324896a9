"""Axes of figures for print."""

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from trialwise.report.print_style import STYLE, log_scale


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1.5, 60], ["2", "5", "10", "20", "50"]),
        ([80, 3e7], ["100", "1k", "10k", "100k", "1M", "10M"]),
        ([1.01, 5.9], ["1", "1.5", "2", "3", "4", "5"]),
        ([1.02, 1.45], ["1.1", "1.2", "1.3", "1.4"]),
    ],
)
def test_a_logarithmic_axis_has_plain_numbers(values: list[float], wanted: list[str]) -> None:
    with mpl.rc_context(STYLE):
        axes = Figure().add_subplot()
        axes.plot(values, values)
        log_scale(axes, "x")
        low, high = axes.get_xlim()
        ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        assert [label.get_text() for at, label in ticks if low <= at <= high] == wanted
