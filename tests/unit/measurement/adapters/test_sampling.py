"""Deadlines that do not drift, and what they count."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from trialwise.measurement.adapters import sampling
from trialwise.measurement.adapters.sampling import Deadline, deadlines, open_process


class Clock:
    """A time that passes only when somebody sleeps or works."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(sampling, "time", found)
    return found


def test_slow_samples_do_not_move_the_grid_and_missed_deadlines_are_counted(passing: Clock):
    work = iter([0.0, 0.1, 2.7, 0.0, 0.0, 0.0])
    seen = []
    for deadline in deadlines(1.0, process=None, seconds=7.0, stopped=lambda: False):
        seen.append((round(passing.now - 100, 6), round(deadline.late, 6), deadline.missed))
        passing.sleep(next(work))
    # The third sample takes until 4.7: 3 is missed, 4 is taken late.
    assert seen == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (4.7, 0.7, 1), (5, 0, 1), (6, 0, 1)]


def test_a_stop_is_heard_long_before_a_long_interval_ends(passing: Clock):
    stops = iter([False, False, False, True])
    assert list(deadlines(60.0, process=None, seconds=None, stopped=lambda: next(stops))) == [
        Deadline(0.0, 0)
    ]
    assert passing.now < 102


def test_the_end_of_the_process_is_the_end():
    with subprocess.Popen(["sleep", "0.3"]) as process:
        descriptor = open_process(process.pid)
        began = time.monotonic()
        found = list(deadlines(0.1, process=descriptor, seconds=None, stopped=lambda: False))
        os.close(descriptor)
        passed = time.monotonic() - began
    assert 1 <= len(found) <= 1 + passed / 0.1
    assert passed < 30
