"""When a trial between two ends begins: both let their flows begin when they hear of it, each by its own clock."""

import numpy as np
import pytest

from sighting_files import Crossed
from trialwise.execution.ends.beginning import beginning_of
from trialwise.execution.ends.records import PROBE, EndRecord
from trialwise.measurement.joining import join_sightings

SECOND = 10**9


def record(raw: float, monotonic: int) -> EndRecord:
    head = {"began": round(raw * SECOND), "monotonic": monotonic, "realtime": 1.7e9}
    return EndRecord(head, np.zeros(0, PROBE), b"", {})


@pytest.mark.parametrize(("first", "second"), [(3.0, 3.06), (3.06, 3.0), (3.0, 3.0)])
def test_a_trial_begins_with_the_earlier_end_whatever_its_clock_says(first, second):
    """The clocks of the ends are a thousand seconds and 50 ppm apart; times of both begin 5 s before the first packet."""
    crossed = Crossed(seconds=6.0)
    joined = join_sightings(*crossed.ends(), seed=1)
    monotonic = 77 * SECOND
    there = float(crossed.of_b(np.array(second)))
    began = beginning_of((record(first + 5, monotonic), record(there + 5, 0)), joined)
    earlier = min(first, second)
    # Half a round trip of at most a millisecond's jitter is not known.
    assert began.raw / SECOND - 5 == pytest.approx(earlier, abs=1e-3)
    assert began.monotonic - monotonic == began.raw - round((first + 5) * SECOND)
    assert began.realtime == pytest.approx(1.7e9 + earlier - first, abs=1e-3)


def test_an_end_whose_beginning_is_by_another_clock_than_its_packets_is_not_believed():
    joined = join_sightings(*Crossed(seconds=6.0).ends(), seed=1)  # a thousand seconds apart
    for told in (8.0, 8.0 + 2000.0):
        began = beginning_of((record(8.0, 5), record(told, 0)), joined)
        assert (began.raw, began.monotonic) == (8 * SECOND, 5)
