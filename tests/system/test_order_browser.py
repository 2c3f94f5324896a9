"""The page of `trialwise order` in headless Chromium, also of more treatments than can be named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from browser import CHROMIUM, browse, console, too_wide
from report_page import ReportPage
from trialwise.analysis.order.analysing import analyse_order
from trialwise.analysis.order.summary import view_of
from trialwise.analysis.order.trials import OrderColumns, read_order_table
from trialwise.report.html import order_page

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)


def _page(folder: Path, treatments: int) -> Path:
    rng = np.random.default_rng(3)
    lines = ["treatment,order,round,position,value"]
    for turn in range(24):
        order = ("fixed", "random")[turn % 2]
        places = range(treatments) if order == "fixed" else rng.permutation(treatments)
        lines += [
            f"treatment with a long name {one},{order},{turn},{position},{100 + rng.normal():.3f}"
            for position, one in enumerate(places)
        ]
    (folder / "trials.csv").write_text("\n".join(lines) + "\n")
    trials = read_order_table(folder / "trials.csv", OrderColumns())
    page = folder / "page.html"
    page.write_text(order_page(view_of(trials, analyse_order(trials))), encoding="utf-8")
    return page


@pytest.mark.parametrize("treatments", [5, 14])
def test_every_figure_draws_itself_and_fits(tmp_path: Path, treatments: int) -> None:
    page = _page(tmp_path, treatments)
    done = browse(page, "--dump-dom")
    seen = ReportPage(done.stdout)
    assert console(done) == []
    assert len(seen.figures) == 9
    assert {figure.get("data-drawn") for figure in seen.figures} == {"yes"}
    wide = too_wide(page, 390, 0)
    # The matrix of fourteen is scrolled in its place.
    count = {5: 0, 14: 1}[treatments]
    assert wide.startswith(f"390 px: {count} too wide "), wide
