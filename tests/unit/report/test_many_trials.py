"""Reports of many trials: what is drawn of them, which rows tables have, and how large a page becomes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.analysis.trial_columns import Trials
from trialwise.report.document import plain
from trialwise.report.figures.trial_marks import MAX_DRAWN, drawn_trials, drawn_words, some, trial_rows
from trialwise.report.html import html_report
from trialwise.report.trial_tables import MAX_ROWS, convergence_tables, trial_table

COUNT = 30_000


def many(found: MetricAnalysis) -> MetricAnalysis:
    """The metric with as many trials as `COUNT`, two of them outliers."""
    values = np.random.default_rng(2).lognormal(size=COUNT)
    values[[7, 8]] = 1e6, 1e-6
    known = [trial for trial in found.trials if trial.value is not None]
    trials = [
        dataclasses.replace(known[at % len(known)], number=at + 1, attempt=1, value=float(value))
        for at, value in enumerate(values)
    ]
    return dataclasses.replace(found, trials=Trials.of(trials))


@pytest.fixture(scope="module")
def large(analysis: Analysis) -> Analysis:
    failures = tuple(
        dataclasses.replace(analysis.failures[0], number=number, tail=("the end",))
        for number in range(1, COUNT)
    )
    return dataclasses.replace(
        analysis,
        metrics=tuple(map(many, analysis.metrics)),
        failures=failures,
        notes=tuple(f"note {place}." for place in range(1000)),
    )


def test_a_page_stays_small_and_says_what_it_leaves_out(large: Analysis) -> None:
    page = html_report(large, "1")
    assert len(page.encode()) < 3_000_000
    assert "of 30,000 trials are drawn: chosen at random" in page
    assert "the first 200 of 30,000; trialwise analyze --csv has all as CSV" in page
    assert "the first 200 of 29,999; trialwise analyze --json has all" in page
    assert page.count("<pre tabindex") == 30
    assert "note 5" in page
    assert "note 900" not in page


def test_of_many_trials_a_random_part_and_all_extremes_are_drawn(large: Analysis) -> None:
    found = large.metrics[0]
    drawn = drawn_trials(found)
    treatments = {trial.treatment for trial in found.trials}
    assert MAX_DRAWN <= len(drawn) <= MAX_DRAWN + 2 * len(treatments)
    assert len(trial_rows(found)) == len(drawn)
    numbers = [trial.number for trial in drawn]
    assert numbers == sorted(set(numbers))
    assert {8, 9} <= set(numbers)
    assert drawn_words(found).startswith(f" {len(drawn):,} of 30,000 trials are drawn")
    assert drawn_trials(found) == drawn


def test_the_random_part_is_spread_over_all() -> None:
    places = np.array(some(range(COUNT)))
    assert len(np.unique(places)) == MAX_DRAWN
    counts, _ = np.histogram(places, bins=10, range=(0, COUNT))
    # Of 2,000 in ten equal parts each holds 200, with a standard deviation of 13.
    assert np.abs(counts - MAX_DRAWN / 10).max() < 60


def test_of_few_trials_all_are_drawn_and_nothing_is_said(analysis: Analysis) -> None:
    found = analysis.metrics[0]
    assert drawn_trials(found) == [trial for trial in found.trials if trial.value is not None]
    assert drawn_words(found) == ""
    few = dataclasses.replace(
        analysis, metrics=(dataclasses.replace(found, trials=Trials.of(found.trials[:MAX_ROWS])),)
    )
    assert "the first" not in plain(trial_table(few).caption)


def test_tables_of_trials_have_the_first_rows(large: Analysis) -> None:
    table = trial_table(large)
    assert len(table.rows) == MAX_ROWS
    assert [row[0] for row in table.rows[:3]] == ["1", "2", "3"]
    assert all(len(table.rows) <= MAX_ROWS for table in convergence_tables(large))
