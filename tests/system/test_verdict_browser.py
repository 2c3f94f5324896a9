"""The sections on verdicts and on when to stop in headless Chromium, of an experiment that ran and stopped by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from browser import CHROMIUM, browse, console, too_wide
from report_page import ReportPage

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)
EXPERIMENT = """
[experiment]
name = "flavours"
[factors]
flavour = ["none", "fast", "another flavour"]
[trial]
kind = "python"
call = "flavours:work"
[metrics.time]
unit = "ms"
better = "lower"
margin = "3%"
[design]
stop = "verdict"
max_trials = 60
"""
WORK = """
import random

def work(flavour):
    return {"time": (9 if flavour == "fast" else 10) + random.Random().uniform(-0.1, 0.1)}
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdicts")
    (folder / "flavours.toml").write_text(EXPERIMENT)
    (folder / "flavours.py").write_text(WORK)
    for words in (["run", "flavours.toml", "--quiet"], ["report", "flavours.results"]):
        command = [str(Path(sys.executable).parent / "trialwise"), *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
    return folder / "flavours.results" / "report.html"


def test_verdicts_and_claims_are_drawn_and_said(page: Path) -> None:
    opened = browse(page, "--dump-dom")
    assert console(opened) == []
    seen = ReportPage(opened.stdout)
    drawn = {str(figure["data-figure"]): figure.get("data-drawn") for figure in seen.figures}
    assert (drawn["verdicts-time"], drawn["ranks-time"]) == ("yes", "yes")
    text = page.read_text(encoding="utf-8")
    assert "3 comparisons: 2 different (1 worse, 1 better), 1 equivalent" in text
    assert "Stopped: everything asked for is known (3 claims)." in text
    assert "Verdicts hold together: Holm over 3 differences" in text.replace("\u00a0", " ")


@pytest.mark.parametrize(("width", "scheme"), [(360, 0), (1280, 1)])
def test_it_fits_a_phone_and_a_desk(page: Path, width: int, scheme: int) -> None:
    assert too_wide(page, width, scheme).startswith(f"{width} px: 0 too wide")
