from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from simulation_directory import simulation_text
from trialwise import statistics as st
from trialwise.analysis.estimation.pooled_monitors import pooled_courses
from trialwise.analysis.estimation.results import Estimation
from trialwise.analysis.observations import Observation
from trialwise.analysis.results import Analysis
from trialwise.experiment.model import Metric
from trialwise.experiment.reading import read_experiment
from trialwise.report.document import plain
from trialwise.report.documents import estimates
from trialwise.report.figures.estimation import estimation_figures
from trialwise.report.figures.metric import figures
from trialwise.report.plot_rows import pooled_rows, pooled_step_rows
from trialwise.report.printed import print_figures
from trialwise.study import analyse, run

_FILE = simulation_text(
    """
[metrics.p90]
quantity = "fct"
measure = "p90"
[metrics.single]
quantity = "fct"
estimand = "per_trial"
[design]
series = 1
rounds = 8
""",
    workload='sizes = "websearch", load = "30%", duration = "2ms"',
    topology="dumbbell:4x4,100Gbit/s,1us",
)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("pooled")
    file = folder / "experiment.toml"
    file.write_text(_FILE)
    return analyse(run(file, folder / "results").directory)


def _metric(tmp_path: Path) -> Metric:
    file = tmp_path / "experiment.toml"
    file.write_text(_FILE)
    return read_experiment(file).metrics[0]


def _observation(number: int, values: list[float]) -> Observation:
    return Observation(number, 1, "a", {}, "1", number, 1, None, np.array(values), None)


def _samples(trials: list[Observation]) -> st.TrialSamples:
    return st.TrialSamples.of([one.values for one in trials])


def test_steps_are_the_estimates_of_the_first_trials_and_end_with_that_of_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    trials = [_observation(number, rng.exponential(size=40).tolist()) for number in range(1, 61)]
    (course,) = pooled_courses([_metric(tmp_path)], "a", _samples(trials), 95.0)
    assert (course.steps[0].trials, course.steps[-1].trials) == (3, 60)
    for step in course.steps:
        found = st.pooled_quantile(
            [one.values for one in trials[: step.trials]], 90, convention="nearest_rank"
        )
        assert (step.estimate, step.low, step.high) == (found.estimate, found.low, found.high)
        assert step.samples == 40 * step.trials
    assert course.shares[-1] == 1
    assert course.values[-1] == max(one.values.max() for one in trials)


def test_two_trials_have_no_course(tmp_path: Path) -> None:
    trials = [_observation(number, [1.0, 2.0]) for number in (1, 2)]
    assert not list(pooled_courses([_metric(tmp_path)], "a", _samples(trials), 95.0))


def test_no_figure_of_a_pooled_metric_draws_a_value_of_one_trial(analysis: Analysis) -> None:
    pooled, single = analysis.metrics
    assert [figure.key for figure in figures(analysis, pooled, {})] == ["course-p90", "distribution-p90"]
    assert "order-single" in [figure.key for figure in figures(analysis, single, {})]
    last = [row for row in pooled_rows(analysis, pooled) if row["trials"] == 8]
    assert analysis.estimation is not None
    own = {one.treatment: one.own.estimate for one in analysis.estimation.estimates if one.metric == "p90"}
    assert {row["treatment"]: row["estimate"] for row in last} == own
    drawn = pooled_step_rows(analysis, pooled)
    assert {row["treatment"] for row in drawn} == set(own)
    assert drawn[0]["share"] == 0


def _courses_alone(analysis: Analysis) -> Estimation:
    assert analysis.estimation is not None
    return dataclasses.replace(analysis.estimation, estimates=(), sizes=())


def test_printed_figures_are_of_the_same(analysis: Analysis, tmp_path: Path) -> None:
    only = dataclasses.replace(analysis, metrics=analysis.metrics[:1], estimation=_courses_alone(analysis))
    names = [path.name for path in print_figures(only, tmp_path, "svg")]
    assert names == ["p90-course.svg", "p90-distribution.svg"]


def test_names_of_estimands_stand_under_one_another_so_that_a_phone_shows_them_all(
    analysis: Analysis,
) -> None:
    assert analysis.estimation
    (found,) = (
        one for one in estimation_figures(analysis.estimation, {}, {}, {}) if one.key == "estimates-single"
    )
    legends = re.findall(r'"legend": (\{[^}]*"orient"[^}]*\})', json.dumps(found.spec))
    assert legends
    assert all('"columns": 1' in legend for legend in legends)


def test_the_table_has_each_estimate_by_its_name(analysis: Analysis) -> None:
    assert analysis.estimation
    found = estimates.document(analysis.estimation, {}, {"scheme=hpcc": "hpcc"}, {})
    table = next(table for table in found.tables if table.key == "estimates")
    assert len(table.rows) == 4
    (row,) = (row for row in table.rows if plain(row[0]).startswith("p90 [") and plain(row[1]) == "hpcc")
    known = dict(zip([column.title for column in table.columns], map(plain, row), strict=True))
    assert (known["estimand"], known["trials"]) == ("p90 of all samples", "8")
    assert (known["level"], known["convention"]) == ("95 %", "nearest rank")


def test_the_samples_of_a_trial_with_few_of_them_are_seen(analysis: Analysis) -> None:
    found = next(one for one in figures(analysis, analysis.metrics[1], {}) if one.key == "samples-single")
    marks = [layer["mark"] for layer in found.spec["layer"]]
    assert [mark["size"] for mark in marks if mark["type"] == "circle"] == [30]
