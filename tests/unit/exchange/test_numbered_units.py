"""Trials whose units are numbered say the same as those whose units are named."""

from __future__ import annotations

import random
from math import nan
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise.analysis.looking import see
from trialwise.analysis.trial_set import LEVELS, MetricFacts
from trialwise.errors import AnalysisError
from trialwise.exchange.readings import numbered_trial_set, trial_set
from trialwise.exchange.trial_cells import Cells, Place
from trialwise.readers.gathering import Group, gather

RESULTS = Path(__file__).parent / "results"
SUITE = Path(__file__).parents[2] / "golden/formats/data/pytest-benchmark/suite.json"


def group(*paths: Path) -> Group:
    (found,) = gather(paths).groups
    return found


@pytest.mark.parametrize(
    "path", [RESULTS / "hyperfine-base.json", RESULTS / "pyperf-base.json", SUITE], ids=lambda path: path.name
)
def test_what_is_seen_is_the_same(path: Path):
    found = group(path)
    named, numbered = (made(found.readings, "x") for made in (trial_set, numbered_trial_set))
    assert see(found, numbered) == see(found, named)
    assert numbered.table["value"].to_list() == named.table["value"].to_list()
    for level in LEVELS:
        assert numbered.table[level].rle_id().to_list() == named.table[level].rle_id().to_list()
        assert numbered.table[level].n_unique() == named.table[level].n_unique()


def crossed(path: Path, rows: int) -> Path:
    """Write a table whose treatments follow each other row by row."""
    draw = random.Random(5)
    lines = (
        f"{'abcd'[row % 4]},{row // 4},{draw.gauss(100, 5):.4f},{draw.gauss(20, 1):.3f}\n"
        for row in range(rows)
    )
    path.write_text("scheme,run,rate_mbit,delay_ms\n" + "".join(lines))
    return path


def test_rows_of_a_treatment_follow_each_other(tmp_path: Path):
    found = group(crossed(tmp_path / "rows.csv", 400))
    named, numbered = (made(found.readings, "x") for made in (trial_set, numbered_trial_set))
    assert see(found, numbered) == see(found, named)
    parts = numbered.table.select("metric", "treatment").with_columns(pl.all().cast(pl.String))
    assert parts.select(pl.struct("metric", "treatment").rle_id().max() + 1).item() == 2 * 4
    for metric, treatment in parts.unique().iter_rows():
        own = [
            side.of(metric, treatment).select("value", pl.col("process").rle_id()).rows()
            for side in (named, numbered)
        ]
        assert own[0] == own[1]


def test_metrics_of_the_same_trials_share_the_names_of_their_units(tmp_path: Path):
    numbered = numbered_trial_set(group(crossed(tmp_path / "rows.csv", 400)).readings, "x")
    own = [numbered.of(metric)["process"].to_numpy() for metric in numbered.metrics]
    assert len(own) == 2
    assert np.shares_memory(*own)


def pyperf_of_boots(path: Path, *boots: str) -> Path:
    runs = ", ".join(
        f'{{"metadata": {{"boot_time": "{boot}", "hostname": "h"}}, "values": [{at}.0, {at}.5]}}'
        for at, boot in enumerate(boots, 1)
    )
    path.write_text(
        f'{{"version": "1.0", "benchmarks": [{{"metadata": {{"name": "b"}}, "runs": [{runs}]}}]}}'
    )
    return path


def test_boots_within_half_a_minute_are_one_boot(tmp_path: Path):
    path = pyperf_of_boots(
        tmp_path / "x.json", "2026-01-01 00:00:00", "2026-01-01 00:00:20", "2026-01-02 00:00:00"
    )
    found = numbered_trial_set(group(path).readings, "x")
    assert found.table["boot"].rle().struct.field("len").to_list() == [4, 2]
    assert found.table["process"].n_unique() == 3


def test_values_that_are_no_numbers_are_counted():
    cells = Cells("x", metrics={"time": MetricFacts("time")}, treatments={"b": {}})
    cells.add("time", "b", [1.0, nan, 2.0, None], Place("a", "p"))
    cells.add("time", "b", [3.0], Place("c", "p"))
    found = cells.trial_set()
    assert found.table["value"].to_list() == [1.0, 2.0, 3.0]
    assert found.table["trial"].to_list() == ["a/0", "a/2", "c"]
    assert found.notes == ("2 trials without a value of time",)


def test_no_value_at_all_is_refused(tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_text("command,mean,stddev,median,user,system,min,max\na,1,2,1,1,1,1,1\n")
    with pytest.raises(AnalysisError, match="no trial has a value"):
        numbered_trial_set(group(path).readings, "x")
