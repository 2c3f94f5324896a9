"""Recordings of a path: what is written reads back, and what cutting, scaling, joining and comparing make of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trialwise.errors import AnalysisError
from trialwise.exchange.recording_files import parse_recording, recording_text
from trialwise.measurement.packets import EVENTS, Packets
from trialwise.measurement.recorded_paths import recording_of
from trialwise.measurement.recordings import (
    DELAY,
    LOSS,
    RATE,
    Recording,
    Steps,
    Way,
    compared,
    cut,
    distance,
    joined,
    scaled,
    summary,
)

TEXT = """# trialwise.path/1 {"notes": ["of a test"], "origin": "here"}
time_ms,direction,rate_bps,opportunities,base_delay_us,loss,state
0,uplink,12000000,,10000,0.01,on
0,downlink,,2,20000,,
50,uplink,6000000,,,,hold
60,uplink,,,15000,,on
70,downlink,,3,,,
80,uplink,,,,0.5,off
100,uplink,,,,,on
"""


@pytest.fixture
def recording() -> Recording:
    return parse_recording(TEXT, "the recording")


def test_what_is_written_reads_back(recording: Recording):
    assert recording_text(recording) == TEXT
    silent = Recording(Way({DELAY: Steps(np.zeros(1), np.array([5.0]))}), Way(), 70.5)
    assert parse_recording(recording_text(silent), "it").length == 70.5


def test_wrong_recordings_are_refused_with_their_line():
    for text, message in [
        (TEXT.replace("{", "[", 1), "does not begin with"),
        (TEXT.replace('"notes"', "notes"), "has no JSON"),
        (TEXT.replace('["of a test"]', "1"), "notes as a list"),
        (TEXT.replace("50,uplink", "0,uplink"), "line 5 of the recording: its time is not after"),
        (TEXT.replace("hold", "held"), "state: `held` is none of on, off, hold"),
    ]:
        with pytest.raises(AnalysisError, match=message.replace("(", r"\(")):
            parse_recording(text, "it")


def test_a_part_begins_with_the_values_of_its_beginning(recording: Recording):
    part = cut(recording, 55, 90)
    assert part.length == 35
    assert part.uplink.steps[RATE].values.tolist() == [6_000_000]
    assert [part.uplink.steps[DELAY].times.tolist(), part.uplink.steps[DELAY].values.tolist()] == [
        [0, 5],
        [10_000, 15_000],
    ]
    assert part.downlink.opportunities.tolist() == [15, 15, 15]
    with pytest.raises(ValueError, match="from 0 ms to 100 ms"):
        cut(recording, 50, 101)


def test_scaling_multiplies_rates_and_adds_delay(recording: Recording):
    faster = scaled(recording, 2, 5000)
    assert faster.uplink.steps[RATE].values.tolist() == [24_000_000, 12_000_000]
    assert faster.uplink.steps[DELAY].values.tolist() == [15_000, 20_000]
    assert faster.downlink.opportunities.tolist() == [0, 0, 0, 0, 70, 70, 70, 70, 70, 70]
    nearer = scaled(recording, 1, -10_000)
    assert nearer.uplink.steps[DELAY].values.tolist() == [0, 5000]
    with pytest.raises(ValueError, match="a base delay of 10 ms cannot be shorter by 12 ms"):
        scaled(recording, 1, -12_000)
    assert nearer.downlink.opportunities is recording.downlink.opportunities


def test_joined_recordings_follow_each_other(recording: Recording):
    both = joined([recording, recording])
    assert both.length == 200
    assert both.uplink.steps[RATE].times.tolist() == [0, 50, 100, 150]
    assert both.downlink.opportunities.tolist() == [0, 0, 70, 70, 70, 100, 100, 170, 170, 170]
    assert parse_recording(recording_text(both), "it").length == 200
    other = Recording(recording.uplink, Way(), 100)
    with pytest.raises(ValueError, match="number 2 has nothing of the downlink"):
        joined([recording, other])


def test_a_summary_says_what_each_direction_does(recording: Recording):
    found = summary(recording, 50)
    assert found.uplink is not None
    assert found.downlink is not None
    assert (found.uplink.mean_rate, found.uplink.least_rate, found.uplink.largest_rate) == (9, 6, 12)
    assert (found.uplink.least_delay, found.uplink.largest_delay) == (10, 15)
    # 0.01 for 80 ms, 0.5 for 20 ms.
    assert found.uplink.mean_loss == pytest.approx(0.108)
    assert (found.uplink.interruptions, found.uplink.longest_interruption) == (2, 20)
    # Those at 70 ms; those at 0 are of the round before.
    assert found.downlink.mean_rate == pytest.approx(3 * 12_000 / 100_000)
    assert found.warnings == ("of a test",)
    still = Recording(Way({RATE: Steps(np.array([0.0, 500]), np.array([1e6, 0]))}), Way(), 3000)
    said = "uplink: nothing leaves for 2.5 s from 0.5 s on: senders time out there"
    assert summary(replace(still, header={"notes": [said]}), 500).warnings == (said,)


def test_comparing_gives_distance_minima_and_runs(recording: Recording):
    long = joined([recording] * 10)
    same = compared(long, long)["uplink"]
    assert (same.rate_distance, same.least_delays) == (0, (10, 10))
    assert (same.loss_runs, same.longest_loss_runs) == ((1, 1), (1000, 1000))
    other = compared(long, scaled(long, 2, 1000))["uplink"]
    assert (other.rate_distance, other.least_delays) == (1, (10, 11))


def test_the_distance_is_that_of_kolmogorov_and_smirnov():
    from scipy.stats import ks_2samp

    random = np.random.default_rng(1)
    one, other = random.normal(size=300), random.normal(0.3, 1.2, size=200)
    assert distance(one, other) == pytest.approx(ks_2samp(one, other).statistic)


def packets(rows: list[tuple[float, float, str]]) -> Packets:
    time, delay, event = zip(*rows, strict=True)
    count = len(rows)
    return Packets(
        np.array(time),
        np.array(delay),
        np.zeros(count, np.uint8),
        np.ones(count, np.uint16),
        np.full(count, 1500, np.uint32),
        np.array([EVENTS.index(name) for name in event], np.uint8),
    )


def test_packets_of_a_full_path_make_its_recording():
    # One departure each 10 ms with a queue of 50 ms over a path of 20 ms; in the second half it is empty, and one in ten is lost.
    rows = [
        (
            0.02 + number / 100,
            0.07 if number < 100 else 0.02,
            "dropped:loss" if number > 100 and number % 10 == 0 else "delivered",
        )
        for number in range(200)
    ]
    found = recording_of(packets([*rows[:50], (0.525, 0.0, "dropped:overflow"), *rows[50:]]))
    assert found.downlink.columns == ()
    assert found.uplink.opportunities.tolist()[:3] == [70, 80, 90]
    assert found.uplink.steps[DELAY].values.min() == 20_000
    assert found.uplink.steps[DELAY].values.max() == 70_000
    loss = found.uplink.steps[LOSS]
    assert loss.at(np.array([1500.0]))[0] == pytest.approx(0.09, abs=0.02)
    assert parse_recording(recording_text(found), "made").length == found.length
