import pytest

from trialwise.design.budget import plan_budget
from trialwise.design.sizing import size
from trialwise.design.timing import TrialTimes, stated_times, total_seconds

P95 = "kpi = { percentile = 95 }\nvariability = {}"


def answer(experiment, seconds, times=None):
    return plan_budget(experiment, size(experiment), times or stated_times(experiment), seconds)


@pytest.fixture
def three(make):
    """59 rounds × 3 series × 3 treatments of 1 s: 531 s."""
    return make(trial='runtime = "1s"', metric=P95)


def test_what_fits_exactly_fits(three):
    found = answer(three, 531.0)
    assert found.fits
    assert (found.needed_seconds, found.rounds, found.series) == (531.0, 59, 3)
    assert not found.changes
    assert all(fit.fits for fit in (*found.kpis, *found.scores))


def test_a_larger_budget_shows_how_many_rounds_fit(three):
    assert answer(three, 900.0).rounds == 100


def test_decimal_fractions_are_counted_as_people_do(make):
    experiment = make(factors="a = [1]", trial='runtime = "100ms"', design="rounds = 3")
    found = answer(experiment, 0.3)
    assert found.rounds == 3


def test_what_does_not_fit_says_what_comes_nearest(three):
    found = answer(three, 300.0)
    assert not found.fits
    assert found.rounds == 33
    (kpi,) = found.kpis
    assert not kpi.fits
    assert 1 - kpi.largest_confidence / 100 >= 0.95**33
    assert 1 - (kpi.largest_confidence + 0.1) / 100 < 0.95**33
    share = kpi.most_extreme_percentile / 100
    assert share**33 <= 0.05 < (share + 0.001) ** 33
    assert found.scores[0].fits


def test_never_advises_a_confidence_below_75(three):
    assert answer(three, 200.0).kpis[0].largest_confidence is None


def test_lower_bounds_are_mirrored(make):
    experiment = make(trial='runtime = "1s"', metric="kpi = { percentile = 5 }")
    upper = answer(make(trial='runtime = "1s"', metric="kpi = { percentile = 95 }"), 90.0).kpis[0]
    lower = answer(experiment, 90.0).kpis[0]
    assert lower.most_extreme_percentile == pytest.approx(100 - upper.most_extreme_percentile)
    assert lower.largest_confidence == upper.largest_confidence


def test_every_change_stays_within_the_budget(three):
    found = answer(three, 300.0)
    assert [change.what.split(",")[0] for change in found.changes] == [
        "have fewer series",
        "have fewer rounds",
        "have 1 of the 3 treatments",
        "have trials of 565ms",
    ]
    assert all(change.seconds <= 300.0 for change in found.changes)
    assert (found.changes[0].series, found.changes[0].rounds) == (1, 59)


def test_a_budget_of_less_than_a_round(three):
    found = answer(three, 2.0)
    assert found.rounds == 0
    assert not any(fit.fits for fit in (*found.kpis, *found.scores))
    assert all(change.seconds <= 2.0 for change in found.changes)


def test_warm_ups_take_their_time(make):
    experiment = make(trial='runtime = "1s"', metric=P95, design="warmup_trials = 2")
    assert total_seconds(experiment, size(experiment), stated_times(experiment)) == 3 * 61 * 3
    assert answer(experiment, 3 * 61 * 3).rounds == 59


def test_a_span_is_shortened_where_the_rounds_leave_room(make):
    experiment = make(trial='runtime = "1s"', metric=P95, design='span = "1h"')
    assert answer(experiment, 10800.0).fits
    short = answer(experiment, 7200.0)
    assert (short.needed_seconds, short.span, short.rounds) == (10800.0, 2400.0, 800)
    assert all(fit.fits for fit in (*short.kpis, *short.scores))
    assert [change.what for change in short.changes] == [
        "have fewer series, without the variability score (p50, 75 %) of m",
        "have a span of 40min",
    ]


def test_a_shorter_span_does_not_hold_more_rounds_than_it_can(make):
    """59 rounds of 3 s need 177 s; three spans of 100 s fit into the budget, with 33 rounds."""
    experiment = make(trial='runtime = "1s"', metric=P95, design='span = "1h"')
    found = answer(experiment, 300.0)
    assert (found.span, found.rounds) == (100.0, 33)
    whats = [change.what for change in found.changes]
    assert whats[0].startswith("have fewer rounds and a span of 1min 40s, without the 95 %")
    assert "have 1 of the 3 treatments and a span of 1min 40s" in whats
    assert "have trials of 565ms and a span of 1min 40s" in whats
    assert "have a span of 1min 40s" not in whats
    assert all(change.seconds <= 300.0 for change in found.changes)


def test_treatments_that_take_longest_are_dropped_first(make):
    experiment = make(metric=P95)
    times = TrialTimes({"a=1": 10.0, "a=2": 1.0, "a=3": 2.0}, 0.0, "pilot")
    found = answer(experiment, 59 * 3 * 3.0, times)
    assert "have 2 of the 3 treatments" in {change.what for change in found.changes}
