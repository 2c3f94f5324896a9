"""What a look at foreign results concludes: intervals that stay right although the best is chosen, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from trialwise.analysis.looking import see, see_summaries
from trialwise.exchange.readings import trial_set
from trialwise.readers.gathering import Group
from trialwise.readers.records import Note, Reading, Row


def reading(values, *, path="a", process=True, starts=None, subjects=(), notes=()):
    """Return what a reader gives for values by treatment (a tuple of levels of x, or of benchmark and x)."""
    rows = [
        Row(
            treatment=dict(zip(("benchmark", "x")[-len(levels) :], levels, strict=True)),
            metric="time",
            value=float(value),
            unit="s",
            better="lower",
            levels={"process": f"{levels}/{run}" if process else "1", "repetition": str(run)},
            start=starts[place][run] if starts else None,
        )
        for place, (levels, own) in enumerate(values.items())
        for run, value in enumerate(own)
    ]
    return Reading(
        path=path, digest=path, format="made", tool="made", version="", replicated="process", unit="process", rows=tuple(rows),
        notes=notes, facts={}, subjects=subjects,
    )  # fmt: skip


def seen(*readings):
    return see(Group("made", "made", readings), trial_set(readings, "made"))


def test_two_treatments_are_compared_as_welch_does():
    a, b = np.array([5.0, 5.2, 4.9, 5.3, 5.1, 5.6]), np.array([4.4, 4.9, 4.1, 4.6, 4.2, 4.3])
    (answer,) = seen(reading({("a",): a, ("b",): b})).metrics[0].answers
    assert (answer.best, answer.other, answer.n) == ("x=b", "x=a", (6, 6))
    assert answer.change == pytest.approx(100 * (b.mean() / a.mean() - 1))
    difference = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert answer.decided == (difference.high < 0)
    # Fieller's bounds r leave 0 just at the edge of Welch's interval of b - r a.
    for bound in (answer.low, answer.high):
        edge = stats.ttest_ind(b, (1 + bound / 100) * a, equal_var=False).confidence_interval(0.95)
        assert min(abs(edge.low), abs(edge.high)) < 1e-6


@pytest.mark.parametrize("means", [(1.0, 1.0, 1.0, 1.0), (1.0, 1.02, 1.2, 1.5)])
def test_choosing_the_best_does_not_spoil_the_interval(means):
    draw = np.random.default_rng(1)
    repetitions, covered = 300, 0
    for _ in range(repetitions):
        values = {(str(place),): draw.normal(mean, 0.1 * mean, 8) for place, mean in enumerate(means)}
        (answer,) = seen(reading(values)).metrics[0].answers
        best, other = (means[int(name.removeprefix("x="))] for name in (answer.best, answer.other))
        low, high = (
            (-np.inf if answer.low is None else answer.low),
            (np.inf if answer.high is None else answer.high),
        )
        covered += low <= 100 * (best / other - 1) <= high
    assert covered >= 0.95 * repetitions - 3 * np.sqrt(repetitions * 0.95 * 0.05)


def test_values_of_one_process_give_no_interval():
    found = seen(reading({("a",): [1.0, 1.1, 1.2], ("b",): [2.0, 2.1, 2.2]}, process=False)).metrics[0]
    assert not found.answers
    assert "ran once only" in found.refusal
    assert [each.n for each in found.treatments] == [1, 1]


def test_benchmarks_are_compared_with_themselves_only():
    values = {
        (name, version): [k, k + 0.1, k + 0.2]
        for name, k in (("f", 1), ("g", 5))
        for version in ("old", "new")
    }
    answers = seen(reading(values, subjects=("benchmark",))).metrics[0].answers
    assert [(each.subject, each.best) for each in answers] == [
        ("benchmark=f", "x=old"),
        ("benchmark=g", "x=old"),
    ]
    assert all("Bonferroni over 2 pairs" in each.method for each in answers)


@pytest.mark.parametrize(
    ("starts", "order", "blocked"),
    [
        ([[0, 2, 4], [1, 3, 5]], "known", False),
        ([[0, 1, 2], [3, 4, 5]], "one treatment after the other", True),
        (None, "unknown", False),
    ],
)
def test_the_order_is_said(starts, order, blocked):
    found = seen(reading({("a",): [1.0, 1.1, 1.2], ("b",): [2.0, 2.1, 2.2]}, starts=starts))
    assert found.order == order
    assert any("ran before those of the next" in text for text in found.cannot) == blocked
    assert any("not in the file" in text for text in found.cannot) == (order == "unknown")


def test_the_bill_of_a_percentile_is_that_of_the_binomial():
    found = seen(reading({("a",): [1.0, 1.1], ("b",): [2.0, 2.1]}))
    needed = next(n for n in range(1, 1000) if 1 - 0.99**n >= 0.95)
    assert f"needs {needed} independent runs of each treatment; there are 2" in " ".join(found.cannot)


def test_a_note_of_a_file_is_said_once():
    notes = (Note("coarse_clock", "times are in steps of 10 ms"),)
    values = {("a",): [1.0, 1.1], ("b",): [2.0, 2.1]}
    found = seen(reading(values, notes=notes), reading(values, path="b", notes=notes))
    assert found.cannot.count("times are in steps of 10 ms") == 1


def test_values_of_other_units_or_directions_are_other_metrics():
    rates = [
        Row(
            treatment={"mode": "rate"},
            metric="score",
            value=value,
            unit="1/s",
            better="higher",
            levels={"process": str(value)},
        )
        for value in (90.0, 100.0)
    ]
    times = [
        Row(
            treatment={"mode": "time"},
            metric="score",
            value=value,
            unit="s",
            better="lower",
            levels={"process": str(value)},
        )
        for value in (0.01, 0.02)
    ]
    base = reading({("a",): [1.0]})
    found = seen(replace(base, rows=(*rates, *times)))
    assert [metric.metric for metric in found.metrics] == ["score (1/s)", "score (s)"]
    assert not any(metric.answers for metric in found.metrics)


def test_a_factor_that_repeats_another_is_told_once():
    base = reading({("a",): [1.0, 1.1], ("b",): [2.0, 2.1]})
    rows = tuple(
        replace(row, treatment={**row.treatment, "y": row.treatment["x"].upper()}) for row in base.rows
    )
    found = seen(replace(base, rows=rows))
    assert (found.factors, found.follows) == ({"x": ("a", "b")}, {"y": "x"})
    assert found.metrics[0].answers[0].best == "x=a"


def test_nothing_is_known_of_the_order_where_all_of_the_first_metric_failed():
    found = reading({("a",): [1.0, 2.0]}, starts=[[5.0, 6.0]])
    lost = [replace(row, metric="rate", value=None, status="failed", reason="refused") for row in found.rows]
    found = replace(found, rows=(*lost, *found.rows))
    assert see(Group("t", "f", (found,)), trial_set([found], "t")).order == "unknown"


def test_a_file_of_which_nothing_is_read_does_not_hide_the_others():
    found = reading({("a",): [1.0, 2.0], ("b",): [2.0, 3.0]})
    assert see(Group("t", "f", (replace(found, rows=()), found)), trial_set([found], "t")).order == "unknown"


def test_a_metric_of_failed_trials_alone_has_no_mean_of_another():
    made = reading({("a",): [1.0], ("b",): [2.0]})
    failed = tuple(replace(row, value=None, status="failed", reason="no answer") for row in made.rows)
    errors = tuple(replace(row, metric="errors", unit="1", value=39.0) for row in made.rows)
    time, _ = seen(replace(made, rows=failed + errors)).metrics
    assert [(each.n, each.failed, each.mean) for each in time.treatments] == [(0, 1, None), (0, 1, None)]


def test_treatments_whose_trials_all_failed_are_named_and_widen_no_interval():
    made = reading({("a",): [1.0, 1.2, 1.1], ("b",): [2.0, 2.3, 2.1], ("c",): [3.0, 3.0], ("d",): [4.0]})
    rows = tuple(
        replace(row, value=None, status="failed", reason="exit code 3") if row.treatment["x"] in "cd" else row
        for row in made.rows
    )
    hardly_begun = replace(rows[-1], treatment={}, reason="refused")
    found = seen(replace(made, rows=(*rows, hardly_begun)))
    (time,) = found.metrics
    assert [(each.treatment, each.n, each.failed) for each in time.treatments] == [
        ("x=a", 3, 0), ("x=b", 3, 0), ("x=c", 0, 2), ("x=d", 0, 1)
    ]  # fmt: skip
    assert [line for line in found.left_out if "every" in line] == [
        "every trial of x=c failed: exit code 3",
        "every trial of x=d failed: exit code 3",
    ]
    alone = seen(replace(made, rows=tuple(row for row in rows if row.value is not None)))
    assert time.answers == alone.metrics[0].answers


@pytest.mark.parametrize(
    ("reasons", "why"),
    [
        (("no route", "no route"), "every trial failed: no route"),
        (("no route", "timeout"), "every trial failed: no route; and 1 other reason"),
        (("no route", None), "no value of a single trial is in the files"),
    ],
)
def test_where_every_trial_failed_the_reason_is_said(reasons, why):
    """A row without a reason is a summary."""
    rows = [
        Row(
            treatment={"x": "a"},
            metric="time",
            value=None if reason else 1.0,
            unit="s",
            status="failed" if reason else "aggregated",
            reason=reason or "",
        )
        for reason in reasons
    ]
    file = replace(reading({("a",): [1]}), rows=tuple(rows))
    (metric,) = see_summaries(Group("made", "made", (file,))).metrics
    assert metric.refusal == why
    failed = {(one.n, one.failed) for one in metric.treatments if one.failed}
    assert failed == {(0, len(list(filter(None, reasons))))}
