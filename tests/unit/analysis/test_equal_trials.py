"""Trials that all gave the same number are called what they are, in estimates, analyses and comparisons."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from trialwise import statistics as st
from trialwise.analysis.comparison.comparing import compare
from trialwise.analysis.equal_trials import equal_notes, equal_words, repeating, tail_notes
from trialwise.analysis.estimation.estimates import estimate
from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.analysis.trial_set import LEVELS, SCHEMA, MetricFacts, TrialSet
from trialwise.experiment.model import Metric
from trialwise.experiment.sources import ReturnSource

QUEUE = Metric("queue", ReturnSource("queue"))
ONE = "say as much as one (n = 1 in effect)"


@pytest.mark.parametrize("values", [[1128.4] * 30, [0.0] * 2, [0.1 + 0.2] * 7])
def test_equal_trials_are_no_interval(values):
    samples = [np.array([value]) for value in values]
    found = estimate(QUEUE, "per_trial", samples)
    assert f"all {len(values)} trials gave the same number" in found.note
    assert ONE not in found.note, "a counter that is equal does not show that nothing is random"
    assert found.method == "no interval: all values are equal"
    assert ONE in estimate(QUEUE, "per_trial", samples, repeats=True).note


def test_equal_means_of_many_samples_say_as_much_as_one():
    found = estimate(QUEUE, "per_trial", [np.array([0.1, 0.2, 0.7]) for _ in range(30)], repeats=True)
    assert "all 30 trials gave the same number" in found.note
    assert ONE in found.note


@pytest.mark.parametrize("values", [[5.0], [1128.4] * 29 + [1128.5]])
def test_trials_that_vary_and_a_single_one_say_nothing_of_it(values):
    found = estimate(QUEUE, "per_trial", [np.array([value]) for value in values], repeats=True)
    assert "same number" not in found.note


def test_how_many_others_there_may_be_is_what_n_equal_ones_leave_open():
    """(1 - 0.2209)^12 = 0.05: the rule of three, exactly."""
    assert "up to 22.1 % of trials" in equal_words(12, repeats=False)
    assert (1 - 0.221) ** 12 < 0.05 < (1 - 0.22) ** 12


def test_a_treatment_repeats_itself_where_every_metric_is_the_same():
    metrics = [{"a": [1.0, 1.0], "b": [2.0, 2.0], "c": [3.0]}, {"a": [5.0, 5.0], "b": [0.0, 1.0], "c": [0.0]}]
    assert repeating(metrics) == {"a"}


def test_treatments_with_the_same_fate_share_a_sentence():
    values = {"x=1": [4.0] * 12, "x=2": [5.0] * 12, "x=3": [5.0, 6.0] * 6}
    (note,) = equal_notes("lines", values, frozenset())
    assert note.startswith("lines of x=1, x=2: all 12 trials gave the same number")
    assert list(equal_notes("lines", {"x=3": [1.0]}, frozenset())) == []


def test_a_table_says_it_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,lines,other\n" + "".join(f"a,37,{place}\n" for place in range(8)))
    found = analyse_table(path, TableColumns(groups=("g",)), [Metric("lines", ReturnSource("lines"))])
    assert [note for note in found.notes if "all 8 trials gave the same number" in note]


def side(name, values, *, may_repeat=False):
    rows = [
        ("m", "-", float(value), *(f"{name}{at}" for _ in LEVELS), "1", f"1.{at}", None, None)
        for at, value in enumerate(values)
    ]
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return TrialSet(name, {"m": MetricFacts("m")}, {"-": {}}, table, may_repeat=may_repeat)


def test_a_comparison_says_it_of_each_side():
    a, b = side("a", [4.0] * 12), side("b", [4.0] * 6 + [5.0] * 6)
    found = compare(a, b)
    assert [note for note in found.notes["a"] if "all 12 trials gave the same number" in note]
    assert not any("same number" in note for note in found.notes["b"])
    simulated = compare(dataclasses.replace(a, may_repeat=True), b)
    assert [note for note in simulated.notes["a"] if ONE in note]


HEAVY = [*np.linspace(9, 11, 39).tolist(), 60.0]


def test_a_comparison_says_that_one_trial_makes_most_of_the_variance():
    found = compare(side("a", np.linspace(9, 11, 40)), side("b", HEAVY))
    assert [note for note in found.notes["b"] if "the largest trial makes 97 % of the variance" in note]
    assert not any("variance" in note for note in found.notes["a"])


def test_estimates_say_that_one_trial_makes_most_of_the_variance():
    trials = [np.array([value, value]) for value in HEAVY]
    for estimand in ("per_trial", "pooled"):
        assert "the largest trial makes 97 % of the variance" in estimate(QUEUE, estimand, trials).note
    low = [np.array([-value]) for value in HEAVY]
    assert "the smallest trial makes 97 %" in estimate(QUEUE, "per_trial", low).note
    assert estimate(QUEUE, "per_trial", [np.array([value]) for value in np.linspace(9, 11, 40)]).note == ""


def test_of_many_treatments_with_a_tail_the_first_are_named():
    notes = list(tail_notes("m", {f"x={at}": HEAVY for at in range(5)}))
    assert len(notes) == 4
    assert notes[-1] == "m: so it is with 2 more treatments"
    assert st.tail_note([0.0] * 39 + [1.0]) == "", "of two numbers the interval is exact"
