"""The picture of a simulated trial: units that suit it, and lines that are told apart without their colours."""

from __future__ import annotations

import numpy as np

from trialwise.report.figures.simulation import simulation_figures


def test_units_suit_the_trial_and_lines_on_one_another_are_seen() -> None:
    times = np.linspace(0, 170e-6, 5)
    same = np.full(5, 180e6)
    above, below = simulation_figures(
        (times, {"4 to 5": times * 5e8}), (times, {"a": same, "b": same}), "", {}
    )
    titles = [figure.spec["encoding"]["y"]["title"] for figure in (above, below)]
    assert titles == ["queue [kB]", "acknowledged [Mbit/s]"]
    assert below.spec["encoding"]["x"]["title"] == "time [µs]"
    first, second = below.spec["encoding"]["strokeDash"]["scale"]["range"]
    assert first != second
