"""Verdicts on emulated trials: the units they are judged in, and the outcome of their metrics."""

import dataclasses
from math import comb

import numpy as np
import polars as pl
import pytest

from trialwise.analysis.comparison.comparing import CompareOptions
from trialwise.analysis.likeness.distances import Yardstick, collected
from trialwise.analysis.likeness.judging import emulated_set, farness, judged_rows, outcome_of, rows_of
from trialwise.analysis.likeness.results import JudgedRow
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet


def measured(boots: int, trials: int, mean: float = 9.0) -> TrialSet:
    rng = np.random.default_rng(1)
    rows = [
        ("throughput", "scheme=x", float(mean + rng.normal(0, 0.1)), "here", f"here/{number % boots}", "here/b",
         f"t/{number}", f"t/{number}", "1", f"1.{number}", 1.0 * number, 1.0)
        for number in range(trials)
    ]  # fmt: skip
    facts = {"throughput": MetricFacts("throughput", "Mbit/s", "higher")}
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return TrialSet("real", facts, {"scheme=x": {"scheme": "x"}}, table)


def emulated(mean: float = 9.0):
    rng = np.random.default_rng(2)
    return {"scheme=x": [{"throughput": float(mean + rng.normal(0, 0.1))} for _ in range(20)]}


@pytest.mark.parametrize(("boots", "units"), [(1, 10), (5, 5)])
def test_computed_trials_nest_in_no_machine_of_their_own(boots: int, units: int):
    real = measured(boots, 10)
    yardstick = Yardstick({"scheme=x": collected([{"throughput": value} for value in real.table["value"]])})
    (row,), _ = judged_rows(real, emulated(), yardstick, CompareOptions(), "emulated")
    assert (row.verdict, row.n[1]) == ("equivalent", 20)
    assert row.distance is not None
    assert row.distance < 3
    found = emulated_set("emulated", real, emulated()).table
    assert found["boot"].n_unique() == (1 if boots == 1 else 20)
    assert units == len(set(real.table["boot"])) or boots == 1


def test_a_difference_beyond_the_margin_fails_the_metric():
    real = measured(1, 10)
    yardstick = Yardstick({"scheme=x": collected([{"throughput": value} for value in real.table["value"]])})
    rows, _ = judged_rows(real, emulated(12.0), yardstick, CompareOptions(), "emulated")
    assert [row.verdict for row in rows] == ["different"]
    assert outcome_of(rows) == ((), (), ("throughput",))
    assert rows[0].inside == 0


def test_trials_that_vary_more_than_the_emulated_ones_fail_the_metric_though_their_means_agree():
    real = measured(1, 10)
    rng = np.random.default_rng(3)
    wide = real.table.with_columns(value=pl.Series(9 + 4 * rng.choice([-1, 1], 10) + rng.normal(0, 0.1, 10)))
    real = dataclasses.replace(real, table=wide)
    yardstick = Yardstick({"scheme=x": collected([{"throughput": value} for value in wide["value"]])})
    (row,), correction = judged_rows(real, emulated(), yardstick, CompareOptions(), "emulated")
    assert (row.verdict, row.beyond, row.more) == ("different", 10, 0)
    assert row.p_beyond == pytest.approx(11 / comb(30, 10))  # all ten outside: 11 of C(30, 10) orders
    assert (row.basis, "10 real values lie beyond" in row.reason) == ("spread", True)
    assert "a fifth of the error" in correction


def skewed(rng: np.random.Generator, number: int) -> list[dict[str, float]]:
    """Values as those of a percentile of Copa's delay: three of four trials alike, the others much larger."""
    values = np.where(rng.random(number) < 0.75, rng.normal(4, 0.05, number), rng.uniform(8, 20, number))
    return [{"throughput": float(value)} for value in values]


@pytest.mark.parametrize("trials", [4, 10])
def test_trials_of_one_distribution_are_seldom_different_however_skewed(trials: int):
    """By means alone, one of the two rows would be different in a fifth of the experiments with four real trials."""
    names, rng, wrong = ["scheme=x", "scheme=y"], np.random.default_rng(4), 0
    like = dataclasses.replace(measured(1, 10), treatments={name: {"scheme": name[-1]} for name in names})
    for _ in range(150):
        own, other = ({name: skewed(rng, number) for name in names} for number in (trials, 40))
        yardstick = Yardstick({name: collected(values) for name, values in own.items()})
        rows, _ = judged_rows(emulated_set("real", like, own), other, yardstick, CompareOptions(), "emulated")
        wrong += any(row.verdict == "different" for row in rows)
    assert wrong <= 14  # 5 % of 150, and more in one of 100 runs of the test


def test_farness_is_the_mean_of_differences_in_margins_that_count_for_less_than_one():
    row = JudgedRow(
        "x", "loss", "%", (2, 2), (1, 1), 0, 0, 0, 1, "equivalent", 0, "", None, None, 0, 1.0, "means"
    )
    rows = [row, dataclasses.replace(row, means=(1, 2)), dataclasses.replace(row, means=(1, -2))]
    assert farness(rows) == pytest.approx((0 + 1 / 2 + 3 / 4) / 3)
    assert farness([dataclasses.replace(row, margin=None)]) == 1


def test_simulated_trials_are_judged_against_measured_ones():
    real = measured(1, 10)
    other = TrialSet(
        "b", real.metrics, real.treatments,
        measured(1, 12).table.with_columns(host=pl.lit(""), boot=pl.lit(""), build=pl.lit(""), trial="b" + pl.col("trial")),
    )  # fmt: skip
    (row,), _ = rows_of(real, other, CompareOptions())
    assert row.verdict == "equivalent"


def test_a_metric_is_open_where_one_row_is_and_failed_where_one_is_different():
    row = JudgedRow(
        "x", "loss", "%", (2, 2), (1, 1), 0, 0, 0, 1, "equivalent", 0, "", None, None, 0, 1.0, "means"
    )
    rows = [
        row,
        dataclasses.replace(row, metric="throughput"),
        dataclasses.replace(row, verdict="undecided"),
        dataclasses.replace(row, metric="completion_time", verdict="undecided"),
        dataclasses.replace(row, metric="completion_time", verdict="different"),
    ]
    assert outcome_of(rows) == (("throughput",), ("loss",), ("completion_time",))
