"""TriScale, Table 2: every row is a file, and the numbers of runs and series that the paper prints come out."""

import json
from pathlib import Path

import pytest

from in_process import trialwise
from trialwise.experiment.model import Convergence, Design, Kpi, Variability
from trialwise.experiment.reading import parse_experiment, read_experiment

TABLE = Path(__file__).with_name("table2")
PRINTED = {"row1": (59, 3), "row2": (90, 5), "row3": (299, 5), "row4": (29, 5), "row5": (5, 5)}
STEADY = Convergence(95, 5)
STATED = {
    "row1": ("max", STEADY, Kpi(95, 95, "upper"), Variability(50, 75)),
    "row2": ("max", STEADY, Kpi(95, 99, "upper"), Variability(75, 75)),
    "row3": ("max", STEADY, Kpi(99, 95, "upper"), Variability(50, 90)),
    "row4": ("median", None, Kpi(90, 95, "upper"), Variability(50, 90)),
    "row5": (90.0, None, Kpi(50, 95, "upper"), Variability(50, 90)),
}


@pytest.mark.parametrize("row", PRINTED)
def test_runs_and_series(row):
    done = trialwise("plan", TABLE / f"{row}.toml", "--json", cwd=TABLE)
    plan = json.loads(done.stdout)
    assert (plan["rounds"], plan["series"]) == PRINTED[row]
    assert plan["trial_count"] == PRINTED[row][0] * PRINTED[row][1] == len(plan["trials"])


@pytest.mark.parametrize("row", PRINTED)
def test_the_eight_parameters_of_the_metric(row):
    (metric,) = read_experiment(TABLE / f"{row}.toml").metrics
    assert (metric.measure, metric.convergence, *metric.kpis, metric.variability) == STATED[row]


def test_the_four_parameters_of_the_experiment():
    text = (TABLE / "row1.toml").read_text()
    given = text.replace('rounds = "auto"', "rounds = 100").replace('series = "auto"', "series = 10")
    experiment = parse_experiment(given, TABLE / "row1.toml")
    assert experiment.design == Design(rounds=100, series=10, span=86400.0)
    assert experiment.runtime == 10.0


def test_every_row_stands_here():
    assert {path.stem for path in TABLE.glob("*.toml")} == set(PRINTED) == set(STATED)
