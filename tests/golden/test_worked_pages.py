"""The worked pages say what the commands print from the published data."""

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.system.test_docs import assert_shown, commands

from trialwise.design.plan import make_plan
from trialwise.study import load

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
WORKED = ROOT / "docs/worked"
PAGES = {
    "memcached.md": {"memcached.csv": DATA / "ordersage/ordersage_table3_memcached.csv"},
    "congestion-control.md": {
        name: WORKED / name for name in ("congestion-control.csv", "congestion-control.toml")
    },
}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_says_what_comes_out(page, tmp_path):
    for name, source in PAGES[page].items():
        if DATA in source.parents and not source.exists():
            pytest.skip(f"{source} is absent: the shared study data are not beside this repository")
        (tmp_path / name).symlink_to(source)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "200",
    }
    blocks = re.findall(r"^```text\n(\$ .*?)^```$", (WORKED / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        for command, code, shown in commands(block):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == code, done.stderr
            assert_shown(shown, done.stdout)


def test_the_published_trials_are_those_that_the_plan_makes():
    """Every scheme once in each round of each series, in the order of the plan."""
    trials = pl.read_csv(WORKED / "congestion-control.csv")
    plan = make_plan(load(WORKED / "congestion-control.toml"))
    planned = [(trial.factors["scheme"], trial.series, trial.round, trial.position) for trial in plan.trials]
    assert trials.select("scheme", "series", "round", "position").rows() == planned
