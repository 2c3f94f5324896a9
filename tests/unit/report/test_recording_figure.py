"""The picture of a recording of a path: all of it, to its end, with both directions to be seen."""

from __future__ import annotations

import numpy as np

from trialwise.measurement.recordings import DELAY, STATE, STATES, Recording, Steps, Way
from trialwise.report.figures.plot_data import ColumnData, unpacked
from trialwise.report.figures.recording import panels


def test_interruptions_and_the_rest_behind_whole_bins_are_drawn() -> None:
    off = Steps(np.array([0.0, 1000, 1100]), np.array([0.0, STATES.index("hold"), STATES.index("off")]))
    way = Way({DELAY: Steps(np.zeros(1), np.array([20_000.0])), STATE: off})
    sheets: dict[str, ColumnData] = {}
    delay, interrupted = panels(Recording(way, way, 1200.0), 500, "r", sheets)
    rows = {
        figure.title: [
            (row["time"], row["value"])
            for row in unpacked(sheets[figure.spec["data"]["name"]])
            if row["way"] == "uplink"
        ]
        for figure in (delay, interrupted)
    }
    assert rows["r: delay"] == [(0, 20), (0.5, 20), (1, 20), (1.2, 20)]
    assert rows["r: interruptions"] == [(0, 0), (0.5, 0), (1, 100), (1.2, 100)]
    first, second = delay.spec["encoding"]["strokeDash"]["scale"]["range"]
    assert first != second
