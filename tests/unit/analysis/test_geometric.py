"""Geometric means of B / A over the rows of a comparison."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from scipy import stats

from document_text import piped
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.report.documents import compare as compare_words

RUNS = 6


def run_of(random, name, factor=1.0, metrics=("ns",), benchmarks="xyz"):
    """Rows of one run: every benchmark, slow or fast together."""
    common = random.normal(0, 0.1)
    for metric in metrics:
        for size, benchmark in enumerate(benchmarks, 1):
            value = factor * size * np.exp(common + random.normal(0, 0.02))
            yield (metric, benchmark, value, "h", "b", "b", name, name, "1", "1.1", None, 1.0)


def side(name, factor=1.0, seed=1, names=None, **more):
    random = np.random.default_rng(seed)
    names = names or [f"{name}{run}" for run in range(RUNS)]
    return made(name, [row for run in names for row in run_of(random, run, factor, **more)])


def made(name, rows):
    facts = {row[0]: MetricFacts(row[0], "ns", "lower") for row in rows}
    treatments = {row[1]: {"benchmark": row[1]} if row[1] != "-" else {} for row in rows}
    return TrialSet(name, facts, treatments, pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def logs(trials):
    """The mean logarithm of each run, in the order of its rows."""
    table = trials.table.with_columns(pl.col("value").log())
    return table.group_by("trial", maintain_order=True).agg(pl.col("value").mean())["value"].to_numpy()


def test_the_run_is_the_unit():
    a, b = side("A"), side("B", 1.1, seed=2)
    (found,) = compare(a, b).geometric_means
    interval = stats.ttest_ind(logs(b), logs(a), equal_var=False).confidence_interval(0.95)
    assert (found.of, found.rows, found.ratio.n, found.paired) == ("ns", 3, (6, 6), False)
    assert np.log([found.ratio.low, found.ratio.high]) == pytest.approx([interval.low, interval.high])
    assert found.percent.low == pytest.approx(100 * (found.ratio.low - 1))


def test_runs_that_both_sides_share_are_pairs():
    names = [f"run {number}" for number in range(RUNS)]
    a, b = side("A", names=names), side("B", 1.1, seed=2, names=names)
    (found,) = compare(a, b).geometric_means
    interval = stats.ttest_rel(logs(b), logs(a)).confidence_interval(0.95)
    assert found.paired
    assert np.log([found.ratio.low, found.ratio.high]) == pytest.approx([interval.low, interval.high])


def test_metrics_of_one_unit_where_there_is_a_single_treatment():
    a, b = (side(name, benchmarks="-", metrics=("sort", "sum"), seed=at) for at, name in enumerate("AB"))
    (found,) = compare(a, b).geometric_means
    assert (found.of, found.unit, found.rows) == ("", "ns", 2)
    b = dataclasses.replace(b, metrics={name: MetricFacts(name) for name in b.metrics})
    a = dataclasses.replace(a, metrics=b.metrics)
    assert compare(a, b).geometric_means == ()  # nobody knows that they are of one unit


def test_values_of_zero_are_left_out_and_said():
    a, b = (made(one.name, [*one.table.iter_rows(), *zeros(one)]) for one in (side("A"), side("B", seed=2)))
    found = compare(a, b, CompareOptions())
    (mean,) = found.geometric_means
    assert (mean.rows, mean.left_out) == (3, 1)
    assert mean.ratio.estimate == pytest.approx(
        np.exp(logs(side("B", seed=2)).mean() - logs(side("A")).mean())
    )
    assert "ns of 3 treatments" in piped(compare_words.document(found))
    assert "1 with values of 0 or below left out" in piped(compare_words.document(found))


def zeros(trials):
    for run in trials.table["trial"].unique(maintain_order=True):
        yield ("ns", "zero", 0.0, "h", "b", "b", run, run, "1", "1.1", None, 1.0)


def test_a_run_without_one_of_the_benchmarks_does_not_count():
    a, b = side("A"), side("B", seed=2)
    broken = made("B", [row for row in b.table.iter_rows() if (row[1], row[7]) != ("y", "B0")])
    (found,) = compare(a, broken).geometric_means
    whole = made("B", [row for row in b.table.iter_rows() if row[7] != "B0"])
    assert found.ratio.n == (6, 5)
    assert found.ratio == compare(a, whole).geometric_means[0].ratio


def test_benchmarks_that_ran_apart_are_independent():
    def apart(name, seed):
        rows = [list(row) for row in side(name, seed=seed).table.iter_rows()]
        return made(name, [(*row[:6], row[6] + row[1], row[7] + row[1], *row[8:]) for row in rows])

    together, alone = (
        compare(of("A", 1), of("B", 2)).geometric_means[0].ratio
        for of in (lambda name, seed: side(name, seed=seed), apart)
    )
    assert alone.estimate == pytest.approx(together.estimate)
    # Three benchmarks that share their noise: the interval is about √3 as wide as that of independent ones.
    assert 1.3 < np.log(together.high / together.low) / np.log(alone.high / alone.low) < 2.2


def test_one_run_is_no_inference():
    (found,) = compare(side("A"), side("B", names=["B0"])).geometric_means
    assert found.ratio is None
    assert "6 and 1 trials" in found.reason
    assert "geometric mean of B / A, ns of 3 treatments: – (no inference" in piped(
        compare_words.document(compare(side("A"), side("B", names=["B0"])))
    )
