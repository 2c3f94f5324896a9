from trialwise.design.pilot import measured_times
from trialwise.store.records import TrialRow


def row(number, treatment, round_, claimed, finished, status="finished", session=1):
    return TrialRow(
        number=number, attempt=1, status=status, treatment=treatment, factors={}, series=1, round=round_, position=1,
        order="random", seed=1, warmup=False, planned_start=None, session=session, claimed=claimed, finished=finished,
    )  # fmt: skip


def test_medians_of_each_treatment_and_the_time_between_rounds(make):
    experiment = make(factors="a = [1, 2]")
    rows = [
        row(1, "a=1", 1, 0.0, 1.0),
        row(2, "a=2", 1, 1.0, 6.0),
        row(3, "a=2", 2, 8.0, 12.0),
        row(4, "a=1", 2, 12.0, 15.0),
        row(5, "a=1", 3, 17.0, 19.0),
        row(6, "a=2", 3, 19.0, 99.0, status="failed"),
    ]
    times = measured_times(experiment, rows)
    assert times.seconds == {"a=1": 2.0, "a=2": 4.5}
    assert times.beside == 2.0
    assert times.origin == "pilot"


def test_a_treatment_without_a_trial_counts_as_the_others(make):
    times = measured_times(make(factors="a = [1, 2]"), [row(1, "a=1", 1, 0.0, 3.0)])
    assert times.seconds == {"a=1": 3.0, "a=2": 3.0}


def test_the_night_between_two_sessions_is_no_reset(make):
    rows = [row(1, "a=1", 1, 0.0, 1.0), row(2, "a=1", 2, 9e4, 9e4 + 1, session=2)]
    assert measured_times(make(factors="a = [1]"), rows).beside == 0.0


def test_waiting_for_a_planned_start_is_no_reset(make):
    experiment = make(factors="a = [1]", design='span = "1h"')
    rows = [row(1, "a=1", 1, 0.0, 1.0), row(2, "a=1", 2, 500.0, 501.0)]
    assert measured_times(experiment, rows).beside == 0.0


def test_nothing_finished(make):
    assert measured_times(make(), [row(1, "a=1", 1, 0.0, 1.0, status="failed")]) is None
