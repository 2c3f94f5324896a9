"""The picture of a simulated trial: units that suit it, and lines that are told apart without their colours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from trialwise.report import simulation_figure
from trialwise.report.simulation_figure import write_simulation


def test_units_suit_the_trial_and_lines_on_one_another_are_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(simulation_figure, "save", lambda figure, _: drawn.append(figure))
    times = np.linspace(0, 170e-6, 5)
    same = np.full(5, 180e6)
    write_simulation(
        tmp_path / "x.svg", (times, {"4 to 5": times * 5e8}), (times, {"a": same, "b": same}), ""
    )
    above, below = drawn[0].axes
    assert (above.get_ylabel(), below.get_ylabel()) == ("queue [kB]", "acknowledged [Mbit/s]")
    assert below.get_xlabel() == "time [µs]"
    assert len({str(vars(line)["_unscaled_dash_pattern"]) for line in below.lines}) == 2
