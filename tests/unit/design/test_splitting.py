"""How to spend a budget between series and rounds: the textbook's optimum, spans, and what trials cannot tell."""

from math import sqrt

import numpy as np
import pytest
from tests.stopping_data import experiment_of

from trialwise.design.sizing import size
from trialwise.design.splitting import split_budget
from trialwise.design.timing import TrialTimes

TIMES = TrialTimes({"side=a": 1.0, "side=b": 2.0}, 0.0, "pilot")


def table(between, within, series=200, rounds=20):
    random = np.random.default_rng(3)
    centres = 100 + between * random.normal(size=series)
    values = centres[:, None] + within * random.normal(size=(series, rounds))
    labels = [str(number) for number in range(series)]
    return {
        "value": values.ravel(),
        "series": np.repeat(labels, rounds),
        "round": [f"{label}.{number}" for label in labels for number in range(rounds)],
    }


def split(data, *, design="warmup_trials = 4", metric="", seconds=36_000.0):
    experiment = experiment_of(metric, design)
    return split_budget(experiment, size(experiment), TIMES, seconds, {("m", "side=a"): data})[0]


@pytest.mark.parametrize(("between", "within"), [(1, 3), (2, 2), (1, 8)])
def test_rounds_are_the_optimum_of_cochran(between, within):
    found = split(table(between, within))
    assert found.rounds == pytest.approx(sqrt(4) * within / between, abs=1)
    assert found.series == int(36_000 / (12 + 3 * found.rounds))
    assert found.between_series == pytest.approx(between, rel=0.15)
    assert found.between_rounds == pytest.approx(within, rel=0.05)


def test_no_more_than_thirty_rounds_where_series_hardly_differ():
    assert split(table(0.01, 3)).rounds == 30


def test_a_span_is_paid_whatever_runs_in_it():
    assert split(table(1, 3), design='span = "1h"').rounds == 30
    assert split(table(1, 3), design='span = "1h"').series == 10


def test_one_series_says_which_level_to_repeat():
    found = split(table(1, 3, series=1))
    assert found.between_series is None
    assert "repeat series" in found.note


def test_a_kpi_that_needs_more_rounds_is_named():
    found = split(table(3, 1), metric="kpi = { percentile = 90, confidence = 95 }")
    assert "its KPIs need 29 rounds" in found.note
