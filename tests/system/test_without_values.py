"""What an experiment is told of which no trial has a value: what lifts it is not to run it, where it ran."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXPERIMENT = """\
[experiment]
name = "e"
seed = 1
[factors]
n = [1, 2]
[trial]
command = ["sh", "-c", "{command}"]
[metrics.t]
stdout = "t=([0-9]+)"
kpi = {{ percentile = 50, confidence = 75 }}
[design]
rounds = 2
"""


def told(folder: Path, *words: str) -> str:
    code = "from trialwise.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("verb", [["compare", "--a", "n=1", "--b", "n=2"], ["order"]])
def test_after_failures_the_last_reason_is_told(verb: list[str], tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT.format(command="true {n}; exit 7"))
    told(tmp_path, "run", "e.toml", "--quiet")
    hint = "mend what made 4 attempts fail, and run the experiment with --again; the last one: ended with exit code 7"
    assert hint in told(tmp_path, verb[0], "e.results", *verb[1:])


def test_an_analysis_says_so_too(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT.format(command="true {n}; exit 7"))
    told(tmp_path, "run", "e.toml", "--quiet")
    found = told(tmp_path, "analyze", "e.results")
    assert "What lifts this: mend what made 4 attempts fail, and run the experiment with --again" in found
    assert "What lifts this: run the experiment" not in found
