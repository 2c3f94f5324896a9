"""The figure of size distributions and their fits: its axis is readable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from trialwise.report import size_fit_figure
from trialwise.report.size_fit_figure import write_size_fits


def test_sizes_stand_in_plain_numbers_below_the_axis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def kept(figure: Figure, _: Path) -> None:
        figure.draw_without_rendering()
        axis = figure.axes[0].xaxis
        seen.append([label.get_text() for label in axis.get_ticklabels() if label.get_text()])

    monkeypatch.setattr(size_fit_figure, "save", kept)
    sizes = np.array([0.0, 1e4, 1e6, 3e7])
    write_size_fits(tmp_path / "x.svg", sizes, np.array([0.0, 50.0, 80.0, 100.0]), [], "sizes")
    assert {"10k", "1M", "100M"} <= set(seen[0])
    assert not any("$" in text for text in seen[0])
