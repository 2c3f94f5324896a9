from __future__ import annotations

import numpy as np
import pytest

from condition_data import ledbat, pilot_csv
from example_directory import write_example
from trialwise import statistics as st
from trialwise.analysis.conditions.table import read_conditions
from trialwise.analysis.runtime.advising import rounded_up, runtime_advice
from trialwise.analysis.runtime.pilots import Question, doubts_of_table, pilots_of_directory, pilots_of_table
from trialwise.errors import AnalysisError
from trialwise.experiment.quantity import seconds
from trialwise.study import open_directory


def pilots(path, question=None, trial="trial"):
    table = read_conditions(path, time="time", value="throughput", trial=trial)
    return pilots_of_table(table, question or Question())


def test_the_startup_of_a_ramp_is_cut_and_the_runtime_holds_it(tmp_path):
    advice = runtime_advice("pilot.csv", pilots(pilot_csv(tmp_path / "p.csv")))
    assert 33 <= advice.startup <= 42
    assert advice.startup < advice.runtime < 300
    assert advice.steady
    assert seconds(advice.runtime_line.split('"')[1]) >= advice.runtime
    assert seconds(advice.warmup_line.split('"')[1]) >= advice.startup


def test_the_longest_need_of_several_pilots_wins_and_is_named(tmp_path):
    both = runtime_advice("p", pilots(pilot_csv(tmp_path / "p.csv", seeds=(4, 5))))
    single = [runtime_advice("p", pilots(pilot_csv(tmp_path / "q.csv", seeds=(seed,)))) for seed in (4, 5)]
    needs = [one.runtime - one.startup for one in single]
    assert both.decided_by == int(np.argmax(needs))
    assert both.startup == max(one.startup for one in single)
    assert both.runtime == pytest.approx(both.startup + max(needs))
    assert f"trial {both.decided_by + 1} needs most" in both.reason


def test_a_pilot_is_what_the_statistic_says(tmp_path):
    question = Question("median", 4, 90)
    (need,) = runtime_advice("p", pilots(pilot_csv(tmp_path / "p.csv"), question)).pilots
    times, values = ledbat()
    direct = st.runtime_needed(np.round(values, 4), times=times, measure="median", tolerance=4, confidence=90)
    assert (need.runtime, need.startup, need.drift, need.n) == (
        direct.runtime,
        direct.startup,
        direct.drift.drift,
        direct.n,
    )
    np.testing.assert_array_equal(need.growth.values, direct.curve.values)
    assert need.growth.values_after_startup[0] is None


def test_a_pilot_that_still_moves_gives_a_reason(tmp_path):
    advice = runtime_advice("p", pilots(pilot_csv(tmp_path / "p.csv", duration=30)))
    assert (advice.runtime, advice.runtime_line, advice.decided_by) == (None, None, None)
    assert "run longer than 30 s" in advice.reason


def test_without_times_lengths_are_samples_and_there_are_no_lines(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("x\n" + "".join(f"{100 + place % 7}\n" for place in range(900)))
    table = read_conditions(path, time=None, value=None, needs_time=False)
    advice = runtime_advice("p", pilots_of_table(table, Question()))
    assert (advice.unit, advice.runtime_line, advice.warmup_line) == ("samples", None, None)
    assert advice.runtime == int(advice.runtime)


def test_trials_that_cannot_be_judged_are_named(tmp_path):
    path = pilot_csv(tmp_path / "p.csv")
    with path.open("a") as file:
        file.write("7,0,1\n7,1,2\n")
    advice = runtime_advice("p", pilots(path))
    assert len(advice.pilots) == 1
    assert "throughput, trial 7: 2 samples are too few" in advice.skipped[0]
    path.write_text("trial,time,throughput\n7,0,1\n7,1,2\n")
    with pytest.raises(AnalysisError, match="too few"):
        runtime_advice("p", pilots(path))


def test_times_that_go_back_are_a_doubt(tmp_path):
    path = pilot_csv(tmp_path / "p.csv", seeds=(4, 5))
    table = read_conditions(path, time="time", value="throughput")
    assert "--trial" in doubts_of_table(table)[0]
    assert not doubts_of_table(read_conditions(path, time="time", value="throughput", trial="trial"))


def test_every_metric_with_samples_of_a_directory_is_looked_at(tmp_path):
    opened = open_directory(write_example(tmp_path / "x.results"))
    found, notes = pilots_of_directory(*opened, Question())
    assert {pilot.metric for pilot in found} == {"latency"}
    assert {(pilot.measure, pilot.tolerance) for pilot in found} == {(95, 10)}
    treatments = [pilot.treatment for pilot in found]
    assert max(treatments.count(name) for name in set(treatments)) == 3
    seen = sum(row.status == "finished" and not row.warmup for row in opened[2].trials())
    assert notes == [f"latency: the {len(found)} longest of {seen} trials were looked at"]
    with pytest.raises(AnalysisError, match="no metric 'lateny'"):
        pilots_of_directory(*opened, Question(), "lateny")
    with pytest.raises(AnalysisError, match="samples with times"):
        pilots_of_directory(*opened, Question(), "ratio")
    opened[2].close()


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0s"),
        (0.01234, "12.4ms"),
        (37.51, "37.6s"),
        (59.99, "1min"),
        (71.2, "1min 12s"),
        (3601, "1h 1min"),
    ],
)
def test_durations_are_rounded_up(length, text):
    assert rounded_up(length) == text
    assert seconds(text) >= length
