from __future__ import annotations

import io

import pytest
from rich.console import Console

from trialwise.analysis.widths import Width
from trialwise.cli import output
from trialwise.cli.progress import Pace, width_text


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_pace_leaves_waiting_out_and_knows_the_last_start():
    clock = Clock()
    pace = Pace(clock)
    assert pace.left(10, now=0.0) is None
    clock.now = 30.0
    pace.wait(10.0)
    pace.count()
    pace.count()
    assert pace.left(5, now=0.0) == pytest.approx(50.0)
    assert pace.left(0, now=0.0) is None
    pace.last_start = 1000.0
    assert pace.left(5, now=400.0) == pytest.approx(610.0)
    assert pace.left(5, now=2000.0) == pytest.approx(50.0)


def test_a_width_is_relative_or_says_what_is_missing():
    assert width_text(Width("speed", 50, 95, 0.031, 0)) == "speed p50 ±3.1 % at 95 %"
    assert width_text(Width("speed", 95, 95, None, 57)) == "speed p95: 57 more rounds for an interval at 95 %"
    assert (
        width_text(Width("speed", 75, 95, float("inf"), 0))
        == "speed p75: the interval at 95 % is still open at one end"
    )


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(5, "the terminal is gone")


def test_messages_fall_silent_when_nobody_can_read_them():
    console = output.messages()
    assert isinstance(console, Console)
    console.file = Gone()
    console.print("first")
    assert console.quiet
