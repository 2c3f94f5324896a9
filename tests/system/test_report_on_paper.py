"""The report as a browser prints it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from browser import CHROMIUM, browse
from in_process import trialwise
from path_directory import drawn, write_paths

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)


DEMO = Path(__file__).parents[2] / "examples" / "tcp-over-12mbit" / "experiment.toml"


@pytest.mark.parametrize("of", ["the demo", "one series"])
def test_few_trials_take_few_pages(tmp_path: Path, of: str) -> None:
    """27 trials of three schemes with claims, verdicts, orders, a plane and a matrix of KPIs, and methods; they took 22, then 10."""
    if of == "the demo":
        write_paths(tmp_path / "results", text=DEMO.read_text(), make=partial(drawn, stop=5.0))
    else:
        write_paths(tmp_path / "results", schemes=("cubic", "bbr", "reno"), rounds=9)
    assert trialwise("report", "results", "-o", "page.html", cwd=tmp_path).returncode == 0
    page, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    browse(page, "--window-size=1280,1000", f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert 3 <= paper.read_bytes().count(b"/Type /Page\n") <= 9
