"""The worked pages say what the commands print from the published data."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.system.test_docs import assert_shown, commands

from in_process import run
from trialwise.design.plan import make_plan
from trialwise.study import load

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
DATA = SHARED / "data"
WORKED = ROOT / "docs/worked"
EXAMPLES = ROOT / "examples"
PAGES = {
    "memcached.md": {"memcached.csv": DATA / "ordersage/ordersage_table3_memcached.csv"},
    "congestion-control.md": {
        **{
            f"congestion-control{name}": WORKED / f"congestion-control{name}"
            for name in (".py", ".csv", ".toml")
        },
        "metrics_wo_convergence.csv": SHARED / "cases/tables/metrics_wo_convergence.csv",
    },
    "cceval.md": {path.name: path for path in WORKED.glob("cceval*.*") if path.suffix != ".md"},
    "testbed-in-small.md": {
        f"testbed-in-small{name}": WORKED / f"testbed-in-small{name}"
        for name in (".py", ".csv", "-simulated.csv", "-again.csv")
    },
}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_says_what_comes_out(page, tmp_path):
    absent = [
        name for name, source in PAGES[page].items() if SHARED in source.parents and not source.exists()
    ]
    for name, source in PAGES[page].items():
        (tmp_path / name).symlink_to(source)
    blocks = re.findall(r"^```text\n(\$ .*?)^```$", (WORKED / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        for command, code, shown in commands(block):
            if any(name in command for name in absent):
                continue
            done = run(shlex.split(command, comments=True), tmp_path)
            assert done.returncode == code, done.stderr
            assert_shown(shown, done.stdout)
    if absent:
        pytest.skip(f"{', '.join(absent)} absent: the shared study data are not beside this repository")


def test_a_script_of_a_page_prints_the_same_in_a_process_of_its_own(tmp_path):
    words = [str(WORKED / "cceval.py"), "counts", str(WORKED / "cceval-dumbbell.csv"), "trial_p99", "5"]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == run(["python", *words], tmp_path).stdout


def test_the_published_trials_are_those_that_the_plan_makes():
    """Every scheme once in each round of each series, in the order of the plan."""
    trials = pl.read_csv(WORKED / "congestion-control.csv")
    plan = make_plan(load(WORKED / "congestion-control.toml"))
    planned = [(trial.factors["scheme"], trial.series, trial.round, trial.position) for trial in plan.trials]
    assert trials.select("scheme", "series", "round", "position").rows() == planned


def test_the_testbed_in_small_has_every_trial_once():
    """60 of the experiment, 2000 of its twin, and each of four lists five times."""
    for name, number in (("", 60), ("-simulated", 2000)):
        trials = pl.read_csv(WORKED / f"testbed-in-small{name}.csv")
        assert trials["trial"].to_list() == list(range(1, number + 1))
        assert (trials["p50"] <= trials["p90"]).all()
        assert (trials["p90"] <= trials["p99"]).all()
    again = pl.read_csv(WORKED / "testbed-in-small-again.csv")
    plan = make_plan(load(EXAMPLES / "datacentre-testbed/again.toml"))
    planned = [(trial.factors["list"], trial.round, trial.position) for trial in plan.trials]
    assert again.select("list", "round", "position").rows() == planned
