"""The trials of an experiment directory, one value each, with what they nest in."""

import polars as pl
import pytest

from example_directory import write_example
from simulation_directory import run_simulation
from trialwise import study
from trialwise.analysis import trial_set
from trialwise.analysis.trial_set import LEVELS, only, read_trial_set
from trialwise.errors import AnalysisError


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return write_example(tmp_path_factory.mktemp("trials") / "example.results", rounds=4, series=2)


def read(path, *metrics):
    experiment, directory, ledger = study.open_directory(path)
    try:
        return read_trial_set(experiment, directory, ledger, metrics), ledger.trials("finished")
    finally:
        ledger.close()


def test_every_finished_trial_has_one_value_of_each_metric(example):
    found, rows = read(example)
    assert set(found.metrics) == {"speed", "latency", "ratio"}
    assert found.metrics["speed"].better == "higher"
    for name in found.metrics:
        trials = found.of(name)
        assert trials.height == len(rows)
        assert trials["trial"].n_unique() == len(rows)
    assert "1 trial failed, without a value" in found.notes


def test_trials_nest_in_boots_of_hosts(example):
    found, _ = read(example, "speed")
    assert found.table["host"].n_unique() == 1
    assert found.table["boot"].n_unique() == 2
    for inner, outer in zip(LEVELS[1:], LEVELS[:-1], strict=True):
        assert (
            found.table.group_by(inner).agg(pl.col(outer).n_unique())[outer].to_list()
            == [1] * found.table[inner].n_unique()
        )


def test_a_treatment_keeps_its_levels(example):
    found, _ = read(example, "speed")
    assert found.treatments["algorithm=xz level=6"] == {"algorithm": "xz", "level": 6}
    assert found.of("speed", "algorithm=xz level=6")["treatment"].unique().to_list() == [
        "algorithm=xz level=6"
    ]


def test_time_runs_from_a_trial_to_the_next(example):
    found, _ = read(example, "speed")
    # The example's trials start every 600 s and take 2 s; rounds have a planned start, so the last of each counts by itself.
    assert set(found.table["seconds"].round(3).to_list()) == {600.0, 2.0}


def test_an_unknown_metric_is_refused(example):
    with pytest.raises(AnalysisError, match="no metric 'sped'"):
        read(example, "sped")


def test_the_time_of_a_simulated_trial_is_its_own_since_many_are_claimed_at_once(tmp_path):
    found, rows = read(run_simulation(tmp_path), "mean_fct")
    took = {row.finished - row.started for row in rows}
    assert len(took) > 10
    assert set(found.table["seconds"].to_list()) <= took


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["a", "a"], ("a",)),
        (["a", "b", "a"], None),
        ([None, None], (None,)),
        ([None, "a", None], None),
        (["a", None, "a"], None),
        ([], None),
    ],
)
@pytest.mark.parametrize("short", [0, 9])
def test_a_column_with_one_value_is_told_from_others(cells, found, short, monkeypatch):
    monkeypatch.setattr(trial_set, "_SHORT", short if cells else 9)
    for kind in (pl.String, pl.Categorical):
        assert only(pl.DataFrame({"name": pl.Series(cells, dtype=kind)}), "name") == found


def test_a_column_that_is_kept_as_one_value_stays_so(monkeypatch):
    monkeypatch.setattr(trial_set, "_SHORT", 0)
    table = pl.select(value=pl.Series([1.0, 2.0]), name=pl.lit("a"))
    before = table.estimated_size()
    assert only(table, "name") == ("a",)
    assert table.estimated_size() == before
